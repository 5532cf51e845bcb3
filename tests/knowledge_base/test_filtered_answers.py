"""A tenant filter never leaks: every method, the command line, HTTP and kgv: searches, for whatever belongs to whom."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kgrag import KnowledgeBase, plugins
from kgrag.capabilities import RetrievesAmong
from kgrag.cli import app
from kgrag.errors import InvalidSettings, InvalidSPARQL, StateError
from kgrag.model import Allowed, Document, Hit, Span
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import documents, ingestion

TENANTS = ("a", "b", "c")
QUESTION = "What is the seeding rate of lentil LT 7 in the River Zone?"
FILTERED = [name for name in plugins.methods() if issubclass(plugins.implementation(name), RetrievesAmong)]
METHODS = [
    "auto", "passages", "passages:signal=dense", "passages:signal=bm25", "passages:signal=rrf", "cg_rag", "og_rag",
    "og_rag:scoring=paper", "og_rag:rules=x", "poly_rag", "poly_rag:layers=graph+text", "sire_rag",
    "sire_rag:signal=dense,novelty=0", "sire_rag:ablation=B",
]  # fmt: skip
SENTENCES = (
    "Lentil {n} of the River Zone is grown by Marta Quill. Its seeding rate is {n}0 kg per hectare.",
    "Marta Quill met Ann Lee in the River Zone. Ann Lee grows lentil {n} on loam.",
    "Rust of lentil is treated with sulphur. Marta Quill treats lentil {n} in May.",
)


def corpus(owners: list[str]) -> list[Document]:
    """Return a document per owner; all speak of the same people and cite each other."""
    return [
        Document(
            " ".join(sentence.format(n=number) for sentence in SENTENCES),
            title=f"Report {number}",
            id=str(number),
            cites=(str((number + 1) % len(owners)), "0"),
            metadata={"tenant": owner, "year": 2000 + number},
        )
        for number, owner in enumerate(owners)
    ]


@contextmanager
def filled(owners: list[str], path: Path | None = None) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        ingestion.ingest(corpus(owners), store=kb.store)
        for name in FILTERED:
            kb.build(name)
        yield kb


def owner_of(kb: KnowledgeBase) -> Mapping[str, str]:
    return {document.iri: str(document.metadata["tenant"]) for document in documents.listing(kb.store)}


def owners_in(kb: KnowledgeBase, hits: list[Hit]) -> set[str]:
    """Return whose documents hits name as sources, and of whom a node of a tree has any chunk below it."""
    owners = owner_of(kb)
    return {owners[span.document] for hit in hits for span in hit.sources}


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(TENANTS), min_size=2, max_size=7))
def test_no_method_returns_evidence_of_another_tenant(owners: list[str]) -> None:
    with filled(owners) as kb:
        owned_by = owner_of(kb)
        for method in METHODS:
            for tenant in TENANTS:
                hits = kb.retrieve(QUESTION, method=method, k=50, where={"tenant": tenant})
                bare: Any = kb.method(method)  # without the second lock
                hits += bare.retrieve_among(QUESTION, 50, kb.allowed({"tenant": tenant}))
                assert {owned_by[span.document] for hit in hits for span in hit.sources} <= {tenant}, method
                numbers = {str(number) for number, owner in enumerate(owners) if owner != tenant}
                told = {word for hit in hits for word in hit.text.replace(".", " ").split()}
                assert not told & {f"{number}0" for number in numbers}, method
                answer = kb.ask(QUESTION, method=method, where={"tenant": tenant})
                assert {owned_by[citation.document] for citation in answer.citations} <= {tenant}, method


def test_a_filter_that_all_meet_finds_what_no_filter_finds() -> None:
    with filled(["a"] * 5) as kb:
        for method in (
            "passages",
            "cg_rag",
            "og_rag",
            "og_rag:scoring=paper",
            "sire_rag",
            "poly_rag:layers=graph+text",
        ):
            assert kb.retrieve(QUESTION, method=method, where="tenant=a") == kb.retrieve(QUESTION, method=method), (
                method
            )


def test_a_filter_reaches_what_would_be_far_below_the_first_hits() -> None:
    with filled([*["a"] * 12, "b"]) as kb:
        for method in ("auto", "passages", "cg_rag", "sire_rag"):
            assert owners_in(kb, kb.retrieve(QUESTION, method=method, k=1)) == {"a"}
            assert owners_in(kb, kb.retrieve(QUESTION, method=method, k=1, where={"tenant": "b"})) == {"b"}


def test_a_summary_of_two_tenants_is_found_by_neither_alone() -> None:
    with filled(["a", "b", "a", "b", "a", "b"]) as kb:
        kinds = {hit.kind for hit in kb.retrieve(QUESTION, method="sire_rag:novelty=0,propositions=0", k=99)}
        alone = {
            hit.kind
            for hit in kb.retrieve(QUESTION, method="sire_rag:novelty=0,propositions=0", k=99, where="tenant=a")
        }
        assert kinds == {"aggregate", "passage", "summary"}
        assert "summary" not in alone


def test_a_method_that_cannot_keep_to_a_filter_is_refused() -> None:
    with filled(["a", "b"]) as kb:
        for method in ("obqc", "poly_rag:layers=ontology"):
            with pytest.raises(InvalidSettings, match="filter"):
                kb.retrieve(QUESTION, method=method, where="tenant=a")
            with pytest.raises(InvalidSettings, match="filter"):
                kb.ask(QUESTION, method=method, where="tenant=a")


def test_what_a_faulty_method_or_reranker_returns_besides_goes_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(["a", "b"]) as kb:
        everything = kb.retrieve(QUESTION, k=50)
        kind = plugins.implementation("passages")
        monkeypatch.setattr(
            kind, "retrieve_among", lambda self, question, k, allowed: [*everything, Hit("x", "row", "", 0)]
        )
        assert owners_in(kb, kb.retrieve(QUESTION, method="passages", where="tenant=a")) == {"a"}
        assert all(hit.sources for hit in kb.retrieve(QUESTION, method="passages", where="tenant=a"))
        with pytest.raises(StateError, match="not shown"):
            kb.answer_from(QUESTION, everything, method="passages", where="tenant=a")


def test_a_span_that_names_an_allowed_document_and_a_chunk_of_another_one_is_dropped() -> None:
    from kgrag.knowledge_base.filter_lock import only_allowed

    mixed = Hit("x", "passage", "", 1.0, (Span("urn:b/chunk", "urn:a", 0, 1),))
    assert only_allowed([mixed], Allowed(frozenset({"urn:a"}), frozenset({"urn:a/chunk"}))) == []


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(tenant=st.sampled_from(TENANTS), kind=st.sampled_from(["near", "matches"]), count=st.integers(1, 40))
def test_a_search_in_sparql_ranks_the_documents_of_its_filter_alone(tenant: str, kind: str, count: int) -> None:
    with shared() as kb:
        query = (
            f'SELECT ?document {{ ?chunk kgv:{kind} ("lentil" {count} "chunk" "tenant={tenant}") ; '
            f"dcterms:isPartOf ?document }}"
        )
        found: Any = kb.query(query)
        names = [row[0].value for row in found]
        assert {owner_of(kb)[name] for name in names} == {tenant}
        assert len(names) == min(count, len(kb.allowed({"tenant": tenant}).chunks))


_SHARED: list[KnowledgeBase] = []


@contextmanager
def shared() -> Iterator[KnowledgeBase]:
    if not _SHARED:
        kb = KnowledgeBase(settings=Settings(), embedder=HashEmbedder())
        ingestion.ingest(corpus(list("abcabcaab")), store=kb.store)
        _SHARED.append(kb)
    yield _SHARED[0]


def test_a_search_in_sparql_refuses_what_it_cannot_filter() -> None:
    with shared() as kb:
        for wrong in ('"chunk" "?document ?p ?o"', '"schema-term" "tenant=a"', '"chunk" "tenant!=a"'):
            with pytest.raises(InvalidSPARQL):
                kb.query(f'SELECT * {{ ?chunk kgv:near ("lentil" 3 {wrong}) }}')


def test_the_command_line_keeps_to_its_filters(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb", settings=Settings()) as kb:
        ingestion.ingest(corpus(list("abab")), store=kb.store)

    def run(*words: str) -> Any:
        done = CliRunner().invoke(app, ["--kb", str(tmp_path / "kb"), *words, "--format", "json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    for command in ("retrieve", "ask"):
        found = run(command, QUESTION, "--where", "tenant=b", "--where", "year>2001")
        places = [span["place"] for hit in found["hits"] for span in hit["sources"]]
        assert {place["title"] for place in places} == {"Report 3"}
        assert {place["metadata"]["tenant"] for place in places} == {"b"}
    found = run("retrieve", QUESTION, "--where", "?document kgm:year ?year FILTER(?year < 2001)")
    assert {span["place"]["title"] for hit in found["hits"] for span in hit["sources"]} == {"Report 0"}
    questions = tmp_path / "q.jsonl"
    questions.write_text(json.dumps({"id": "1", "question": QUESTION, "supporting": ["3"]}))
    scores = [
        CliRunner().invoke(
            app, ["--kb", str(tmp_path / "kb"), "eval", "--questions", str(questions), *where, "--format", "json"]
        )
        for where in ([], ["--where", "tenant=a"], ["--where", "tenant=b"])
    ]
    recalls = [json.loads(done.stdout)["methods"]["auto"]["metrics"]["recall@5"]["mean"] for done in scores]
    assert recalls == [1.0, 0.0, 1.0]
