"""The graphs of kgrag's own methods, computed again: what ``kgrag.audit.recomputation`` does for the graphs of methods.

Names are compared in the base of the knowledge base only, so that graphs of plug-ins with names of their own pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

import pyoxigraph as ox

from kgrag.audit.stated_content import StatedGraph, StatedNode, differing, fault, nodes_of, unless_missing
from kgrag.audit.step_input import Row
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.text.sentences import entity_key
from kgrag.vocab import DCTERMS, KG, PROV, RDF, RDFS, Names, local_name, words_of

__all__ = ["MethodGraphs"]

_EDGES = {
    KG.AdjacencyEdge: "ADJACENT",
    KG.CrossReferenceEdge: "CROSS_REFERENCE",
    KG.CitationEdge: "CITATION",
    KG.HyperlinkEdge: "HYPERLINK",
}
_ENDS = (RDF.subject, RDF.predicate, RDF.object)
_MAX_ORDERS = 50  # of parts with equal texts, that are tried


class MethodGraphs:
    """The graphs of the methods of one knowledge base."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self._names: Names = store.names
        self._held: dict[Term, tuple[str, str]] = {}
        self._listed: StatedGraph | None = None
        self._checks: Mapping[Term, Callable[[StatedGraph], Iterator[Row]]] = {
            KG.AssertionGraph: self._assertions,
            KG.CitationGraph: self._citations,
            KG.HyperedgeGraph: self._hyperedge,
            KG.HypernodeGraph: self._list,
            KG.PropositionGraph: self._propositions,
            KG.ProposalGraph: self._proposals,
            KG.TreeGraph: self._tree,
            KG.TripleGraph: self._statements,
        }

    def rows(self, graph: StatedGraph) -> Iterator[Row]:
        """Yield what is wrong with one graph."""
        if check := self._checks.get(graph.kind):
            yield from unless_missing(check(graph))

    def _misnamed(self, node: StatedNode, expected: ox.NamedNode) -> Iterator[Row]:
        if node.iri != expected and plain(node.iri).startswith(self._names.base):
            yield fault(node, RDF.type, f"has a name that is not that of its content, {expected.value}")

    def _entities(self, graph: StatedGraph) -> Iterator[Row]:
        """Yield entities and properties without a term whose name is not that of their labels."""
        for node in graph.having(RDFS.label):
            iri = plain(node.iri)
            for label in node.all(RDFS.label):
                if iri.startswith(f"{self._names.base}entity/"):
                    yield from self._misnamed(node, self._names.entity(entity_key(label)))
                elif iri.startswith(f"{self._names.base}property/"):
                    yield from self._misnamed(node, self._names.minted_property(label))

    # --- OG-RAG -----------------------------------------------------------------------------------------------------

    def _hyperedge(self, graph: StatedGraph) -> Iterator[Row]:
        pairs = []
        for node in graph.nodes.values():
            if len(node.all(KG.key)) != 1 or len(node.all(KG.value)) != 1:
                yield fault(node, KG.key, "has not one key and one value in a hyperedge")
                continue
            pair = node.one(KG.key), node.one(KG.value)
            pairs.append(pair)
            self._held[node.iri] = pair
            yield from self._misnamed(node, self._names.hypernode(*pair))
        if not pairs:
            yield fault(graph.entry, KG.key, "is a hyperedge without hypernodes")
            return
        yield from self._misnamed(graph.entry, self._names.hyperedge(pairs))
        yield from differing(graph.entry, KG.size, len(pairs), "the number of its hypernodes")

    def _list(self, graph: StatedGraph) -> Iterator[Row]:
        self._listed = graph
        yield from ()

    def hypernode_rows(self) -> Iterator[Row]:
        """Yield what the list of hypernodes and the hyperedges, all read before, do not have in common."""
        if self._listed is None:
            return
        for node in self._listed.of(KG.Hypernode):
            if node.iri in self._held:
                yield from unless_missing(self._hypernode(node, *self._held[node.iri]))
            else:
                yield fault(node, RDF.type, "is listed as a hypernode, and no hyperedge holds it")
        keys = {
            self._names.hypernode_key(key): " ".join(key.replace("_", " ").split()) for key, _ in self._held.values()
        }
        values = {self._names.hypernode_value(value): value for _, value in self._held.values()}
        for cls, texts in ((KG.HypernodeKey, keys), (KG.HypernodeValue, values)):
            listed = {node.iri: node for node in self._listed.of(cls)}
            for iri in sorted(listed.keys() ^ texts.keys(), key=str):
                yield fault(
                    plain(iri), RDF.type, f"is a {local_name(cls.value)} in hyperedges or in the list, not in both"
                )
            for iri, text in texts.items():
                if iri in listed:
                    yield from unless_missing(differing(listed[iri], KG.text, text, "in hyperedges"))

    def _hypernode(self, node: StatedNode, key: str, value: str) -> Iterator[Row]:
        yield from differing(node, KG.keyTerm, self._names.hypernode_key(key).value, "that of its key")
        yield from differing(node, KG.valueTerm, self._names.hypernode_value(value).value, "that of its value")

    def _assertions(self, graph: StatedGraph) -> Iterator[Row]:
        yield from self._entities(graph)
        if len(graph.entry.all(PROV.wasGeneratedBy)) > 1:
            yield fault(graph.entry, PROV.wasGeneratedBy, "is what one extraction states, and is listed with several")
        if graph.entry.all(KG.method) == ["og_rag"]:
            yield from self._misnamed(graph.entry, self._names.assertion_graph(graph.entry.one(PROV.wasGeneratedBy)))
        elif graph.entry.all(KG.parameters) == ["accepted"]:
            of_chunk = ("poly_rag", "accepted", graph.entry.one(PROV.wasDerivedFrom))
            yield from self._misnamed(graph.entry, self._names.assertion_graph(*of_chunk))
        elif graph.entry.all(KG.layer) == ["ontology"]:
            yield from self._misnamed(graph.entry, self._names.instance_graph(graph.entry.node(PROV.wasDerivedFrom)))

    # --- SiReRAG ----------------------------------------------------------------------------------------------------

    def _propositions(self, graph: StatedGraph) -> Iterator[Row]:
        yield from self._entities(graph)
        propositions = graph.of(KG.Proposition)
        mentioned = {entity for node in propositions for entity in node.all(KG.mentions)}
        described = {plain(node.iri) for node in graph.of(KG.Entity)}
        for entity in sorted(mentioned ^ described):
            yield fault(entity, KG.mentions, f"is mentioned in {plain(graph.entry.iri)} or described there, not both")
        chunk = graph.entry.node(PROV.wasDerivedFrom)
        yield from self._misnamed(graph.entry, self._names.proposition_graph(chunk))
        for node in propositions:
            name = self._names.proposition(chunk.value, node.one(KG.order), node.one(KG.text))
            yield from self._misnamed(node, name)
        if sorted(node.number(KG.order) for node in propositions) != list(range(len(propositions))):
            yield fault(graph.entry, KG.order, "has propositions whose orders do not count from 0")

    def _tree(self, graph: StatedGraph) -> Iterator[Row]:
        for node in graph.of(KG.TreeNode):
            if plain(node.iri) in node.all(KG.hasChild):
                yield fault(node, KG.hasChild, "is part of itself")
            # a tree that lost a source keeps the names of its nodes until it is built again
            if KG.stale not in graph.entry.values and DCTERMS.hasPart in node.values:
                yield from unless_missing(self._aggregate(node))
            elif KG.stale not in graph.entry.values and KG.hasChild in node.values:
                yield from unless_missing(self._summary(node))

    def _summary(self, node: StatedNode) -> Iterator[Row]:
        children = sorted(node.all(KG.hasChild))
        yield from self._misnamed(node, self._names.tree_node(node.one(KG.level), node.one(KG.text), *children))

    def _aggregate(self, node: StatedNode) -> Iterator[Row]:
        """Compare an aggregate with its propositions, which are in the graphs of its chunks."""
        texts: dict[str, str] = {}
        mentioned: set[str] = set()
        for chunk in node.all(PROV.wasDerivedFrom):
            stated = nodes_of(self._store.triples(self._names.proposition_graph(ox.NamedNode(chunk))))
            parts = [stated[iri] for part in node.all(DCTERMS.hasPart) if (iri := ox.NamedNode(part)) in stated]
            texts.update({plain(part.iri): part.one(KG.text) for part in parts})
            mentioned.update(entity for part in parts for entity in part.all(KG.mentions))
            if not parts:
                yield fault(node, PROV.wasDerivedFrom, "comes from a chunk that states none of its parts", chunk)
        if texts.keys() != set(node.all(DCTERMS.hasPart)):
            yield fault(node, DCTERMS.hasPart, "has parts that none of its chunks states")
        text = node.one(KG.text)
        names = [
            self._names.tree_node("aggregate", text, *parts) for parts in islice(_orders(text, texts), _MAX_ORDERS)
        ]
        if not names:
            yield fault(node, KG.text, "states another text than its parts", text)
        elif node.iri not in names:
            yield from self._misnamed(node, names[0])
        if not set(node.all(KG.about)) <= mentioned:
            yield fault(node, KG.about, "is about an entity that its parts do not mention")

    # --- PolyRAG and CG-RAG -----------------------------------------------------------------------------------------

    def _statements(self, graph: StatedGraph) -> Iterator[Row]:
        yield from self._entities(graph)
        statements = graph.of(KG.Statement)
        used = {end for node in statements for predicate in _ENDS for end in node.all(predicate)}
        for node in graph.having(RDFS.label):
            if plain(node.iri) not in used:
                yield fault(node, RDFS.label, "has a name, and no statement of its graph speaks of it")
        condensed = graph.entry.all(KG.layer) == ["condensed"]
        for node in statements:
            yield from unless_missing(self._statement(node, graph, condensed))
        if not condensed:
            yield from self._misnamed(graph.entry, self._names.triple_graph(graph.entry.node(PROV.wasDerivedFrom)))

    def _statement(self, node: StatedNode, graph: StatedGraph, condensed: bool) -> Iterator[Row]:
        ends = [node.one(predicate) for predicate in _ENDS]
        source = "condensed" if condensed else graph.entry.one(PROV.wasDerivedFrom)
        yield from self._misnamed(node, self._names.statement(source, *ends))
        if not condensed:
            yield from differing(node, PROV.wasDerivedFrom, source, "the source of its graph")
        described = [graph.nodes.get(ox.NamedNode(end)) for end in ends]
        labels = [each.one(RDFS.label) for each in described if each is not None and RDFS.label in each.values]
        if len(labels) < len(ends):
            yield fault(node, RDFS.label, "speaks of something that has no name in its graph")
        # a name is kept in the form that came first, so that texts of one graph may differ in case, and a relation
        # without the marks around it that its text has ("'s essay was in", "- born")
        elif words_of(entity_key(node.one(KG.text))) != words_of(entity_key(" ".join(labels))):
            yield fault(node, KG.text, "has a text that is not the names of its ends", node.one(KG.text))

    def _proposals(self, graph: StatedGraph) -> Iterator[Row]:
        for node in graph.of(KG.Proposal):
            yield from self._misnamed(node, self._names.proposal(*(node.one(predicate) for predicate in _ENDS)))

    def _citations(self, graph: StatedGraph) -> Iterator[Row]:
        for cls, kind in _EDGES.items():
            for edge in graph.of(cls):
                yield from unless_missing(self._edge(edge, kind))
        for document in graph.of(KG.Document):
            yield from self._misnamed(graph.entry, self._names.citation_graph(ox.NamedNode(plain(document.iri))))
            cited = {plain(document.iri), *document.all(DCTERMS.references)}
            if KG.stale not in graph.entry.values and cited != set(graph.entry.all(PROV.wasDerivedFrom)):
                yield fault(graph.entry, PROV.wasDerivedFrom, "is listed with other documents than it speaks of")

    def _edge(self, edge: StatedNode, kind: str) -> Iterator[Row]:
        yield from self._misnamed(edge, self._names.edge(kind, edge.one(KG.fromChunk), edge.one(KG.toChunk)))
        if not 0 <= float(edge.one(KG.weight)) <= 2:
            yield fault(edge, KG.weight, "has a weight that is not between 0 and 2", edge.one(KG.weight))


def _orders(text: str, parts: Mapping[str, str]) -> Iterator[list[str]]:
    """Yield the orders in which the texts of parts, with a blank between, make up a text: several where two are equal.

    >>> list(_orders("a b a", {"one": "a", "two": "b", "three": "a"}))
    [['one', 'two', 'three'], ['three', 'two', 'one']]
    """
    if not parts and not text:
        yield []
    for name, own in parts.items():
        if f"{text} ".startswith(f"{own} "):
            others = {other: words for other, words in parts.items() if other != name}
            yield from ([name, *order] for order in _orders(text[len(own) + 1 :], others))
