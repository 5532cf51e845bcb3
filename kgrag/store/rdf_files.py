"""Reads RDF files into drafts of named graphs: ontologies, vocabularies, data.

Turtle, RDF/XML, N-Triples, N-Quads, TriG, JSON-LD and N3, plain or gzipped. Nothing is fetched: imports, remote
JSON-LD contexts and document types stay where they are. A graph gets the IRI that the caller gives, else that of the
ontology in it, else one derived from the file's content; graphs that the file itself names keep their names. Blank
nodes are named by graph and order of appearance, so that reading the same file again gives the same triples. Triples
are returned as they are written; the store keeps the surface of literals that it rewrites in a lexical graph.
"""

from __future__ import annotations

import gzip
import logging
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, plain
from kgrag.resources import files
from kgrag.store.language_tags import spelled_tags
from kgrag.store.rdf_guard import check_json, check_turtle, check_xml
from kgrag.store.readable_terms import refuse_unreadable
from kgrag.store.xml_literals import with_well_formed_xml
from kgrag.vocab import KG, OWL, RDF, Names, digest

__all__ = ["SUFFIXES", "is_ontology", "plugin_quads", "read_all", "read_rdf", "read_triples"]

_LOG = logging.getLogger(__name__)

_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "rdfxml": ox.RdfFormat.RDF_XML,
    "ntriples": ox.RdfFormat.N_TRIPLES,
    "nquads": ox.RdfFormat.N_QUADS,
    "trig": ox.RdfFormat.TRIG,
    "jsonld": ox.RdfFormat.JSON_LD,
    "n3": ox.RdfFormat.N3,
}
SUFFIXES = {
    ".ttl": "turtle",
    ".turtle": "turtle",
    ".rdf": "rdfxml",
    ".rdfs": "rdfxml",
    ".owl": "rdfxml",
    ".xml": "rdfxml",
    ".nt": "ntriples",
    ".nq": "nquads",
    ".trig": "trig",
    ".jsonld": "jsonld",
    ".json": "jsonld",
    ".n3": "n3",
}
"""File suffix -> format; each may be followed by ``.gz``."""

_MAX_TERM_BYTES = 16 * 1024 * 1024
_MAX_BYTES_READ_WHOLE = 64 * 1024 * 1024
_BLOCK_BYTES = 8 * 1024 * 1024
_STRICT = {"turtle", "trig", "ntriples", "nquads"}
"""Formats whose parser refuses what nothing would read back."""
_LINES = {"ntriples", "nquads"}
"""Formats in which a statement is a line, so that a file can be read in blocks."""

_CLASSES = frozenset({OWL.Class, ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#Class")})


def read_all(
    paths: Sequence[Path], *, rdf_format: str | None = None, graph: ox.NamedNode | None = None, names: Names
) -> list[GraphDraft]:
    """Return the drafts of several files, each read as ``read_rdf`` reads it, and with its real path (``kg:readFrom``).

    Without a ``graph`` that is, which may be loaded from anywhere.

    Raises:
        InvalidRDF: one of them cannot be read; where there are others, the message says that these are not loaded.
    """
    drafts: list[GraphDraft] = []
    for path in paths:
        try:
            read = read_rdf(path, rdf_format=rdf_format, graph=graph, names=names)
            if graph is None:
                own = (KG.readFrom, ox.Literal(os.path.realpath(path)))
                read = [replace(draft, described=[*draft.described, own]) for draft in read]
            drafts += read
        except InvalidRDF as error:
            if len(paths) == 1:
                raise
            raise InvalidRDF(f"{error} Nothing was loaded of the other files either: leave this one out.") from error
    _note_shared(drafts)
    return drafts


def _note_shared(drafts: Sequence[GraphDraft]) -> None:
    """Log graphs that are in several files, of which their union is read."""
    files: dict[str, list[str]] = {}
    for draft in drafts:
        own = [plain(value) for term, value in draft.described if term == KG.readFrom]
        files.setdefault(draft.iri.value, []).extend(own)
    for graph, paths in files.items():
        if len(set(paths)) > 1:
            _LOG.warning(
                "%s are one graph together, %s; versions of an ontology are loaded one at a time, or with --graph",
                " and ".join(sorted(set(paths))),
                graph,
            )


def read_rdf(
    path: Path, *, rdf_format: str | None = None, graph: ox.NamedNode | None = None, names: Names
) -> list[GraphDraft]:
    """Return one draft for each graph of an RDF file, to replace what that graph contains.

    Args:
        path: the file.
        rdf_format: its format: a suffix, a name such as "turtle", or a media type; None goes by the suffix.
        graph: the IRI for triples that are in no named graph, and the base of relative IRIs.
        names: the knowledge base's IRIs.

    Returns:
        Drafts of kind OntologyGraph (with an owl:Ontology or classes) or DataGraph, the file's own graph first; one
        empty draft for a file that is valid and states nothing.

    Raises:
        InvalidRDF: the file is missing, not in a known format, does not parse, is not UTF-8, is nested too deep, has a
            literal that nothing reads back, or states something in a graph that kgrag keeps for itself; the message
            names file, and where it does not parse line and column.
    """
    data = _bytes(path)
    form = _format(path, rdf_format, data)
    text = _text(data, path)
    own = names.loaded_graph(text)
    # before the parser sees the text: what these refuse would stall it or end the process
    if form == "rdfxml":
        check_xml(data, path)
    elif form == "jsonld":
        check_json(text, path)
    else:
        check_turtle(text, path)
    base = f"{own.value}/" if graph is None else graph.value
    quads = _parsed(text, form, base, path)
    content = _Content(list(with_well_formed_xml(quads) if form == "rdfxml" else quads))
    if form not in _STRICT:
        refuse_unreadable((quad.object for quad in content.quads), f"{path}: ")
    target = graph or content.ontology() or own
    tags = [(KG.languageTag, ox.Literal(tag)) for tag in spelled_tags(text, _FORMATS[form])]
    return [_draft(iri, triples, path, names, tags) for iri, triples in content.graphs(target, own.value).items()]


def read_triples(path: Path) -> Iterator[ox.Triple]:
    """Yield the triples of every graph of an RDF file, as ``read_rdf`` reads them; relative IRIs begin at the file.

    A large file of N-Triples or N-Quads is read in blocks of lines, so that it is never in memory as a whole; its
    triples may then come more than once, and its blank nodes have the names that it uses, behind one of the file.

    Raises:
        InvalidRDF: as ``read_rdf``; of a large file, after the triples before the mistake.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    form = SUFFIXES.get(suffixes[-1] if suffixes else "", "")
    if form not in _LINES or not path.exists() or path.stat().st_size <= _MAX_BYTES_READ_WHOLE:
        base = ox.NamedNode(path.absolute().as_uri())
        for draft in read_rdf(path, graph=base, names=Names()):
            yield from draft.triples
        return
    scope = digest(path.absolute().as_uri())
    for before, block in _blocks(path):
        text = _text(block, path)
        check_turtle(text, path)
        try:
            for quad in ox.parse(input=text, format=_FORMATS[form]):
                yield cast("ox.Triple", _scoped(quad.triple, scope))
        except SyntaxError as error:
            line = before + (error.lineno or 1)
            raise InvalidRDF(f"{path}, line {line}: {_parser_message(error)} It was read as {form}.") from error
        except ValueError as error:
            raise InvalidRDF(f"{path}, after line {before}: {error}. It was read as {form}.") from error


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield a file in blocks of whole lines, each with the number of lines before it."""
    before = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            while block := lines.read(_BLOCK_BYTES):
                block += lines.readline()
                yield before, block
                before += block.count(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _scoped(term: object, scope: str) -> object:
    """Return a term with the names of its blank nodes behind that of their file."""
    if isinstance(term, ox.BlankNode):
        return ox.BlankNode(f"b{scope}n{term.value}")
    if isinstance(term, ox.Triple):
        subject, predicate, value = term.subject, term.predicate, term.object
        if not (isinstance(subject, ox.NamedNode) and isinstance(value, (ox.NamedNode, ox.Literal))):
            return ox.Triple(_scoped(subject, scope), predicate, _scoped(value, scope))  # type: ignore[arg-type]
    return term


def _bytes(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> InvalidRDF:
    reason = "it is not whole gzip data" if isinstance(error, (gzip.BadGzipFile, EOFError, zlib.error)) else error
    return InvalidRDF(f"{path} cannot be read: {reason}. Give the path of an RDF file.")


def _format(path: Path, wanted: str | None, data: bytes) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    form = _named_format(wanted) if wanted else SUFFIXES.get(suffixes[-1] if suffixes else "", "")
    if not form:
        asked = f"format '{wanted}'" if wanted else f"suffix '{suffixes[-1] if suffixes else ''}'"
        raise InvalidRDF(
            f"{path}: {asked} is no RDF format that kgrag reads. Known suffixes: {', '.join(sorted(SUFFIXES))}, "
            f"each also with .gz; known formats: {', '.join(sorted(_FORMATS))}. Rename the file or name its format."
        )
    if form == "rdfxml" and not wanted and suffixes[-1] == ".owl":
        return _owl_format(path, data)
    return form


def _named_format(wanted: str) -> str:
    name = wanted.strip().lower()
    media = ox.RdfFormat.from_media_type(name) if "/" in name else None
    if media is not None:
        return next((form for form, known in _FORMATS.items() if known == media), "")
    plain = re.sub(r"[^a-z0-9]", "", name)
    by_suffix = SUFFIXES.get(f".{plain}", "")
    return plain if plain in _FORMATS else by_suffix


def _owl_format(path: Path, data: bytes) -> str:
    """Return the format of an .owl file: RDF/XML as a rule, Turtle at times, and syntaxes that are not RDF."""
    head = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if re.match(
        rb"(?i)Prefix\s*\(|Ontology\s*\(|Prefix:\s|Ontology:\s|<\?xml[^>]*\?>\s*(<!DOCTYPE.*?\]>\s*)?<Ontology\b", head
    ):
        raise InvalidRDF(
            f"{path} is OWL in functional, Manchester or OWL/XML syntax, which is not RDF. "
            "Convert it first, e.g. with ROBOT: robot convert --input FILE --output FILE.ttl."
        )
    return (
        "rdfxml"
        if re.match(rb"<[?!A-Za-z]", head) and not re.match(rb"<[A-Za-z][\w+.-]*:/?/?[^>\s]*>\s", head)
        else "turtle"
    )


def _text(data: bytes, path: Path) -> str:
    declared = re.match(rb"<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)", data)
    if declared and declared[1].lower() not in (b"utf-8", b"utf8", b"us-ascii"):
        raise InvalidRDF(f"{path} is encoded as {declared[1].decode()}. Save it as UTF-8.")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidRDF(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8. Save it as UTF-8."
        ) from error


def _parsed(text: str, form: str, base: str, path: Path) -> Iterator[ox.Quad]:
    try:
        yield from ox.parse(input=text, format=_FORMATS[form], base_iri=base)
    except SyntaxError as error:
        place = f", line {error.lineno}, column {error.offset}" if error.lineno else ""
        raise InvalidRDF(f"{path}{place}: {_parser_message(error)} It was read as {form}; correct it there.") from error
    except MemoryError as error:  # the parser's own: it keeps one term in a buffer of 16 MiB
        long = next((number for number, line in enumerate(text.split("\n"), 1) if len(line) > _MAX_TERM_BYTES // 4), 0)
        place = f", line {long}" if long else ""
        raise InvalidRDF(
            f"{path}{place}: a text or an IRI is longer than the parser reads ({_MAX_TERM_BYTES // 1024**2} MiB). "
            "Leave it out; a long text can come in as a document (kgrag ingest)."
        ) from error
    except (ValueError, OSError) as error:
        raise InvalidRDF(f"{path}: {error}. It was read as {form}.") from error


def _parser_message(error: SyntaxError) -> str:
    message = str(error.msg)
    if "LoadDocumentCallback" in message:
        return "a JSON-LD context is at an address, and nothing is fetched. Put the context into the file."
    message = re.sub(r"^Parser error at line \d+ (?:between columns \d+ and \d+|column \d+): ", "", message)
    return f"{message.rstrip('.')}."


@dataclass(frozen=True, slots=True)
class _Content:
    """The quads of one file."""

    quads: list[ox.Quad]

    def ontology(self) -> ox.NamedNode | None:
        """Return the IRI of the ontology that is declared outside named graphs; of several, the one most is said of."""
        declared = [
            quad.subject
            for quad in self.quads
            if (quad.predicate, quad.object, quad.graph_name) == (RDF.type, OWL.Ontology, ox.DefaultGraph())
            and isinstance(quad.subject, ox.NamedNode)
        ]
        if len(declared) < 2:
            return declared[0] if declared else None
        said = Counter(quad.subject for quad in self.quads)
        chosen = max(declared, key=lambda iri: said[iri])  # the first of those of which as much is said
        others = ", ".join(iri.value for iri in dict.fromkeys(declared) if iri != chosen)
        _LOG.warning(
            "the graph is named %s, by the ontology of which most is said; declared beside it: %s", chosen.value, others
        )
        return chosen

    def graphs(self, target: ox.NamedNode, own: str) -> dict[ox.NamedNode, list[ox.Triple]]:
        """Return graph -> triples, each once, with blank nodes named by graph and order of appearance."""
        scope = digest(target.value)
        known: dict[str, ox.BlankNode] = {}
        triples_by_graph: dict[ox.NamedNode, dict[ox.Triple, None]] = {}
        if not self.quads or any(isinstance(quad.graph_name, ox.DefaultGraph) for quad in self.quads):
            triples_by_graph[target] = {}
        for quad in self.quads:
            graph = _graph(quad, target, known, scope, own)
            triples_by_graph.setdefault(graph, {})[cast("ox.Triple", _renamed(quad.triple, known, scope))] = None
        return {graph: list(triples) for graph, triples in triples_by_graph.items()}


def _graph(quad: ox.Quad, target: ox.NamedNode, known: dict[str, ox.BlankNode], scope: str, own: str) -> ox.NamedNode:
    name = quad.graph_name
    if isinstance(name, ox.NamedNode):
        return name
    if isinstance(name, ox.BlankNode):
        return ox.NamedNode(f"{own}/{cast('ox.BlankNode', _renamed(name, known, scope)).value}")
    return target


def _renamed(term: object, known: dict[str, ox.BlankNode], scope: str) -> object:
    if isinstance(term, ox.BlankNode):
        return known.setdefault(term.value, ox.BlankNode(f"b{scope}n{len(known)}"))
    if isinstance(term, ox.Triple):
        subject, predicate, value = term.subject, term.predicate, term.object
        if not (isinstance(subject, ox.NamedNode) and isinstance(value, (ox.NamedNode, ox.Literal))):
            return ox.Triple(_renamed(subject, known, scope), predicate, _renamed(value, known, scope))  # type: ignore[arg-type]
    return term


def _draft(
    graph: ox.NamedNode,
    triples: list[ox.Triple],
    path: Path,
    names: Names,
    tags: Sequence[tuple[ox.NamedNode, ox.Literal]],
) -> GraphDraft:
    if graph in (names.catalogue, names.provenance, names.hypernodes):
        raise InvalidRDF(
            f"{path} speaks of {graph.value}, a graph that kgrag keeps for itself. "
            "A dump of a knowledge base is read by `kgrag import`; leave the graph out to load the rest."
        )
    return GraphDraft(
        iri=graph,
        kind=KG.OntologyGraph if is_ontology(triples) else KG.DataGraph,
        triples=triples,
        mode="replace",
        described=[(KG.location, ox.Literal(str(path))), *tags],
    )


def is_ontology(triples: Iterable[ox.Triple]) -> bool:
    """Return whether triples declare an ontology, or a class."""
    return any(
        triple.predicate == RDF.type and (triple.object == OWL.Ontology or triple.object in _CLASSES)
        for triple in triples
    )


def plugin_quads(folder: str) -> Iterator[ox.Quad]:
    """Yield the triples of the Turtle files in a folder of every plug-in; what does not parse is logged and left out.

    Args:
        folder: "ontologies" or "shapes".
    """
    for path in files(folder, ".ttl", own=False):
        try:
            # a list, so that a file that breaks in the middle is left out whole
            yield from list(ox.parse(path=path, base_iri=path.absolute().as_uri()))
        except (OSError, SyntaxError, ValueError) as error:
            _LOG.warning("%s of a plug-in is left out: %s", path, error)
