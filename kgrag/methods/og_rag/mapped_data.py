"""The hypergraph of mapped data (JSON or JSON-LD), built without a model (OG-RAG, section 4.1).

Each record becomes a document with one line per fact, the triples that it states, and its hyperedges, published
together: a killed build leaves whole records only, and the next one skips them. Graphs written: documents, assertions,
hyperedges, hypernodes, provenance. Queries read: ``og_rag/key_properties`` and those of ``kgrag.mapping``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyoxigraph as ox

from kgrag import mapping, queries
from kgrag.errors import MappingError
from kgrag.index.vector_spaces import Progress
from kgrag.mapping import Assertions, MappedData, MappedRecord, Ontology
from kgrag.mapping.factual_blocks import Edge, flatten, strict_subsets
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.model import BuildReport, GraphDraft, Publication, plain
from kgrag.ports import TripleStore
from kgrag.store.listed_graphs import listed
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.vocab import KG

__all__ = ["Tally", "build_mapped", "fresh_properties"]

_DRAFTS_PER_PUBLISH = 4000
_RECORDS_PER_LOOK = 100


@dataclass(slots=True)
class Tally:
    """The counts of a build so far, notes for the person who runs it, and what was not done and why."""

    edges: set[str] = field(default_factory=set)
    nodes: set[ox.NamedNode] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    properties: set[str] = field(default_factory=set)
    quarantined: int = 0
    names_refused: int = 0
    notes: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)

    def count(self, classes: Collection[str], properties: Collection[str], edges: Iterable[GraphDraft]) -> None:
        """Add one extraction: the classes and properties that it minted, and its hyperedges."""
        self.classes.update(classes)
        self.properties.update(properties)
        for edge in edges:
            self.edges.add(edge.iri.value)
            self.nodes.update(triple.subject for triple in edge.triples)  # type: ignore[misc]

    def refuse_names(self, names: Sequence[str], label: str) -> None:
        """Add names that a reply has in ``@id`` and its text has not, so that their things have none."""
        self.names_refused += len(names)
        self.undone += [
            f"{label}: '@id' {name!r} is not in the text, and its thing has no other name" for name in names
        ]

    def published(self, publication: Publication) -> None:
        """Add what the store put into quarantine, and why."""
        self.quarantined += len(publication.quarantined)
        self.undone.extend(publication.faults)

    def counts(self) -> dict[str, int]:
        """Return the counts of the report."""
        return {
            "hyperedges": len(self.edges),
            "hypernodes": len(self.nodes),
            "minted_classes": len(self.classes),
            "minted_properties": len(self.properties),
            "quarantined": self.quarantined,
            "names_refused": self.names_refused,
        }


@dataclass(frozen=True, slots=True)
class _FlatRecord:
    """A record with its hyperedges."""

    record: MappedRecord
    edges: list[Edge]


def build_mapped(path: Path, *, store: TripleStore, as_published: bool, progress: Progress = None) -> BuildReport:
    """Publish the hypergraph of mapped data.

    Raises:
        MappingError: nothing under ``path`` could be read as mapped data.
    """
    mapped = mapping.read_mapped(path)
    tally = Tally(notes=[f"not read: {note}" for note in mapped.notes])
    ontology = mapping.read_ontology(store)
    records = _flattened(mapped, Ontology() if as_published else ontology, as_published, tally)
    drafting = _Drafting(store, ontology, as_published, tally)
    new = 0
    for done, batch in drafting.batches(records):
        tally.published(store.publish(batch))
        new += sum(draft.kind == KG.DocumentGraph for draft in batch)
        if progress:
            progress("og_rag records", done, len(records))
    counts = {"records": len(records), "unchanged": len(records) - new, **tally.counts()}
    return BuildReport(
        method=hypergraph_drafts.METHOD, counts=counts, notes=tuple(tally.notes), pending=tuple(tally.undone)
    )


def _flattened(mapped: MappedData, ontology: Ontology, as_published: bool, tally: Tally) -> list[_FlatRecord]:
    """Return every record that has a fact of its own, with its hyperedges, in the words of an ontology if there is one.

    Unless ``as_published``, a hyperedge that is part of another one, of the same record or not, is left out.
    """
    flat_records = []
    for raw in mapped.records:
        record = replace(raw, blocks=mapping.canonical(raw.blocks, ontology))
        try:
            edges = flatten(list(record.blocks), as_published=as_published, brief=bool(ontology))
            flat_records.append(_FlatRecord(record, edges))
        except MappingError as error:
            tally.notes.append(f"not read: {record.name}: {error}")
    if mapped.records and not flat_records:
        raise MappingError(f"no record could be flattened: {tally.notes[-1]}")
    subsets = set() if as_published else strict_subsets({edge for flat in flat_records for edge in flat.edges})
    kept = [_FlatRecord(flat.record, [edge for edge in flat.edges if edge not in subsets]) for flat in flat_records]
    tally.notes.extend(f"no fact of its own: {flat.record.name}" for flat in kept if not any(flat.edges))
    return [flat for flat in kept if any(flat.edges)]


class _Drafting:
    """The drafts of records, batch by batch."""

    def __init__(self, store: TripleStore, ontology: Ontology, as_published: bool, tally: Tally) -> None:
        self.store, self.ontology, self.as_published, self.tally = store, ontology, as_published, tally
        self.names = store.names

    def batches(self, records: Sequence[_FlatRecord]) -> Iterator[tuple[int, list[GraphDraft]]]:
        """Yield (records done, drafts of those that the store lacks)."""
        batch: list[GraphDraft] = []
        deeds: list[Deed] = []
        edges: list[Edge] = []
        properties: dict[str, ox.NamedNode] = {}
        there: set[ox.NamedNode] = set()
        for done, (flat, drafted) in enumerate(self._looked_up(records, there), start=1):
            assertions, (document, facts, *hyperedges), deed = drafted
            self.tally.count(assertions.minted_classes, assertions.minted_properties, hyperedges)
            if document.iri not in there:
                batch += [document, facts, *hyperedges]
                deeds.append(deed)
                edges += flat.edges
                # The first property of a key stays, whichever record comes later.
                properties = {**assertions.properties, **properties}
            if batch and (len(batch) >= _DRAFTS_PER_PUBLISH or done == len(records)):
                yield done, [*batch, *self._joint(edges, properties, deeds)]
                there |= {draft.iri for draft in batch}
                batch, deeds, edges, properties = [], [], [], {}

    def _looked_up(
        self, records: Sequence[_FlatRecord], there: set[ox.NamedNode]
    ) -> Iterator[tuple[_FlatRecord, tuple[Assertions, list[GraphDraft], Deed]]]:
        """Yield each record with what it states; the graphs of those that the store has are added to ``there``."""
        for first in range(0, len(records), _RECORDS_PER_LOOK):
            some = [(flat, self._drafted(flat)) for flat in records[first : first + _RECORDS_PER_LOOK]]
            there |= listed(self.store, [drafts[0].iri for _, (_, drafts, _) in some])
            yield from some

    def _drafted(self, flat: _FlatRecord) -> tuple[Assertions, list[GraphDraft], Deed]:
        """Return what a record states, the drafts of document, assertions and hyperedges in this order, its deed."""
        names = self.names
        document, chunks = hypergraph_drafts.record_document(flat.record, flat.edges)
        iri = documents.document_iri(document, names)
        spans = {edge: names.chunk(iri, chunk.start, chunk.end) for edge, chunk in chunks.items()}
        parameters = json.dumps({"as_published": self.as_published})
        deed = Deed(
            names.activity(hypergraph_drafts.METHOD, "mapped", iri.value, parameters),
            label="read mapped data",
            used=[iri],
            said=[(KG.parameters, ox.Literal(parameters))],
        )
        brief = bool(self.ontology) and not self.as_published
        assertions = mapping.assertions(
            flat.record.blocks, source=iri.value, ontology=self.ontology, names=names, brief=brief
        )
        graph = names.assertion_graph(deed.iri.value)
        drafted = [
            documents.document_draft(
                document, list(chunks.values()), names=names, parameters="a line a fact", record=True
            ),
            hypergraph_drafts.assertion_draft(graph, assertions.triples, sources=[iri], activity=deed.iri),
        ]
        for edge in flat.edges:
            sources = [spans[edge], graph] if edge in spans else [graph]
            drafted.append(hypergraph_drafts.hyperedge_draft(edge, sources=sources, activity=deed.iri, names=names))
        return assertions, drafted, deed

    def _joint(
        self, edges: Sequence[Edge], properties: dict[str, ox.NamedNode], deeds: Sequence[Deed]
    ) -> list[GraphDraft]:
        """Return the drafts that add a batch to the graphs that all records share."""
        fresh = fresh_properties(properties, self.store)
        nodes = list(hypergraph_drafts.hypernode_triples(edges, fresh, self.names))
        return [
            hypergraph_drafts.hypernodes_draft(nodes, self.names),
            provenance_draft(deeds, method=hypergraph_drafts.METHOD, names=self.names),
        ]


def fresh_properties(properties: dict[str, ox.NamedNode], store: TripleStore) -> dict[str, ox.NamedNode]:
    """Return key -> property of those keys that have none in the store yet: a key keeps its first property."""
    terms = {store.names.hypernode_key(key): key for key in properties}
    query = queries.bind("og_rag/key_properties", hypernodes=store.names.hypernodes, keys=list(terms))
    known = {plain(key) for key, _ in store.select(query)}
    return {key: properties[key] for term, key in terms.items() if term.value not in known}
