"""Ready-made layers from files: schema, instances and triples, so that a pyramid needs no model (PolyRAG, section 3).

A line of instances or triples is ``{"sub", "rel", "obj"}`` or ``{"subject", "relation", "object"}``, with ``domain``
and ``class`` where known; ``.gz`` too. Such a file becomes a document with one sentence per line, so that a triple
without a text of its own can still be cited and looked up.

Graphs written: schema graphs; one document per file, and for each of its chunks an assertion graph (instances) or a
triple graph; the starter schema; quarantine graphs; provenance. Queries read: those of ``kgrag.mapping``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag import mapping
from kgrag.errors import InputError
from kgrag.methods.poly_rag import layer_drafts
from kgrag.methods.poly_rag.layer_drafts import METHOD, Fact, Origin
from kgrag.model import Chunk, Document, GraphDraft
from kgrag.ports import TripleStore
from kgrag.store import rdf_files
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import chunking, documents
from kgrag.vocab import KG, digest

__all__ = ["LoadedFile", "TripleFile", "load_instances", "load_schema", "load_triples", "read_triple_file"]

_FIELDS = (("sub", "subject"), ("rel", "relation", "predicate"), ("obj", "object"))
_EXPECTED_LINE = '{"sub": …, "rel": …, "obj": …}'


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """The counts of what was published, and a line for each part that went to quarantine."""

    counts: Mapping[str, int]
    undone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TripleFile:
    """A file of triples: as a document, and each of its chunks with its facts."""

    document: Document
    chunks: tuple[tuple[Chunk, tuple[Fact, ...]], ...]


def load_schema(paths: Sequence[Path], *, store: TripleStore) -> LoadedFile:
    """Load ontology files, each into a graph of its own, even when two of them have the same ontology IRI.

    Raises:
        InvalidRDF: a file does not parse; nothing is loaded then.
        InputError: a folder contains no RDF file.
    """
    files = [file for path in paths for file in _rdf_files(Path(path))]
    drafts: list[GraphDraft] = []
    for file in files:
        graph = store.names.layer_graph(f"schema-{digest(file.read_text(encoding='utf-8', errors='replace'))}")
        drafts += rdf_files.read_rdf(file, graph=graph, names=store.names)
    publication = store.publish(drafts)
    return LoadedFile({"schema_files": len(files)}, tuple(publication.faults))


def _rdf_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    # A folder's .json files are rather data than JSON-LD; one that is named alone is read.
    files = sorted(file for file in path.rglob("*") if file.suffix in rdf_files.SUFFIXES and file.suffix != ".json")
    if not files:
        raise InputError(f"{path} holds no RDF file ({', '.join(sorted(rdf_files.SUFFIXES))}). Name an ontology.")
    return files


def load_instances(path: Path, *, store: TripleStore) -> LoadedFile:
    """Publish instances in the words of the loaded ontologies; properties that these lack join the starter schema.

    Raises:
        InputError: the file cannot be read, or a line is no triple.
    """
    source = read_triple_file(path)
    ontology = mapping.read_ontology(store)
    batch, refused = [_document_draft(source, store)], list[str]()
    minted: dict[ox.NamedNode, str] = {}
    for origin, facts in _origins(source, store):
        draft, instances = layer_drafts.instances_draft(facts, ontology, origin, store.names)
        minted |= instances.minted
        refused += layer_drafts.faults(instances.refused, origin)
        batch += [draft] if draft.triples else []
        batch += [layer_drafts.refused_draft(instances.refused, origin, store.names)] if instances.refused else []
    if minted:
        known = list(store.triples(store.names.layer_graph("schema")))
        batch.append(layer_drafts.schema_draft(minted, known, store.names))
    publication = store.publish([*batch, _provenance(source, store)])
    counts = {
        "instances": sum(len(facts) for _, facts in source.chunks) - len(refused),
        "refused": len(refused),
        "minted_properties": len(minted),
        "quarantined": len(publication.quarantined),
    }
    return LoadedFile(counts, (*refused, *publication.faults))


def load_triples(path: Path, *, store: TripleStore) -> LoadedFile:
    """Publish triples as the knowledge-graph layer.

    Raises:
        InputError: the file cannot be read, or a line is no triple.
    """
    source = read_triple_file(path)
    drafts = [layer_drafts.triples_draft(facts, origin, store.names) for origin, facts in _origins(source, store)]
    drafts = [draft for draft in drafts if draft.triples]
    publication = store.publish([_document_draft(source, store), *drafts, _provenance(source, store)])
    statements = sum(triple.object == KG.Statement for draft in drafts for triple in draft.triples)
    return LoadedFile({"triples": statements, "quarantined": len(publication.quarantined)}, tuple(publication.faults))


def _document_draft(source: TripleFile, store: TripleStore) -> GraphDraft:
    chunks = [chunk for chunk, _ in source.chunks]
    return documents.document_draft(
        source.document, chunks, names=store.names, parameters="a sentence a triple", record=True
    )


def _origins(source: TripleFile, store: TripleStore) -> Iterator[tuple[Origin, tuple[Fact, ...]]]:
    document = documents.document_iri(source.document, store.names)
    activity = store.names.activity(METHOD, "loaded", document.value)
    for chunk, facts in source.chunks:
        yield (
            Origin(store.names.chunk(document, chunk.start, chunk.end), activity, f"loaded={source.document.title}"),
            facts,
        )


def _provenance(source: TripleFile, store: TripleStore) -> GraphDraft:
    document = documents.document_iri(source.document, store.names)
    activity = store.names.activity(METHOD, "loaded", document.value)
    deed = Deed(activity, f"read triples from {source.document.title}", [document])
    return provenance_draft([deed], method=METHOD, names=store.names)


def read_triple_file(path: Path) -> TripleFile:
    """Read a file of triples; a line that is there twice counts once.

    Raises:
        InputError: the file cannot be read, or a line is no triple; the message names it.
    """
    facts = list(dict.fromkeys(_facts(path)))
    text = "\n".join(f"{fact.text}." for fact in facts)
    document = Document(text=text, title=path.name, location=str(path), media_type="application/jsonl")
    return TripleFile(document, tuple(_by_chunk(chunking.chunk(document), facts)))


def _by_chunk(chunks: Sequence[Chunk], facts: Sequence[Fact]) -> Iterator[tuple[Chunk, tuple[Fact, ...]]]:
    """Yield each chunk with the facts whose line begins in it, or before the next chunk begins."""
    place = line_start = 0
    for number, chunk in enumerate(chunks):
        next_start = chunks[number + 1].start if number + 1 < len(chunks) else float("inf")
        first = place
        while place < len(facts) and line_start < next_start:
            line_start += len(facts[place].text) + len(".\n")
            place += 1
        yield chunk, tuple(facts[first:place])


def _facts(path: Path) -> Iterator[Fact]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}. Give JSON Lines of triples in UTF-8.") from error
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _fact(line, f"{path}, line {number}")


def _fact(line: str, where: str) -> Fact:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: no JSON ({error}). Expected {_EXPECTED_LINE}.") from None
    if not isinstance(record, dict):
        record = {}

    def field(*names: str) -> str:
        value = next((record[name] for name in names if record.get(name) is not None), "")
        return " ".join(str(value).encode("utf-8", "replace").decode().split())

    subject, relation, value = (field(*names) for names in _FIELDS)
    if not (subject and relation and value):
        raise InputError(f"{where}: {line[:80]!r} is no triple. Expected {_EXPECTED_LINE}.")
    return Fact(subject, relation, value, field("domain"), field("class", "concept"))
