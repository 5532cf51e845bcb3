"""Shards: several knowledge bases return, to the bit, what one of all their documents returns."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase, Shards, queries
from kgrag.cli import app
from kgrag.errors import EmbeddingMismatch, InputError, InvalidSettings, StorageFailed, UnknownName
from kgrag.index.sharded_indexes import Shard, ShardedStore
from kgrag.knowledge_base import services, sharded_bases
from kgrag.knowledge_base.shard_splitting import shard_number
from kgrag.model import Document, Hit
from kgrag.settings import Settings
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder

CROPS = ("wheat", "rye", "pea", "lentil", "maize", "millet", "flax")
ZONES = ("River", "Hill", "Coast", "Desert", "Lake")
QUESTIONS = (
    "Where is lentil grown?",
    "How much rye is sown in the Hill Zone, and how much in the Lake Zone?",
    "Which crop is sown in October?",
    "Who was Napoleon?",
)


def texts() -> list[Document]:
    made = [
        Document(
            f"{crop.title()} is sown in the {zone} Zone at {7 * n + m} kg. It is harvested in month {n + m}.",
            f"{crop} {zone}",
            id=f"{crop} {zone}",
        )
        for n, crop in enumerate(CROPS)
        for m, zone in enumerate(ZONES)
    ]
    twins = [
        Document("Rye is sown in the Hill Zone in October.", f"Twin {number}", id=f"twin {number}")
        for number in range(4)
    ]
    return [*made, *twins]


def base(documents: Sequence[Document]) -> KnowledgeBase:
    kb = KnowledgeBase(settings=Settings(), embedder=HashEmbedder())
    kb.add_many(documents)
    return kb


@pytest.fixture(scope="module")
def whole() -> Iterator[KnowledgeBase]:
    with base(texts()) as kb:
        yield kb


def split(count: int) -> list[KnowledgeBase]:
    return [base(texts()[place::count]) for place in range(count)]


def without_shard(hits: Sequence[Hit]) -> list[tuple[object, ...]]:
    return [
        (hit.iri, hit.text, hit.score, hit.sources, {k: v for k, v in hit.attributes.items() if k != "shard"})
        for hit in hits
    ]


def test_hits_scores_and_answers_are_those_of_one_knowledge_base(whole: KnowledgeBase) -> None:
    bases = split(5)
    with Shards(bases) as shards:
        for question in QUESTIONS:
            for method in ("passages", "passages:signal=bm25", "passages:signal=dense", "auto"):
                expected = whole.retrieve(question, method=method, k=12)
                assert without_shard(shards.retrieve(question, method=method, k=12)) == without_shard(expected)
            one, several = whole.ask(question), shards.ask(question)
            assert (several.text, several.citations, several.confidence) == (one.text, one.citations, one.confidence)
            assert without_shard(several.hits) == without_shard(one.hits)


def test_each_shards_own_statistics_would_rank_otherwise(whole: KnowledgeBase) -> None:
    bases = split(5)
    alone = [hit.score for base in bases for hit in base.retrieve(QUESTIONS[0], method="passages:signal=bm25", k=50)]
    summed = [hit.score for hit in whole.retrieve(QUESTIONS[0], method="passages:signal=bm25", k=50)]
    assert sorted(alone) != sorted(summed)


def test_a_filter_keeps_to_its_documents_in_every_shard(whole: KnowledgeBase) -> None:
    where = {"title": ["lentil Hill", "rye Lake", "pea Coast"]}
    with Shards(split(3)) as shards:
        hits = shards.retrieve("Where is rye sown?", k=9, where=where)
        assert without_shard(hits) == without_shard(whole.retrieve("Where is rye sown?", k=9, where=where))
    assert {hit.attributes["title"] for hit in hits} == {*where["title"]}


def test_hits_and_answers_say_which_shard_they_are_from(monkeypatch: pytest.MonkeyPatch) -> None:
    bases = split(2)
    monkeypatch.setattr(sharded_bases, "_built", lambda base: "poly_rag" if base is bases[1] else "")
    with Shards(bases) as shards:
        (hit, *_) = shards.retrieve("Where is lentil sown at 21 kg?", method="passages")
        at = shards.places_of([hit.iri])[hit.iri]
        assert hit.attributes["shard"] == at
        own = bases[int(at.removeprefix("shard ")) - 1]
        assert hit.sources[0].document in {document.iri for document in own.documents()}
        answer = shards.ask("At how many kg is lentil sown in the River Zone?")
        assert answer.citations
        assert answer.explain[-1].startswith("from shard ")
        assert "[1]" in " ".join(answer.explain)
        assert answer.explain[0] == "not asked of shards: poly_rag"


def test_what_came_to_a_shard_meanwhile_is_found(whole: KnowledgeBase) -> None:
    bases = split(2)
    with Shards(bases) as shards:
        shards.retrieve("quinoa")
        bases[1].add_many([Document("Quinoa is sown in the Moon Zone.", "Quinoa", id="quinoa")])
        (hit, *_) = shards.retrieve("Where is quinoa sown?", k=1)
        assert hit.attributes["title"] == "Quinoa"
        bases[1].remove("quinoa")
        assert shards.retrieve("Where is quinoa sown?", k=1)[0].attributes["title"] != "Quinoa"


def test_a_document_in_two_shards_is_refused_since_it_would_count_twice() -> None:
    with (
        Shards([base(texts()[:5]), base(texts()[4:9])]) as shards,
        pytest.raises(InputError, match="1 texts are in two"),
    ):
        shards.retrieve("rye")


def test_other_methods_and_keeping_are_refused() -> None:
    with Shards(split(2)) as shards:
        with pytest.raises(InvalidSettings, match="auto or passages"):
            shards.retrieve("rye", method="og_rag")
        with pytest.raises(InputError, match="not kept"):
            shards.ask("rye", keep=True)


def test_bases_that_cannot_be_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no shards"):
        Shards([])
    first = base(texts()[:3])
    with pytest.raises(InputError, match="named twice"):
        Shards([tmp_path, tmp_path], partial=True)
    other = KnowledgeBase(settings=Settings(base_iri="urn:other:"), embedder=HashEmbedder())
    with pytest.raises(InputError, match="base IRI"):
        Shards([first, other])
    wider = KnowledgeBase(settings=Settings(), embedder=HashEmbedder(dimension=32))
    with pytest.raises(EmbeddingMismatch, match="Give both"):
        Shards([first, wider])
    with pytest.raises(InputError, match="no knowledge base"):
        Shards([tmp_path / "none"])


def test_a_shard_that_does_not_answer_is_an_error_or_is_named_by_every_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bases = split(3)
    gone = {document.iri for document in bases[1].documents()}
    real = OxigraphStore.select

    def failing(self: OxigraphStore, query: str) -> object:
        if self is bases[1].store:
            raise StorageFailed("the disk does not answer.")
        return real(self, query)

    with Shards(bases) as strict, Shards(bases, partial=True) as some:
        assert some.missing() == []
        monkeypatch.setattr(OxigraphStore, "select", failing)
        with pytest.raises(StorageFailed, match="does not answer"):
            strict.ask("Where is maize grown in the Lake Zone?")
        answer = some.ask("Where is maize grown in the Lake Zone?")
        assert answer.explain[0].startswith("partial: 2 of 3 shards answered")
        assert "the disk does not answer" in answer.explain[0]
        assert [*some.lost] == ["shard 2"]
        assert not gone & {span.document for hit in answer.hits for span in hit.sources}


def test_shards_that_differ_are_found_by_comparing_them(tmp_path: Path) -> None:
    bases = split(2)
    with Shards(bases) as shards:
        assert shards.differences() == {"differing": [], "not_asked": []}
        ontology = tmp_path / "farm.ttl"
        ontology.write_text("<urn:farm> a <http://www.w3.org/2002/07/owl#Ontology> .", encoding="utf-8")
        bases[0].load(ontology)
        (line,) = shards.differences()["differing"]
        assert line.startswith("ontologies differ: shard 1: <")
        assert line.endswith("shard 2: none")
        bases[1].load(ontology)
        assert shards.differences()["differing"] == []


def test_a_base_is_divided_by_the_hash_of_its_documents_and_asked_by_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "configured_embedder", lambda _: HashEmbedder())
    with KnowledgeBase(tmp_path / "whole", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.add_many(texts()[:8])
        expected, hits = {document.iri for document in kb.documents()}, without_shard(kb.retrieve(QUESTIONS[1], k=9))
    run = CliRunner().invoke
    done = run(app, ["shards", "split", str(tmp_path / "whole"), "--into", "2", "--to", str(tmp_path / "parts")])
    assert done.exit_code == 0, done.output
    folders = [str(tmp_path / "parts" / f"shard-{number}") for number in range(2)]
    with Shards(folders, embedder=HashEmbedder()) as shards:
        found = [{document.iri for document in base.documents()} for base in shards._bases.values()]
        assert (set().union(*found), sum(map(len, found))) == (expected, len(expected))
        assert all(shard_number(iri, 2) == number for number, part in enumerate(found) for iri in part)
        assert without_shard(shards.retrieve(QUESTIONS[1], k=9)) == hits
    asked = run(app, ["shards", "ask", QUESTIONS[0], *folders, "--format", "json"])
    assert (asked.exit_code, json.loads(asked.stdout)["lost"]) == (0, {})
    partial = run(app, ["shards", "retrieve", "rye", *folders, str(tmp_path / "gone"), "--format", "json"])
    assert (partial.exit_code, [*json.loads(partial.stdout)["lost"]]) == (5, [str(tmp_path / "gone")])
    assert run(app, ["shards", "check", *folders]).stdout.endswith("alike\n")
    again = run(app, ["shards", "split", str(tmp_path / "whole"), "--into", "2", "--to", str(tmp_path / "parts")])
    assert isinstance(again.exception, InputError)


def test_a_query_whose_rows_cannot_be_joined_is_refused_and_not_answered_in_part() -> None:
    bases = split(2)
    store = ShardedStore([Shard(str(number), one.store, one.spaces, None) for number, one in enumerate(bases)])
    for sparql in (queries.bind("documents/count"), "SELECT ?s { ?s ?p ?o }"):
        with pytest.raises(InputError, match="cannot be joined"):
            store.select(sparql)
    one = queries.bind("sire_rag/proposition_count", catalogue=store.names.catalogue)
    assert store.select(one).values() == [("0",)]


def test_a_field_is_refused_only_where_no_shard_has_it() -> None:
    parts = [base([Document("Rye.", "R", metadata={name: 1})]) for name in ("year", "week")]
    with Shards(parts) as shards:
        assert len(shards.retrieve("Rye?", where={"week": 1})) == 1
        with pytest.raises(UnknownName, match="'month'"):
            shards.retrieve("Rye?", where={"month": 1})
