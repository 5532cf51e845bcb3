"""Document graphs: exactly the triples that the shapes describe, and what the store says about chunks."""

import hashlib
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.errors import UnknownName
from kgrag.model import Chunk, Document, Section, Span
from kgrag.store.oxigraph import OxigraphStore
from kgrag.text import documents, stored_passages
from kgrag.text.chunking import chunk
from kgrag.vocab import DCTERMS, KG, RDF, Names, number

NAMES = Names()
TEXT = "Soybean is sown in June.\n\nWheat is sown in November."
PLAIN = Document(TEXT, title="Crops", location="crops.txt")
FULL = Document(TEXT, "Crops", "crops.jsonl#7", "7", "application/jsonl", ("P1", "P2"), (Section(0, 26, "Kharif", 3),))


def published(*found: Document, tokens: int = 8) -> OxigraphStore:
    store = OxigraphStore.open(None)
    drafts = [
        documents.document_draft(
            document, chunk(document, tokens=tokens), names=store.names, parameters="chunk_tokens=8"
        )
        for document in found
    ]
    store.publish(drafts)
    return store


def iris(document: Document, tokens: int = 8) -> list[str]:
    name = documents.document_iri(document, NAMES)
    return [NAMES.chunk(name, piece.start, piece.end).value for piece in chunk(document, tokens=tokens)]


def about(draft_subject: ox.NamedNode, triples: "list[ox.Triple]") -> set[tuple[ox.NamedNode, object]]:
    return {(triple.predicate, triple.object) for triple in triples if triple.subject == draft_subject}


def test_a_document_has_exactly_its_triples() -> None:
    iri = documents.document_iri(FULL, NAMES)
    draft = documents.document_draft(FULL, chunk(FULL, tokens=8), names=NAMES, parameters="chunk_tokens=8")
    assert about(iri, list(draft.triples)) == {
        (RDF.type, KG.Document),
        (KG.text, ox.Literal(TEXT)),
        (KG.contentHash, ox.Literal(hashlib.sha256(TEXT.encode()).hexdigest())),
        (KG.tokens, number(12)),
        (DCTERMS.format, ox.Literal("application/jsonl")),
        (DCTERMS.title, ox.Literal("Crops")),
        (DCTERMS.identifier, ox.Literal("7")),
        (KG.cites, ox.Literal("P1")),
        (KG.cites, ox.Literal("P2")),
    }


def test_a_chunk_has_exactly_its_triples() -> None:
    document = documents.document_iri(FULL, NAMES)
    draft = documents.document_draft(FULL, chunk(FULL, tokens=8), names=NAMES)
    assert about(NAMES.chunk(document, 0, 24), list(draft.triples)) == {
        (RDF.type, KG.Chunk),
        (KG.text, ox.Literal("Soybean is sown in June.")),
        (KG.start, number(0)),
        (KG.end, number(24)),
        (KG.order, number(0)),
        (KG.tokens, number(6)),
        (DCTERMS.isPartOf, document),
        (KG.heading, ox.Literal("Kharif")),
        (KG.page, number(3)),
    }


def test_the_catalogue_learns_location_and_parameters() -> None:
    draft = documents.document_draft(PLAIN, [], names=NAMES, parameters="chunk_tokens=180")
    assert list(draft.described) == [
        (KG.location, ox.Literal("crops.txt")),
        (KG.parameters, ox.Literal("chunk_tokens=180")),
    ]
    assert (draft.iri, draft.kind, draft.mode) == (
        NAMES.document_graph(documents.document_iri(PLAIN, NAMES)),
        KG.DocumentGraph,
        "new",
    )


def test_what_a_document_lacks_is_not_stated() -> None:
    bare = documents.document_draft(Document("x"), [Chunk("x", 0, 1, 0, 1)], names=NAMES)
    stated = {triple.predicate for triple in bare.triples}
    assert not stated & {DCTERMS.title, DCTERMS.identifier, KG.cites, KG.heading, KG.page}
    assert list(bare.described) == []


def test_a_mapped_record_is_marked_as_one() -> None:
    draft = documents.document_draft(PLAIN, [], names=NAMES, record=True)
    assert (RDF.type, KG.MappedRecord) in about(documents.document_iri(PLAIN, NAMES), list(draft.triples))


def test_the_same_document_is_the_same_wherever_it_lies() -> None:
    copy = replace(FULL, location="elsewhere.jsonl#7", source="elsewhere.jsonl")
    assert documents.document_iri(copy, NAMES) == documents.document_iri(FULL, NAMES)


@pytest.mark.parametrize(
    "changed",
    [{"id": "8"}, {"cites": ("P1",)}, {"url": "https://example.org/"}, {"metadata": {"tenant": "a"}}, {"title": "C"}],
    ids=lambda changed: next(iter(changed)),
)
def test_a_document_of_which_anything_changed_is_another_one(changed: dict[str, Any]) -> None:
    assert documents.document_iri(replace(FULL, **changed), NAMES) != documents.document_iri(FULL, NAMES)


def test_a_duplicate_adds_its_location_and_nothing_else() -> None:
    store = published(PLAIN)
    before = len(store)
    copy = Document(TEXT, title="Crops", location="copy.txt")
    store.publish([documents.document_draft(copy, chunk(copy, tokens=8), names=store.names)])
    (listed,) = documents.listing(store)
    assert listed.locations == ("copy.txt", "crops.txt")
    assert len(store) - before < 6


def test_every_span_leads_back_to_the_text_of_its_chunk() -> None:
    store = published(PLAIN)
    chunks = iris(PLAIN)
    document = documents.document_iri(PLAIN, NAMES).value
    found = documents.spans(store, chunks)
    assert found == {chunks[0]: Span(chunks[0], document, 0, 24), chunks[1]: Span(chunks[1], document, 26, 52)}
    whole = documents.document_text(store, document)
    assert stored_passages.texts(store, chunks) == {iri: whole[span.start : span.end] for iri, span in found.items()}


def test_unknown_chunks_are_left_out() -> None:
    store = published(PLAIN)
    assert documents.spans(store, ["urn:kgrag:chunk/none"]) == {}
    assert stored_passages.texts(store, ["urn:kgrag:chunk/none", iris(PLAIN)[0]]).keys() == {iris(PLAIN)[0]}
    assert stored_passages.texts(store, []) == {}


def test_more_chunks_than_one_query_takes_are_all_found() -> None:
    many = Document("\n\n".join(f"paragraph {number} of many" for number in range(1100)), title="Many")
    chunks = iris(many, tokens=4)
    assert len(chunks) > 1000
    store = published(many, tokens=4)
    assert len(documents.spans(store, chunks + chunks[:5])) == len(chunks)


def test_the_listing_names_title_locations_and_chunks() -> None:
    store = published(PLAIN, Document("Untitled text.", location="b.txt"))
    assert [(entry.title, entry.locations, entry.chunks) for entry in documents.listing(store)] == [
        ("", ("b.txt",), 1),
        ("Crops", ("crops.txt",), 2),
    ]


def test_titles_are_given_for_the_documents_that_have_one() -> None:
    untitled = Document("Untitled text.")
    store = published(PLAIN, untitled)
    named, bare = (documents.document_iri(document, NAMES).value for document in (PLAIN, untitled))
    assert documents.titles(store, [named, bare, "urn:kgrag:document/none"]) == {named: "Crops"}


@pytest.mark.parametrize("name", ["urn:kgrag:document/none", "no IRI"])
def test_the_text_of_an_unknown_document_is_an_error(name: str) -> None:
    with pytest.raises(UnknownName, match=name):
        documents.document_text(published(PLAIN), name)


@pytest.mark.parametrize(
    "text", ["日本語の文章。", "שלום עולם", "\U0001f469\u200d\U0001f467 x", 'a "quoted" \\ text\n{{ x }}', "\x01\x7f"]
)
def test_any_text_comes_back_as_it_went_in(text: str) -> None:
    document = Document(text, title=text)
    store = published(document)
    name = documents.document_iri(document, NAMES).value
    assert documents.document_text(store, name) == text
    assert documents.titles(store, [name]) == {name: text}


def test_of_equal_records_each_keeps_its_format_whichever_came_first() -> None:
    lines = Document("Lentil is sown in June.", "Lentil", "r.jsonl#1", "1", "application/jsonl", source="r.jsonl")
    alone = replace(lines, location="", source="", media_type="text/plain")
    for found in ((lines, alone), (alone, lines)):
        formats = published(*found).select(
            "SELECT ?f { GRAPH ?g { ?d <http://purl.org/dc/terms/format> ?f } } ORDER BY ?f"
        )
        assert formats.values() == [("application/jsonl",), ("text/plain",)]


def test_a_passage_is_read_once_until_the_store_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    store = published(PLAIN)
    first, second = iris(PLAIN)
    asked: list[str] = []
    bind = queries.bind
    monkeypatch.setattr(queries, "bind", lambda name, **values: asked.append(name) or bind(name, **values))
    around = stored_passages.surroundings(store, [first, "urn:kgrag:chunk/none"], characters=10)
    assert around == {first: ("", second)}
    assert stored_passages.surroundings(store, [second], characters=10) == {second: (PLAIN.text[16:26], "")}
    assert stored_passages.passages(store, [second])[second].place.title == PLAIN.title
    assert asked == ["documents/passages", "documents/around", "documents/around"]
    store.remove([NAMES.document_graph(documents.document_iri(PLAIN, NAMES))])
    assert stored_passages.passages(store, [first, second]) == {}


GERMAN = "Die Paketverwaltung führt eine Liste der Dateien, die jedes Paket auf dem System installiert hat."


@pytest.mark.parametrize(
    ("text", "fields", "language"),
    [
        (GERMAN, {}, ["de"]),
        (GERMAN, {"language": "fr-CA"}, ["fr"]),
        (GERMAN, {"language": "Klingon"}, ["de"]),
        (GERMAN, {"language": "en"}, []),
        (GERMAN, {"dcterms:language": "de-AT"}, ["de-AT"]),
        ("The package manager keeps a list of the files that each package has installed.", {}, []),
    ],
)
def test_a_document_in_another_language_than_english_says_so(text, fields, language):
    document = Document(text=text, metadata=fields)
    draft = documents.document_draft(document, [], names=NAMES)
    assert [one.object.value for one in draft.triples if one.predicate == DCTERMS.language] == language
