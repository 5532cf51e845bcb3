"""Document graphs: a document and its chunks as triples, and look-ups of stored documents and chunks.

Graphs written: one document graph per document, named by title, text, format, identifier, citations and metadata, so
that the same document read twice is published once, and one of which anything changed is another one. Queries read:
``documents/spans``, ``documents/text``, ``documents/titles``, ``documents/listing``, ``documents/locations``,
``documents/metadata``, ``documents/places``; of some documents ``documents/described``, ``documents/chunk_counts``,
``documents/locations_of``, ``documents/metadata_of``; for a page ``documents/graph_count``
and ``documents/graphs_between``.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import UnknownName
from kgrag.languages import ENGLISH, language_named, language_of
from kgrag.model import Chunk, Document, GraphDraft, Span, plain
from kgrag.ports import TripleStore
from kgrag.text import metadata
from kgrag.text.chunking import count_tokens
from kgrag.vocab import DCTERMS, KG, RDF, Names, number

__all__ = [
    "PLAIN_TEXT",
    "DocumentPage",
    "StoredDocument",
    "content_hash",
    "content_hashes",
    "described",
    "document_draft",
    "document_iri",
    "document_text",
    "embedded_texts",
    "listing",
    "page",
    "page_of",
    "places",
    "places_of",
    "spans",
    "titles",
]

_IRIS_PER_QUERY = 1000
_DIGITS = 20  # of the digest that a document is named by
_FIRST = ox.NamedNode("urn:kgrag:0")
PLAIN_TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A stored document: its IRI, the places it was read from, its number of chunks, and what its source says of it.

    ``title``, ``id`` and ``url`` are "" where there is none; ``metadata`` has a tuple for a field with several values.
    """

    iri: str
    title: str
    locations: tuple[str, ...]
    chunks: int
    id: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some documents in the order of the names of their graphs; ``after`` leads to those behind, "" where none are."""

    documents: tuple[StoredDocument, ...]
    after: str = ""


def document_iri(document: Document, names: Names) -> ox.NamedNode:
    """Return the IRI of a document: another one where text, title, format, identifier, citations, URL or metadata are.

    Raises:
        InputError: a metadata field has no name or a value that is no metadata.
    """
    nobody = ox.NamedNode("urn:kgrag:document")
    stated = sorted(str(triple) for triple in _described(document, nobody))
    # Chunks depend on the format. Plain text is not named, so that it keeps the IRIs that it had before.
    stated += [document.media_type] if document.media_type != PLAIN_TEXT else []
    return names.document(document.text, document.title, *stated)


def places_of(document: Document) -> list[str]:
    """Return the places that hold a document: that of its id in a feed, and where else it is; [] where there is none.

    >>> places_of(Document("Oats.", id="7", source="crm", location="https://example.org/7"))
    ['crm#7', 'https://example.org/7']
    """
    in_feed = document.id and document.source and not {"#", os.sep} & set(document.source)
    places = [f"{document.source}#{document.id}"] if in_feed else []
    return list(dict.fromkeys(filter(None, [*places, document.location])))


def document_draft(
    document: Document, chunks: Sequence[Chunk], *, names: Names, parameters: str = "", record: bool = False
) -> GraphDraft:
    """Return the graph of a document and its chunks, ready to be published.

    Args:
        document: a document as it was read.
        chunks: its chunks; [] for a document that is cited as a whole.
        names: the IRIs of the knowledge base.
        parameters: the parameters of its chunking (``chunk_tokens=180``), for the catalogue.
        record: whether the document is mapped data, written out as text.
    """
    iri = document_iri(document, names)
    triples = [*_document_triples(document, chunks, iri)]
    if record:
        triples.append(ox.Triple(iri, RDF.type, KG.MappedRecord))
    for piece in chunks:
        triples.extend(_chunk_triples(piece, iri, names.chunk(iri, piece.start, piece.end)))
    triples.extend(_link_triples(document, chunks, iri, names))
    described = [
        *((KG.location, place) for place in places_of(document)),
        (KG.readFrom, document.source),
        (KG.parameters, parameters),
        # Also in the catalogue, where a duplicate of the document adds its own.
        (DCTERMS.identifier, document.id),
    ]
    return GraphDraft(
        iri=names.document_graph(iri),
        kind=KG.DocumentGraph,
        triples=triples,
        described=[(term, ox.Literal(value)) for term, value in described if value],
    )


def content_hash(text: str) -> str:
    """Return the hash of the text of a document, as the store has it (``kg:contentHash``)."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def content_hashes(store: TripleStore, iris: Sequence[str]) -> dict[str, str]:
    """Return the hashes of the texts of some documents, by IRI."""
    batches = (queries.bind("documents/content_hashes", documents=batch) for batch in _batches(iris))
    return {document: content for query in batches for document, content in store.select(query).values()}


def embedded_texts(draft: GraphDraft) -> list[str]:
    """Return the texts of the chunks of a drafted document as they are embedded (``queries/spaces/texts``)."""
    said = {(triple.subject, triple.predicate): triple.object for triple in draft.triples}
    parts = [triple.subject for triple in draft.triples if triple.predicate == RDF.type and triple.object == KG.Chunk]
    titles = [plain(value) for (_, predicate), value in said.items() if predicate == DCTERMS.title]
    return ["\n".join([*titles[:1], plain(said[part, KG.text])]) for part in parts if (part, KG.text) in said]


def _document_triples(document: Document, chunks: Sequence[Chunk], iri: ox.NamedNode) -> Iterator[ox.Triple]:
    tokens = sum(piece.tokens for piece in chunks) if chunks else count_tokens(document.text)
    content = content_hash(document.text)
    yield ox.Triple(iri, RDF.type, KG.Document)
    yield ox.Triple(iri, KG.text, ox.Literal(document.text))
    yield ox.Triple(iri, KG.contentHash, ox.Literal(content))
    yield ox.Triple(iri, KG.tokens, number(tokens))
    yield ox.Triple(iri, DCTERMS.format, ox.Literal(document.media_type))
    if document.title:
        yield ox.Triple(iri, DCTERMS.title, ox.Literal(document.title))
    if language := _other_language(document):
        yield ox.Triple(iri, DCTERMS.language, ox.Literal(language))
    yield from _described(document, iri)


def _other_language(document: Document) -> str:
    """Return the code of a document's language, as its source says or else its words show; "" for English."""
    fields = {metadata.property_of(name): value for name, value in document.metadata.items()}
    if DCTERMS.language in fields:
        return ""
    stated = language_named(fields.get(metadata.property_of("language"), ""))
    found = stated or language_of(document.text)
    return "" if found == ENGLISH else found


def _described(document: Document, iri: ox.NamedNode) -> Iterator[ox.Triple]:
    """Yield what the source of a document says of it, besides title and text."""
    if document.id:
        yield ox.Triple(iri, DCTERMS.identifier, ox.Literal(document.id))
    for cited in document.cites:
        yield ox.Triple(iri, KG.cites, ox.Literal(cited))
    if document.url:
        yield ox.Triple(iri, KG.url, ox.Literal(document.url))
    yield from metadata.triples(iri, document.metadata)


def _chunk_triples(piece: Chunk, document: ox.NamedNode, iri: ox.NamedNode) -> Iterator[ox.Triple]:
    yield ox.Triple(iri, RDF.type, KG.Chunk)
    yield ox.Triple(iri, KG.text, ox.Literal(piece.text))
    yield ox.Triple(iri, KG.start, number(piece.start))
    yield ox.Triple(iri, KG.end, number(piece.end))
    yield ox.Triple(iri, KG.order, number(piece.order))
    yield ox.Triple(iri, KG.tokens, number(piece.tokens))
    yield ox.Triple(iri, DCTERMS.isPartOf, document)
    if piece.heading:
        yield ox.Triple(iri, KG.heading, ox.Literal(piece.heading))
    if piece.page:
        yield ox.Triple(iri, KG.page, number(piece.page))
    for at, page_number in piece.page_breaks:
        yield ox.Triple(iri, KG.pageBreak, ox.Literal(f"{at} {page_number}"))
    for at, heading in piece.heading_breaks:
        yield ox.Triple(iri, KG.headingBreak, ox.Literal(f"{at} {heading}"))


def _link_triples(document: Document, chunks: Sequence[Chunk], iri: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    """Yield the hyperlinks of each chunk, a target once, and the anchors in it or right before it."""
    ends = [piece.end for piece in chunks]

    def holding(position: int) -> ox.NamedNode | None:
        at = bisect_right(ends, position)
        return names.chunk(iri, chunks[at].start, chunks[at].end) if at < len(chunks) else None

    linked: set[tuple[ox.NamedNode, str]] = set()
    for start, end, written in document.links:
        chunk, target = holding(start), "%20".join(written.split())
        if chunk is not None and target and (chunk, target) not in linked:
            linked.add((chunk, target))
            yield ox.Triple(chunk, KG.link, ox.Literal(f"{start} {end} {target}"))
    anchors: dict[ox.NamedNode, dict[str, None]] = {}
    for position, name in document.anchors:
        chunk = holding(position)
        if chunk is not None and name and len(name.split()) == 1:
            anchors.setdefault(chunk, {}).setdefault(name.strip())
    for chunk, found in anchors.items():
        yield ox.Triple(chunk, KG.anchors, ox.Literal(" ".join(found)))


def spans(store: TripleStore, chunks: Sequence[str]) -> dict[str, Span]:
    """Return the span of each chunk; a chunk that is not stored is left out."""
    spans_by_chunk = {}
    for batch in _batches(chunks):
        for chunk, document, start, end in store.select(queries.bind("documents/spans", chunks=batch)).values():
            spans_by_chunk[chunk] = Span(chunk=chunk, document=document, start=int(start), end=int(end))
    return spans_by_chunk


def titles(store: TripleStore, documents: Sequence[str]) -> dict[str, str]:
    """Return the title of each document; one that is not stored or has no title is left out."""
    return {
        document: title
        for batch in _batches(documents)
        for document, title in store.select(queries.bind("documents/titles", documents=batch)).values()
    }


def document_text(store: TripleStore, document: str) -> str:
    """Return the whole text of a stored document, to which every span of it refers.

    Raises:
        UnknownName: there is no such document.
    """
    try:
        rows = store.select(queries.bind("documents/text", document=ox.NamedNode(document))).values()
    except ValueError as error:
        raise UnknownName(f"{document!r} is not an IRI, and documents are named by IRIs: {error}.") from error
    if not rows:
        raise UnknownName(f"there is no document <{document}> in the knowledge base. `kgrag ingest` adds documents.")
    return rows[0][0]


def listing(store: TripleStore) -> list[StoredDocument]:
    """Return every stored document, by title."""
    locations: dict[str, list[str]] = {}
    for graph, location in store.select(queries.bind("documents/locations", catalogue=store.names.catalogue)).values():
        locations.setdefault(graph, []).append(location)
    fields: dict[str, list[tuple[str, Any]]] = {}
    for document, predicate, value in store.select(queries.bind("documents/metadata")):
        fields.setdefault(plain(document), []).append((plain(predicate), value))
    return [
        StoredDocument(
            iri=document,
            title=title,
            locations=tuple(locations.get(graph, ())),
            chunks=int(chunks),
            id=identifier,
            url=url,
            metadata=metadata.fields_of(fields.get(document, ())),
        )
        for document, graph, title, identifier, url, chunks in store.select(queries.bind("documents/listing")).values()
    ]


def described(store: TripleStore, documents: Iterable[str]) -> dict[str, StoredDocument]:
    """Return IRI -> stored document for some documents; one that is not stored is left out."""
    found = {}
    for batch in _batches(list(documents)):
        own: dict[str, dict[str, str]] = {}
        for document, property_, text in store.select(queries.bind("documents/described", documents=batch)).values():
            own.setdefault(document, {})[property_] = text
        locations: dict[str, list[str]] = {}
        where_from = queries.bind("documents/locations_of", catalogue=store.names.catalogue, documents=batch)
        for document, location in store.select(where_from).values():
            locations.setdefault(document, []).append(location)
        fields: dict[str, list[tuple[str, Any]]] = {}
        for subject, predicate, value in store.select(queries.bind("documents/metadata_of", documents=batch)):
            fields.setdefault(plain(subject), []).append((plain(predicate), value))
        counts = store.select(queries.bind("documents/chunk_counts", documents=batch)).values()
        chunks = {document: int(count) for document, count in counts}
        for document, values in own.items():
            found[document] = StoredDocument(
                iri=document,
                title=values.get(DCTERMS.title.value, ""),
                locations=tuple(locations.get(document, ())),
                chunks=chunks.get(document, 0),
                id=values.get(DCTERMS.identifier.value, ""),
                url=values.get(KG.url.value, ""),
                metadata=metadata.fields_of(fields.get(document, ())),
            )
    return found


def page(store: TripleStore, *, after: str = "", limit: int = 100) -> DocumentPage:
    """Return documents behind a place in the list of all; no more than a few pages of them are ever in memory.

    Names of graphs end with a digest, so that they are spread evenly: what is sorted are those of a stretch that has
    about two pages, and of one twice as long while it has too few.

    Args:
        store: has the documents.
        after: of the page before; "" = from the beginning.
        limit: how many documents at most.
    """
    catalogue = store.names.catalogue
    count = int(store.select(queries.bind("documents/graph_count", catalogue=catalogue)).values()[0][0])
    share = 2 * (limit + 1) / max(count, 1)
    while True:
        until = _further(after or store.names.document_graph(_FIRST).value, share)
        bounds = {"after": ox.Literal(after), "until": [ox.Literal(until)] if until else []}
        found = store.select(queries.bind("documents/graphs_between", catalogue=catalogue, limit=limit + 1, **bounds))
        rows = found.values()
        if len(rows) > limit or not until:
            return _page(store, [(graph, document) for graph, document in rows], limit)
        share *= 2


def page_of(store: TripleStore, documents: Iterable[str], *, after: str = "", limit: int = 100) -> DocumentPage:
    """Return documents behind a place in the list of some; arguments as of ``page``."""
    named = ((store.names.document_graph(ox.NamedNode(document)).value, document) for document in documents)
    return _page(store, heapq.nsmallest(limit + 1, (pair for pair in named if pair[0] > after)), limit)


def _page(store: TripleStore, rows: Sequence[tuple[str, str]], limit: int) -> DocumentPage:
    """Return a page of pairs of graph and document, of which there is one too many where more follow."""
    shown = [document for _, document in rows[:limit]]
    known = described(store, shown)
    after = rows[limit - 1][0] if len(rows) > limit else ""
    return DocumentPage(tuple(known[document] for document in shown if document in known), after)


def _further(name: str, share: float) -> str:
    """Return the name that a share of all names is between, "" behind the last.

    >>> _further("urn:graph/4000000000000000000f", 0.25)
    'urn:graph/8000000000000000000f'
    >>> _further("urn:graph/", 0.5), _further("urn:graph/c", 0.5)
    ('urn:graph/80000000000000000000', '')
    """
    beginning, slash, digits = name.rpartition("/")
    start = int(digits[:_DIGITS].ljust(_DIGITS, "0"), 16) if set(digits) <= set("0123456789abcdef") else 0
    end = start + int(share * 16**_DIGITS)
    return f"{beginning}{slash}{end:0{_DIGITS}x}" if end < 16**_DIGITS else ""


def places(store: TripleStore) -> dict[str, list[str]]:
    """Return the places that each ingested document (its IRI) was read from, sorted; mapped records are left out."""
    locations: dict[str, list[str]] = {}
    for document, location in store.select(queries.bind("documents/places", catalogue=store.names.catalogue)).values():
        locations.setdefault(document, []).append(location)
    return locations


def _batches(iris: Sequence[str]) -> Iterator[list[ox.NamedNode]]:
    distinct = [ox.NamedNode(iri) for iri in dict.fromkeys(iris)]
    for first in range(0, len(distinct), _IRIS_PER_QUERY):
        yield distinct[first : first + _IRIS_PER_QUERY]
