"""Filters decide which documents may be found; nothing that a user writes widens them."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase, queries
from kgrag.errors import InputError, InvalidSPARQL, UnknownName
from kgrag.model import Document
from kgrag.querying import document_filters
from kgrag.querying.document_filters import read_filter
from kgrag.testing import HashEmbedder
from kgrag.text import documents, ingestion


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    filled = KnowledgeBase(embedder=HashEmbedder())
    ingestion.ingest(
        [
            Document(
                f"Report {number} of tenant {'ab'[number % 2]}.",
                title=f"T{number}",
                id=str(number),
                location=f"/docs/{number}.txt",
                url=f"https://example.org/{number}",
                metadata={
                    "tenant": "ab"[number % 2],
                    "year": 2018 + number,
                    "price": Decimal("1.5") * number,
                    "due date": date(2024, 5, number + 1),
                    "seen": datetime(2024, 5, number + 1, 12, tzinfo=UTC),
                    "dcterms:subject": ox.NamedNode(f"https://example.org/subject/{number % 3}"),
                },
            )
            for number in range(6)
        ],
        store=filled.store,
    )
    filled.update("""
        PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
        INSERT DATA { GRAPH <https://example.org/thesaurus> {
          <https://example.org/subject/1> skos:broader <https://example.org/subject/0> } }""")
    return filled


def numbers(kb: KnowledgeBase, where: Any) -> str:
    """Return the numbers of the documents that a filter lets through."""
    titles = {document.iri: document.title for document in documents.listing(kb.store)}
    return "".join(sorted(titles[iri].removeprefix("T") for iri in kb.allowed(where).documents))


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"tenant": "a"}, "024"),
        ({"tenant": ["a", "c"]}, "024"),
        ({"tenant": {"in": ["b"]}}, "135"),
        ({"tenant": []}, ""),
        ({"tenant": "a", "year": {"from": 2020}}, "24"),
        ({"year": 2020.0}, "2"),
        ({"year": "2020"}, ""),
        ({"year": {"from": 2019, "below": 2021}}, "12"),
        ({"price": {"above": 1.5, "to": 4.5}}, "23"),
        ({"due date": date(2024, 5, 2)}, "1"),
        ({"due date": "2024-05-02"}, "1"),
        ({"due date": {"from": date(2024, 5, 3), "to": "2024-05-04"}}, "23"),
        ({"seen": {"from": date(2024, 5, 3), "to": "2024-05-04"}}, "23"),
        ({"seen": {"above": date(2024, 5, 5)}}, "5"),
        ({"dcterms:subject": "https://example.org/subject/2"}, "25"),
        ({"title": "T3"}, "3"),
        ({"id": ["1", "2"]}, "12"),
        ({"url": {"prefix": "https://example.org/4"}}, "4"),
        ({"location": {"prefix": "/docs/1"}}, "1"),
        ({"media_type": "text/plain"}, "012345"),
        ({"tenant": "nobody"}, ""),
        ("tenant=a", "024"),
        ('tenant="a"', "024"),
        ("year=2020", "2"),
        ("year in 2019, 2020", "12"),
        ("year>2021", "45"),
        ("price<=1.5", "01"),
        ("due date>=2024-05-05", "45"),
        ("location^=/docs/2", "2"),
        (["tenant=a", {"year": {"to": 2020}}], "02"),
        ('?document kgm:tenant "a"', "024"),
        ('?document kgm:tenant "a" # the rest is a comment', "024"),
        ("?document kgm:year ?year FILTER(?year > 2021)", "45"),
        ("?document dcterms:subject/skos:broader* <https://example.org/subject/0>", "0134"),
        (["tenant=b", "?document dcterms:subject/skos:broader* <https://example.org/subject/0>"], "13"),
        ("?document ?p ?o", "012345"),
        ("?chunk dcterms:isPartOf ?document", "012345"),
        ("?graph a ?document", ""),
        ("GRAPH ?graph { ?document a kg:Document } FILTER(STRSTARTS(STR(?graph), 'urn:nothing'))", ""),
        ("?x ?y ?z # ?document", ""),
        ("FILTER(!BOUND(?document))", ""),
        ("OPTIONAL { ?document kgm:tenant 'nobody' }", ""),
        ("VALUES ?document { <https://example.org/subject/0> }", ""),
    ],
    ids=str,
)
def test_a_filter_lets_these_documents_through(kb: KnowledgeBase, where: Any, expected: str) -> None:
    assert numbers(kb, where) == expected


@pytest.mark.parametrize(
    "where", [{"tenat": "a"}, "tenat=a", ["tenant=a", "tenat^=a"], {"tenat": {"from": 2}}], ids=str
)
def test_a_field_that_no_document_has_is_refused_with_those_that_there_are(kb: KnowledgeBase, where: Any) -> None:
    with pytest.raises(
        UnknownName, match=r"no document has the field 'tenat'\. Fields: title, .*due date, .*, tenant, year"
    ):
        kb.allowed(where)


def test_a_field_is_not_refused_where_there_is_no_document_yet() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as empty:
        assert not empty.allowed({"tenant": "a"}).documents


NO_FILTERS: list[Any] = [{}, [], "", "  ", 5, {"tenant": None}, {"": "a"}, {"tenant": {}}, {"tenant": {"like": "a"}}]
NO_FILTERS += [{"tenant": {"in": "a"}}, {"tenant": {"in": ["a"], "prefix": "a"}}, {"year": {"from": None}}]
NO_FILTERS += [{"year": {"from": [1]}}, "tenant!=a", "?x ?y ?z", '?document kgv:near ("x" 3)']
NO_FILTERS += ["?document <https://w3id.org/kgrag/vector#near> ('x')"]


@pytest.mark.parametrize("where", NO_FILTERS, ids=str)
def test_what_is_no_filter_is_refused_and_not_taken_for_none(kb: KnowledgeBase, where: Any) -> None:
    with pytest.raises(InputError):
        kb.retrieve("Which report?", where=where)


@pytest.mark.parametrize(
    "pattern",
    [
        "} UNION { ?document ?p ?o",
        '?document kgm:tenant "a" } UNION { ?document ?p ?o',
        '?document kgm:tenant "a" } #',
        '?document kgm:tenant "a" } LIMIT 3 #',
        "{ ?document ?p ?o",
        '?document ?p """',
        "?document ?p 'x",
        "SERVICE <http://localhost:1/> { ?document ?p ?o }",
        "?document ?p ?o } ; DROP ALL #",
        "SELECT ?document WHERE { ?document ?p ?o } } INSERT DATA { GRAPH <urn:x> { <urn:a> <urn:b> <urn:c> }",
    ],
)
def test_a_pattern_that_is_no_group_by_itself_is_refused(kb: KnowledgeBase, pattern: str) -> None:
    before = kb.store.revision
    with pytest.raises(InvalidSPARQL):
        kb.allowed(pattern)
    assert kb.store.revision == before


_PIECES = st.sampled_from(
    [
        "}",
        "{",
        " UNION ",
        "?document ",
        "?p ",
        "?o ",
        ". ",
        '"',
        "'",
        '"""',
        "#",
        "\n",
        "\\",
        "<",
        ">",
        "LIMIT 1",
        ")",
        "(",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=12))
def test_no_pattern_lets_more_through_than_the_condition_beside_it(kb: KnowledgeBase, pieces: Sequence[str]) -> None:
    try:
        found = numbers(kb, ["tenant=a", "?document ?p ?o . " + "".join(pieces)])
    except (InvalidSPARQL, InputError):
        return
    assert set(found) <= set("024")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_no_value_lets_another_tenant_through(kb: KnowledgeBase, value: str) -> None:
    def through(where: Any) -> set[str]:
        try:
            return set(numbers(kb, where))
        except InputError:
            return set()

    assert through({"tenant": value}) <= (
        {"0", "2", "4"} if value == "a" else {"1", "3", "5"} if value == "b" else set()
    )
    assert through([{"tenant": "a"}, f"title={value}"]) <= set("024")


def test_a_filter_follows_the_store() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        for number, size in enumerate((1, 2)):
            ingestion.ingest([Document(f"Report {number}.", metadata={"tenant": "a"})], store=kb.store)
            assert len(kb.allowed("tenant=a").documents) == size


def test_what_a_filter_lets_through_is_the_same_set_where_nothing_of_it_came_or_went() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.add_many([Document(f"Report {tenant}.", id=tenant, metadata={"tenant": tenant}) for tenant in "ab"])
        before = kb.allowed("tenant=a")
        kb.add(Document("Report c.", id="c", metadata={"tenant": "b"}))
        assert kb.allowed("tenant=a") is before
        kb.add(Document("Report d.", id="d", metadata={"tenant": "a"}))
        assert len(kb.allowed("tenant=a").documents) == 2


EDIT = """
    PREFIX kg: <https://w3id.org/kgrag/ns#> PREFIX kgm: <https://w3id.org/kgrag/metadata/>
    PREFIX dcterms: <http://purl.org/dc/terms/>
    DELETE { GRAPH ?g { ?d kgm:tenant "a" } } INSERT { GRAPH ?g { ?d kgm:tenant "b" } }
    WHERE { GRAPH ?g { ?d a kg:Document ; dcterms:identifier "%s" ; kgm:tenant "a" } }"""


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add", "add", "remove", "edit", "place"]),
            st.sampled_from("123456"),
            st.sampled_from("ab"),
        ),
        min_size=2,
        max_size=12,
    )
)
def test_a_filter_that_followed_lets_through_what_a_new_one_does(changes: Sequence[tuple[str, str, str]]) -> None:
    filters: list[Any] = [{"tenant": "a"}, {"tenant": "a", "year": {"from": 3}}, {"location": {"prefix": "api#"}}]
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        for done, name, tenant in changes:
            known = {document.id for document in kb.documents()}
            if done == "add":
                kb.add(Document(f"Report {name}.", id=name, metadata={"tenant": tenant, "year": int(name)}))
            elif done == "remove" and name in known:
                kb.forget(kb.documents({"id": name})[0].iri)
            elif done == "edit":
                kb.update(EDIT % name)
            elif done == "place" and name in known:
                document = kb.documents({"id": name})[0]
                kb.store.update(
                    queries.bind(
                        "documents/misplaced",
                        catalogue=kb.store.names.catalogue,
                        graphs=[kb.store.names.document_graph(ox.NamedNode(document.iri))],
                        places=[ox.Literal(f"api#{name}")],
                    ),
                    graphs=[],
                )
            for where in filters:
                wanted = read_filter(where)
                assert kb.allowed(where) == document_filters._allowed(wanted, kb.store, None)


def test_after_one_more_document_a_filter_looks_at_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.add_many(Document(f"Report {number}.", id=str(number), metadata={"tenant": "a"}) for number in range(5))
        kb.allowed("tenant=a")
        monkeypatch.setattr(document_filters, "_allowed", lambda *_: pytest.fail("all documents were looked at"))
        kb.add(Document("Report 5.", id="5", metadata={"tenant": "a"}))
        kb.add(Document("Another report 2.", id="2", metadata={"tenant": "b"}))
        kb.remove("3")
        assert len(kb.allowed("tenant=a").documents) == len(kb.allowed("tenant=a").chunks) == 4


def test_data_that_a_user_loads_cannot_give_a_document_to_a_tenant(kb: KnowledgeBase) -> None:
    (document,) = kb.allowed("title=T1").documents
    with KnowledgeBase(embedder=HashEmbedder()) as other:
        ingestion.ingest([Document("Report.", title="T1", metadata={"tenant": "b"})], store=other.store)
        (document,) = other.allowed("tenant=b").documents
        other.update(
            f"PREFIX kgm: <https://w3id.org/kgrag/metadata/> PREFIX kg: <https://w3id.org/kgrag/ns#> "
            f'INSERT DATA {{ GRAPH <urn:x:mine> {{ <{document}> a kg:Document ; kgm:tenant "a" }} }}'
        )
        assert other.allowed({"tenant": "a"}).documents == frozenset()


def test_the_same_filter_is_read_as_the_same() -> None:
    assert read_filter({"a": 1, "b": {"to": 2, "from": 1}}) == read_filter({"a": 1, "b": {"from": 1, "to": 2}})
