"""The slice of the schema that a question needs: terms near it by vectors and by words, with their neighbours; bounded.

A whole schema of 483,000 characters has been seen to yield nothing, so the slice never outgrows its limits. A schema
that is small anyway is shown whole. ``slice_lines`` writes it, with what the data have of it. Queries read:
``schema/*``, ``profile/*``, and those of ``kgrag.index.vector_spaces`` for the space ``schema-term``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import pyoxigraph as ox

from kgrag import queries
from kgrag.index.ontology_prefixes import ontologies
from kgrag.ports import TripleStore, VectorIndex, Vectors
from kgrag.querying.data_profile import profile_of
from kgrag.querying.text_to_sparql.slice_lines import SliceWriter, mentioned
from kgrag.vocab import PREFIXES, local_name

__all__ = ["SPACE", "Slice", "schema_slice"]

SPACE = "schema-term"

_MAX_NEAREST_TERMS = 12
_MAX_TERMS = 80
_MAX_CHARACTERS = 16_000
_SKIPPED = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/",
)
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a all an and any are as at be by can did do does each every find for from get give has have how i in is it "
        "its list many me more most much of on or our show than that the their them there they this to us was we were "
        "what when where which who whom whose why will with you your",
    )
)


@dataclass(frozen=True, slots=True)
class Slice:
    """What a model is shown of the schema: a line per class and property, with the prefixes that the lines use.

    ``whole``: nothing was left out; ``terms`` are the IRIs in it: all in order, else the nearest first.
    """

    terms: tuple[str, ...]
    text: str
    prefixes: Mapping[str, str]
    whole: bool

    @property
    def declarations(self) -> str:
        """The prefixes as the head of a query."""
        return "\n".join(f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in self.prefixes.items())


def schema_slice(question: str, vector: Vectors, *, store: TripleStore, index: VectorIndex) -> Slice:
    """Return the part of the ontologies that a question is about.

    Args:
        question: what was asked.
        vector: its embedding, shape (d,).
        store: holds the ontologies.
        index: the space ``schema-term``, up to date.

    Returns:
        At most 80 terms and 16,000 characters; everything when that is no more.
    """
    whole = len(index) <= _MAX_TERMS
    near = [] if whole else [term for term, _ in index.search(vector, _MAX_NEAREST_TERMS)]
    terms = sorted(index.keys()) if whole else _spread(near, question, store)
    details = _details(terms, store)
    profile = profile_of(store)
    prefixes = _prefixes(mentioned(terms, details, profile), store)
    text, all_there = SliceWriter(details, profile, prefixes).text(terms, _MAX_CHARACTERS)
    return Slice(tuple(terms), text, prefixes, whole=whole and all_there)


def _spread(near: Sequence[str], question: str, store: TripleStore) -> list[str]:
    """Add to the nearest terms those that share words with the question, then the neighbours of all of them."""
    pairs = zip_longest(near, _named(question, store))  # in turn: neither kind of nearness crowds out the other
    seeds = list(dict.fromkeys(term for pair in pairs for term in pair if term is not None))[: 2 * _MAX_NEAREST_TERMS]
    around = _neighbours(seeds, store)
    further = _neighbours(around, store) if len(seeds) + len(around) < _MAX_TERMS // 2 else []
    return list(dict.fromkeys([*seeds, *around, *further]))[:_MAX_TERMS]


def _named(question: str, store: TripleStore) -> list[str]:
    words = [word for word in re.findall(r"\w+", question.lower()) if word not in _STOP and len(word) > 2]
    if not words:
        return []
    beginnings = [ox.Literal(_beginning(word)) for word in dict.fromkeys(words)]
    rows = store.select(queries.bind("schema/named", catalogue=store.names.catalogue, words=beginnings)).values()
    return [term for term, _ in rows][:_MAX_NEAREST_TERMS]


def _beginning(word: str) -> str:
    """Cut an ending off, so that the plural finds the singular.

    >>> _beginning("policies"), _beginning("agent")
    ('polic', 'agent')
    """
    return word[:-3] if word.endswith("ies") else word.removesuffix("s")


def _neighbours(terms: Sequence[str], store: TripleStore) -> list[str]:
    nodes = [ox.NamedNode(term) for term in terms]
    rows = store.select(queries.bind("schema/neighbours", catalogue=store.names.catalogue, terms=nodes)).values()
    by_term: dict[str, list[str]] = defaultdict(list)
    for term, neighbour in rows:
        if not neighbour.startswith(_SKIPPED):
            by_term[term].append(neighbour)
    # The first neighbours of every term come before the hundredth of any.
    ranked = sorted(
        (place, terms.index(term), other) for term, found in by_term.items() for place, other in enumerate(found)
    )
    return list(dict.fromkeys(other for _, _, other in ranked if other not in terms))


def _details(terms: Sequence[str], store: TripleStore) -> dict[str, dict[str, list[str]]]:
    nodes = [ox.NamedNode(term) for term in terms]
    details: dict[str, dict[str, list[str]]] = {}
    for term, kind, value in store.select(
        queries.bind("schema/details", catalogue=store.names.catalogue, terms=nodes)
    ).values():
        details.setdefault(term, defaultdict(list))[kind].append(value)
    return details


def _prefixes(iris: Sequence[str], store: TripleStore) -> dict[str, str]:
    """Return prefix -> namespace for every namespace in use: stated by the ontology, usual, or made of its name."""
    stated = {
        namespace: prefix for _, prefix, namespace in ontologies(store) if re.fullmatch(r"[A-Za-z][\w-]*", prefix)
    }
    usual = {namespace: prefix for prefix, namespace in PREFIXES.items()}
    chosen: dict[str, str] = {}
    namespaces = (iri[: iri.rfind(name)] if (name := local_name(iri)) else iri for iri in iris)
    for namespace in dict.fromkeys(namespaces):
        prefix = stated.get(namespace) or usual.get(namespace) or _made(namespace)
        while chosen.get(prefix, namespace) != namespace:
            prefix += "x"
        if re.fullmatch(r"[^\s<>\"{}|\\^`]+", namespace):
            chosen[prefix] = namespace
    return dict(sorted(chosen.items()))


def _made(namespace: str) -> str:
    """Make a prefix of the last telling part of a namespace.

    >>> _made("http://data.world/schema/insurance/"), _made("http://example.org/2024#")
    ('insurance', 'org')
    """
    parts = [part for part in re.split(r"[/#:.]", namespace) if re.fullmatch(r"[A-Za-z][\w-]*", part)]
    return parts[-1].lower() if parts else "ns"
