"""The remaining facts of the things that a question names, as further evidence for its answer.

Not in the paper, whose cover takes one hyperedge per relevant hypernode: of the four nutrients that a zone is given it
takes one, because that one covers the zone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from kgrag.late_patterns import late_re
from kgrag.mapping.factual_blocks import Pair
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.methods.og_rag.relevance import Relevant
from kgrag.vocab import Names

__all__ = ["named_facts"]

_MAX_FACTS_OF_NAME = 100  # a thing with more says too little about which of them are asked for
_MIN_NAME_CHARACTERS = 3
_WORD = late_re(r"(?<![\w-])--?\w[\w-]*|\w+")
_OPTION = late_re(r"-\w")


def named_facts(question: str, known: Iterable[Pair], relevant: Relevant, graph: Adjacency, names: Names) -> list[int]:
    """Return the hyperedges, by place, of the hypernodes whose value is in the question, best first.

    A hyperedge of a rarer hypernode, or of several, comes before others, then one whose relevant hypernodes are worth
    more, then the one whose IRI sorts first.

    Args:
        question: the question.
        known: pairs of key and value that it may name.
        relevant: hypernodes, and what each is worth.
        graph: the hypergraph, or the part of it that may be seen.
        names: the IRIs of hypernodes.
    """
    words = f" {_plain(question)} "
    named = {
        names.hypernode(key, value).value
        for key, value in known
        if (len(plain := _plain(value)) >= _MIN_NAME_CHARACTERS or _OPTION.fullmatch(value)) and f" {plain} " in words
    }
    rarity: dict[int, float] = defaultdict(float)
    for place in graph.nodes.places(sorted(named)).tolist():
        degree = graph.edges_of.length(place) if place >= 0 else 0
        for edge in graph.edges_of.of(place).tolist() if degree <= _MAX_FACTS_OF_NAME else ():
            rarity[edge] += 1 / degree
    edges = np.array(sorted(rarity), dtype=np.int32)
    worth = np.zeros(len(edges))
    for place, share in zip(relevant.places.tolist(), relevant.worth.tolist(), strict=True):
        with_node = graph.edges_of.of(place)
        at = np.searchsorted(with_node, edges)
        worth += share * (np.append(with_node, -1)[at] == edges)
    iris = graph.edges.at(edges)
    ranked = sorted(range(len(edges)), key=lambda row: (-rarity[int(edges[row])], -worth[row], iris[row]))
    return [int(edges[row]) for row in ranked]


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
