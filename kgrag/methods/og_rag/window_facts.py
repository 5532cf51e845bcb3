"""What a reply states about its window, as drafts of graphs: pure, so that workers do it as well as a build.

OG-RAG, sections 3 and 4.1, appendix C.2. Nothing is read from a store, and nothing written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag import mapping
from kgrag.errors import MappingError, ReplyUnusable
from kgrag.llm import structured_output
from kgrag.mapping import Assertions, Ontology
from kgrag.mapping.factual_blocks import Edge, flatten
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.hyperedge_cover import greedy_cover
from kgrag.methods.og_rag.windows import Window
from kgrag.model import Completion, GraphDraft, Prompt, plain
from kgrag.vocab import KG, Names, digest

__all__ = ["PROMPT", "Asked", "Reply", "WindowFacts", "WindowReader"]

PROMPT = "og_rag/map"


@dataclass(frozen=True, slots=True)
class Asked:
    """A window with its text and its prompt."""

    window: Window
    text: str
    prompt: Prompt


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model replied about a window."""

    asked: Asked
    completion: Completion


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What a reply states.

    Attributes:
        facts: the graph of its assertions; None where it states nothing.
        hyperedges: a graph per fact.
        properties: the property behind each key of a hypernode.
        minted_classes: types that no ontology has.
        minted_properties: keys that no ontology has.
        nameless: what the reply names in ``@id`` as its text does not.
        problem: "", or why the reply is of no use; there is nothing else then.
        is_read: whether it was read; a worker may have failed instead, for the reason in ``problem``.
        conforming: the IRIs of those graphs that are known to keep their shapes as new ones.
    """

    facts: GraphDraft | None = None
    hyperedges: Sequence[GraphDraft] = ()
    properties: Mapping[str, ox.NamedNode] = field(default_factory=dict)
    minted_classes: frozenset[str] = frozenset()
    minted_properties: frozenset[str] = frozenset()
    nameless: Sequence[str] = ()
    problem: str = ""
    is_read: bool = True
    conforming: frozenset[str] = frozenset()

    @property
    def graphs(self) -> list[GraphDraft]:
        """Every graph."""
        return [] if self.facts is None else [self.facts, *self.hyperedges]

    @property
    def edges(self) -> list[Edge]:
        """The pairs of key and value of each hyperedge."""
        return [_pairs(graph) for graph in self.hyperedges]


@dataclass(frozen=True, slots=True)
class WindowReader:
    """Reads replies: ``parameters`` are part of the names of activities, ``names`` mints all IRIs."""

    ontology: Ontology
    names: Names
    parameters: str

    @property
    def digest(self) -> str:
        """A digest of all that decides what it reads in a reply."""
        known = (self.ontology.concepts, self.ontology.properties)
        terms = [repr(terms[iri]) for terms in known for iri in sorted(terms)]
        above = [f"{iri} {sorted(classes)}" for iri, classes in sorted(self.ontology.above.items())]
        return digest(self.names.base, self.parameters, *terms, *above)

    def activity(self, window: Window) -> ox.NamedNode:
        """Return the IRI of the activity that maps a window."""
        place = (window.document, str(window.start), str(window.end))
        return self.names.activity(PROMPT, self.parameters, *place)

    def read(self, reply: Reply) -> WindowFacts:
        """Return what a reply states; a reply without the frame around the blocks is read as well."""
        nameless: list[str] = []
        try:
            blocks = self._blocks(reply, nameless)
            edges = flatten(list(blocks), brief=True)
        except (ReplyUnusable, MappingError) as error:
            return WindowFacts(problem=str(error))
        if not edges:
            return WindowFacts(nameless=nameless)
        activity = self.activity(reply.asked.window)
        stated = mapping.assertions(blocks, source=activity.value, ontology=self.ontology, names=self.names, brief=True)
        return self._drafted(reply, stated, edges, nameless)

    def _blocks(self, reply: Reply, nameless: list[str]) -> tuple[Any, ...]:
        """Return the blocks of a reply in the words of the ontology.

        Raises:
            ReplyUnusable: the reply was cut or withheld, or breaks the contract.
        """
        data = structured_output.json_of(reply.completion, checked=False)
        blocks, problem = mapping.problem(data, reply.asked.prompt.schema or {})
        if problem:
            raise ReplyUnusable(reply.completion.problem or problem)
        return mapping.canonical(blocks, self.ontology, reply.asked.text, nameless=nameless)

    def _drafted(self, reply: Reply, stated: Assertions, edges: Sequence[Edge], nameless: Sequence[str]) -> WindowFacts:
        """Return the assertions and hyperedges of a reply, each hyperedge with the chunks that contain its values."""
        window, text = reply.asked.window, reply.asked.text
        activity = self.activity(window)
        graph = self.names.assertion_graph(activity.value)
        texts = {
            passage.iri: _normalised(text[passage.start - window.start : passage.end - window.start])
            for passage in window.passages
        }
        hyperedges = [
            hypergraph_drafts.hyperedge_draft(
                edge,
                sources=[*(ox.NamedNode(iri) for iri in _source_chunks(edge, texts)), graph],
                activity=activity,
                names=self.names,
            )
            for edge in edges
        ]
        return WindowFacts(
            facts=hypergraph_drafts.assertion_draft(graph, stated.triples, sources=window.chunks, activity=activity),
            hyperedges=hyperedges,
            properties=stated.properties,
            minted_classes=frozenset(stated.minted_classes),
            minted_properties=frozenset(stated.minted_properties),
            nameless=nameless,
        )


def _pairs(hyperedge: GraphDraft) -> Edge:
    keys = {triple.subject: plain(triple.object) for triple in hyperedge.triples if triple.predicate == KG.key}
    values = {triple.subject: plain(triple.object) for triple in hyperedge.triples if triple.predicate == KG.value}
    return frozenset((key, values[node]) for node, key in keys.items())


def _source_chunks(edge: Edge, texts: dict[str, str]) -> list[str]:
    """Return the fewest chunks that together contain the values of a fact as words; all when none contains any."""
    patterns = {value: re.compile(rf"(?<!\w){re.escape(_normalised(value))}(?!\w)") for _, value in edge}
    values_in = {iri: {value for value in patterns if patterns[value].search(text)} for iri, text in texts.items()}
    # A long value says more about the place of a fact than a short one, which may stand anywhere.
    weights = {value: float(len(value)) for value in patterns}
    return greedy_cover(set(patterns), values_in, limit=len(texts), weights=weights) or list(texts)


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split())
