"""Ready-made layers into the store: schema, instances and triples from files, so that a pyramid needs no model.

Graphs written: one document a file, and per chunk of it an assertion graph (instances) or a triple graph; the starter
schema; quarantine graphs; the provenance graph. Queries read: those of ``kgrag.mapping``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag import mapping
from kgrag.errors import InputError
from kgrag.methods.poly_rag import layer_drafts
from kgrag.methods.poly_rag.graph_facts import Fact, Table, read_table
from kgrag.methods.poly_rag.layer_drafts import METHOD, Origin
from kgrag.model import Chunk, GraphDraft
from kgrag.ports import TripleStore
from kgrag.store import rdf_files
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.vocab import KG, digest

__all__ = ["Loaded", "load_instances", "load_schema", "load_triples"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file gave: counts, and a line for each part that went to quarantine."""

    counts: Mapping[str, int]
    undone: tuple[str, ...] = ()


def load_schema(paths: Sequence[Path], *, store: TripleStore) -> Loaded:
    """Load ontology files, each into a graph of its own, also when they call themselves by the same name.

    Raises:
        InvalidRDF: a file does not parse; nothing is loaded then.
        InputError: a folder holds no RDF file.
    """
    files = [file for path in paths for file in _rdf_files(Path(path))]
    found: list[GraphDraft] = []
    for file in files:
        graph = store.names.layer_graph(f"schema-{digest(file.read_text(encoding='utf-8', errors='replace'))}")
        found += rdf_files.read_rdf(file, graph=graph, names=store.names)
    publication = store.publish(found)
    return Loaded({"schema_files": len(files)}, tuple(publication.faults))


def _rdf_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.suffix in rdf_files.SUFFIXES and file.suffix != ".json")
    if not files:
        raise InputError(f"{path} holds no RDF file ({', '.join(sorted(rdf_files.SUFFIXES))}). Name an ontology.")
    return files


def load_instances(path: Path, *, store: TripleStore) -> Loaded:
    """Publish ready-made instances in the words of the loaded ontologies; what these lack joins the starter schema.

    Raises:
        InputError: the file cannot be read, or a line is no triple.
    """
    table = read_table(path)
    ontology = mapping.read_ontology(store)
    batch, refused = _opening(table, store), list[str]()
    minted: dict[ox.NamedNode, str] = {}
    for origin, facts in _origins(table, path, store):
        draft, said = layer_drafts.instances_draft(facts, ontology, origin, store.names)
        minted |= said.minted
        refused += layer_drafts.faults(said.refused, origin)
        batch += [draft] if draft.triples else []
        batch += [layer_drafts.refused_draft(said.refused, origin, store.names)] if said.refused else []
    if minted:
        standing = list(store.triples(store.names.layer_graph("schema")))
        batch.append(layer_drafts.schema_draft(minted, standing, store.names))
    publication = store.publish([*batch, _provenance(table, path, store)])
    counts = {
        "instances": sum(len(facts) for _, facts in table.chunks) - len(refused),
        "refused": len(refused),
        "minted_properties": len(minted),
        "quarantined": len(publication.quarantined),
    }
    return Loaded(counts, (*refused, *publication.faults))


def load_triples(path: Path, *, store: TripleStore) -> Loaded:
    """Publish ready-made triples as the knowledge-graph layer.

    Raises:
        InputError: the file cannot be read, or a line is no triple.
    """
    table = read_table(path)
    made = [layer_drafts.triples_draft(facts, origin, store.names) for origin, facts in _origins(table, path, store)]
    whole = [draft for draft in made if draft.triples]
    publication = store.publish([*_opening(table, store), *whole, _provenance(table, path, store)])
    statements = sum(triple.object == KG.Statement for draft in whole for triple in draft.triples)
    return Loaded({"triples": statements, "quarantined": len(publication.quarantined)}, tuple(publication.faults))


def _opening(table: Table, store: TripleStore) -> list[GraphDraft]:
    chunks = [chunk for chunk, _ in table.chunks]
    return [
        documents.document_draft(
            table.document, chunks, names=store.names, parameters="a sentence a triple", record=True
        )
    ]


def _origins(table: Table, path: Path, store: TripleStore) -> list[tuple[Origin, tuple[Fact, ...]]]:
    document = documents.document_iri(table.document, store.names)
    activity = _activity(table, store)

    def origin(chunk: Chunk) -> Origin:
        return Origin(store.names.chunk(document, chunk.start, chunk.end), activity, f"loaded={path.name}")

    return [(origin(chunk), facts) for chunk, facts in table.chunks]


def _activity(table: Table, store: TripleStore) -> ox.NamedNode:
    return store.names.activity(METHOD, "loaded", documents.document_iri(table.document, store.names).value)


def _provenance(table: Table, path: Path, store: TripleStore) -> GraphDraft:
    document = documents.document_iri(table.document, store.names)
    deed = Deed(_activity(table, store), f"read triples from {path.name}", [document])
    return provenance_draft([deed], method=METHOD, names=store.names)
