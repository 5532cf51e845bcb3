"""SiReRAG end to end: propositions, aggregates, two trees, one pool."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, prompting, queries, shacl
from kgrag.errors import InputError, InvalidSettings, NotBuilt, ServiceError, UnknownName
from kgrag.methods.sire_rag.aggregates import Proposition, aggregates
from kgrag.methods.sire_rag.method import SireRag
from kgrag.methods.sire_rag.propositions import ChunkInContext, facts_prompt
from kgrag.methods.sire_rag.summary_trees import SummaryNode
from kgrag.methods.sire_rag.tree_arrays import TreeArrays
from kgrag.methods.sire_rag.tree_drafts import chunk_tree_draft
from kgrag.model import Completion, Document
from kgrag.settings import Settings
from kgrag.store.lineage import lineage
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.text import ingestion
from kgrag.text.chunking import count_tokens
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, RDF, Names
from tests.conftest import DEMO

NAMES = Names()
LEE = "Ann Lee"


def fill(kb: KnowledgeBase, *texts: tuple[str, str], chunk_tokens: int = 180, first: int = 0) -> None:
    documents = [Document(text, title, id=str(number)) for number, (title, text) in enumerate(texts, first)]
    ingestion.ingest(documents, store=kb.store, chunk_tokens=chunk_tokens)


def singers(n: int = 40) -> list[tuple[str, str]]:
    towns = ("Bath", "York", "Leeds", "Hull")
    return [
        (f"Singer {n}", f"Singer {n} was born in {towns[n % 4]}. She sang with {LEE} in {1900 + n}.") for n in range(n)
    ]


def dump(kb: KnowledgeBase) -> list[str]:
    trees = [kb.store.names.tree_graph(tree) for tree in ("similarity", "relatedness")]
    return [line for tree in trees for line in sorted(str(triple) for triple in kb.store.triples(tree))]


def nodes(kb: KnowledgeBase, tree: str) -> list[ox.Triple]:
    return [triple for triple in kb.store.triples(kb.store.names.tree_graph(tree)) if triple.object == KG.TreeNode]


def proposition(name: str, text: str, *entities: str) -> Proposition:
    return Proposition(name, text, f"chunk of {name}", entities)


def joined(*propositions: Proposition, limit: int = 200) -> set[str]:
    return {one.text for one in aggregates(propositions, limit=limit, names=NAMES)}


# --- aggregates ------------------------------------------------------------------------------------------------------


def test_propositions_about_one_entity_are_joined_in_reading_order() -> None:
    first, second = proposition("p1", "A met B.", "a", "b"), proposition("p2", "A left.", "a")
    assert joined(first, second) == {"A met B. A left."}


def test_a_proposition_whose_entities_occur_once_is_an_aggregate_by_itself_and_only_one() -> None:
    assert joined(proposition("p1", "C met D.", "c", "d")) == {"C met D."}


def test_entities_with_the_same_propositions_share_an_aggregate() -> None:
    pair = [proposition("p1", "A met B.", "a", "b"), proposition("p2", "A left B.", "a", "b")]
    (found,) = aggregates(pair, limit=200, names=NAMES)
    assert found.entities == ("a", "b")


def test_an_entity_of_every_passage_gets_aggregates_within_the_limit() -> None:
    many = [proposition(f"p{n}", f"Fact {n} about A.", "a") for n in range(100)]
    found = aggregates(many, limit=50, names=NAMES)
    assert max(len(one.text.split()) for one in found) <= 50
    assert {iri for one in found for iri in one.propositions} == {one.iri for one in many}


def test_words_that_passages_repeat_stand_once_in_an_aggregate() -> None:
    assert joined(*(proposition(f"p{n}", "A sings.", "a") for n in range(5))) == {"A sings."}


@pytest.mark.parametrize("name", ["東京タワー", "Лев Толстой", "القاهرة", "İstanbul"])
def test_names_of_every_script_survive_and_case_and_width_do_not_matter(name: str) -> None:
    assert entity_key(f" {name} ") == entity_key(name.upper()) or entity_key(name) == entity_key(f"{name}  ")
    assert entity_key(name)


# --- building --------------------------------------------------------------------------------------------------------


def test_an_empty_knowledge_base_is_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(NotBuilt, match="kgrag ingest"):
        kb.build("sire_rag")


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_few_passages_are_found_without_any_summary(kb: KnowledgeBase, n: int) -> None:
    fill(kb, *singers(n))
    kb.build("sire_rag")
    assert len(nodes(kb, "similarity")) == n
    assert {hit.kind for hit in kb.retrieve("Who sang?", method="sire_rag", k=20)} <= {"passage", "aggregate"}


def test_both_trees_get_summaries_and_conform_to_their_shape(kb: KnowledgeBase) -> None:
    fill(kb, *singers())
    report = kb.build("sire_rag:cluster_tokens=120")
    assert (report.counts["extracted"], report.counts["trees_grown"]) == (40, 2)
    assert len(nodes(kb, "similarity")) > 40
    assert any(t.predicate == KG.hasChild for t in kb.store.triples(kb.store.names.tree_graph("relatedness")))
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []


def test_the_same_input_gives_the_same_trees_byte_for_byte() -> None:
    dumps = []
    for order in (1, -1):
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as opened:
            documents = [Document(text, title) for title, text in singers()][::order]
            ingestion.ingest(documents, store=opened.store, chunk_tokens=180)
            opened.build("sire_rag:cluster_tokens=120")
            dumps.append(dump(opened))
    assert dumps[0] == dumps[1]


def test_equal_texts_under_many_titles_make_a_pool(kb: KnowledgeBase) -> None:
    fill(kb, *((f"Copy {n}", f"{LEE} sings in Bath.") for n in range(30)))
    kb.build("sire_rag")
    assert len({hit.iri for hit in kb.retrieve("Who sings?", method="sire_rag:novelty=0", k=50)}) >= 30


def test_one_giant_document_makes_a_tree(kb: KnowledgeBase) -> None:
    fill(kb, ("Ann Lee", " ".join(f"{LEE} sang song {n} in Hall {n % 7}." for n in range(600))), chunk_tokens=60)
    kb.build("sire_rag:cluster_tokens=500")
    assert "summary" in {hit.kind for hit in kb.retrieve(f"{LEE} songs", method="sire_rag:tree=similarity", k=100)}


def test_text_without_case_and_without_titles_is_still_found(kb: KnowledgeBase) -> None:
    fill(kb, ("", "東京タワーは高い。"), ("", "القاهرة مدينة كبيرة."))
    kb.build("sire_rag")
    assert {hit.kind for hit in kb.retrieve("東京タワー", method="sire_rag", k=5)} == {"passage"}


def test_a_new_document_is_extracted_alone_and_joins_the_trees(kb: KnowledgeBase) -> None:
    fill(kb, *singers(5))
    kb.build("sire_rag")
    fill(kb, ("Bath", "Bath has a river."))
    report = kb.build("sire_rag")
    assert (report.counts["extracted"], report.counts["unchanged"], report.counts["trees_grown"]) == (1, 5, 2)
    assert any(hit.text == "Bath has a river." for hit in kb.retrieve("river of Bath", method="sire_rag", k=3))


def test_a_build_that_failed_half_way_goes_on_without_asking_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.methods.sire_rag.propositions._CHUNKS_PER_PUBLICATION", 4)
    asked = []

    def said(prompt):
        if prompt.name == "sire_rag/summary":
            return "Singers."
        if len(asked) == 4 and broken:
            raise ServiceError("gone")
        (paragraph,) = prompt.variables["paragraphs"]
        asked.append(paragraph["text"])
        return json.dumps({"facts": [{"paragraph": 1, "fact": paragraph["text"], "entities": ["X"]}]})

    broken = True
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=ScriptedModel(said)) as kb:
        fill(kb, *singers(9))
        with pytest.raises(ServiceError):
            kb.build("sire_rag")
        with pytest.raises(NotBuilt):
            kb.retrieve("Who?", method="sire_rag")
        broken = False
        assert kb.build("sire_rag").counts["unchanged"] == 4
        assert len(asked) == len(set(asked)) == 9


def test_a_reply_that_is_no_json_is_reported_and_asked_again_next_time() -> None:
    replies = {
        "sire_rag/facts": ["no idea", '{"facts": [{"paragraph": 1, "fact": "A sings.", "entities": ["A"]}]}'],
    }
    model = ScriptedModel(replies)
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("A", "A sings."))
        report = kb.build("sire_rag")
        assert (report.counts["extracted"], len(report.pending)) == (0, 1)
        assert kb.build("sire_rag").counts["extracted"] == 1


VOICES = "Ann Lee is a contralto.\n\nShe sang in Bath.\n\nHer brother wrote songs for her."


def test_chunks_of_a_document_are_asked_about_together_under_its_title_and_not_rewritten() -> None:
    def said(prompt):
        facts = [{"paragraph": 1, "fact": "Bo Ek danced.", "entities": ["Bo Ek"]}]
        if prompt.variables["title"] == "Ann Lee":
            facts = [{"paragraph": 2, "fact": "Ann Lee sang in Bath.", "entities": ["Ann Lee", "Bath"]}]
            facts += [{"paragraph": number, "fact": "", "entities": []} for number in (1, 3)]
        return json.dumps({"facts": [*facts, {"paragraph": 9, "fact": "Nobody sang.", "entities": []}]})

    model = ScriptedModel(said)
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("Ann Lee", VOICES), ("Bo Ek", "Bo Ek danced."), chunk_tokens=8)
        assert kb.build("sire_rag").counts["extracted"] == 4
        assert texts(kb) == {"Ann Lee sang in Bath.", "Bo Ek danced."}
    first, second = sorted(model.prompts, key=lambda prompt: -len(prompt.variables["paragraphs"]))
    assert [one["text"] for one in first.variables["paragraphs"]] == VOICES.split("\n\n")
    assert (first.variables["title"], second.variables["title"]) == ("Ann Lee", "Bo Ek")
    assert first.text[: first.text.index("===")] == second.text[: second.text.index("===")]


def test_a_cut_reply_about_several_chunks_is_asked_for_in_halves() -> None:
    def said(prompt):
        numbers = [one["number"] for one in prompt.variables["paragraphs"]]
        if len(numbers) > 1:
            return Completion('{"facts": [', finish="length")
        text = prompt.variables["paragraphs"][0]["text"]
        return json.dumps({"facts": [{"paragraph": 1, "fact": text, "entities": ["Ann Lee"]}]})

    model = ScriptedModel(said)
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("Ann Lee", VOICES), chunk_tokens=8)
        assert kb.build("sire_rag").pending == ()
        assert texts(kb) == set(VOICES.split("\n\n"))
    assert len(model.prompts) == 5


def test_a_paragraph_that_a_reply_about_several_lacks_is_asked_about_by_itself() -> None:
    alone = iter(["no idea", '{"facts": [{"paragraph": 1, "fact": "", "entities": []}]}'])

    def said(prompt):
        first = prompt.variables["paragraphs"][0]["text"]
        facts = [{"paragraph": 1, "fact": first, "entities": ["Ann Lee"]}]
        return json.dumps({"facts": facts}) if first.startswith("Ann Lee") else next(alone)

    model = ScriptedModel({"sire_rag/facts": said})
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("Voices", "Ann Lee sings.\n\nIn the end nobody heard it."), chunk_tokens=8)
        (lacking,) = kb.build("sire_rag").pending
        assert "no facts were taken" in lacking
        assert kb.build("sire_rag").pending == ()
        assert [len(prompt.variables["paragraphs"]) for prompt in model.prompts] == [2, 1, 1]
        assert texts(kb) == {"Ann Lee sings."}


def test_with_rewrite_each_chunk_is_rewritten_before_its_facts_are_asked_for() -> None:
    said = {"facts": [{"paragraph": 1, "fact": "Ann Lee sang in Bath.", "entities": ["Ann Lee"]}]}
    replies = {"sire_rag/rewrite": "Ann Lee sang in Bath.", "sire_rag/facts": json.dumps(said)}
    model = ScriptedModel(replies)
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("Ann Lee", "She sang in Bath."))
        kb.build("sire_rag:rewrite=true")
    assert [prompt.name for prompt in model.prompts] == ["sire_rag/rewrite", "sire_rag/facts"]
    assert model.prompts[1].variables["paragraphs"][0]["text"] == "Ann Lee sang in Bath."


def test_a_service_that_calls_its_model_by_a_version_leaves_nothing_for_a_doctor() -> None:
    said = {"facts": [{"paragraph": 1, "fact": "Ann Lee sang in Bath.", "entities": ["Ann Lee"]}]}
    model = ScriptedModel({"sire_rag/facts": Completion(json.dumps(said), said, model="scripted-2026-11")})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        kb.add_many([Document(text="Ann Lee sang in Bath.", id="a")])
        kb.build("sire_rag")
        assert [finding.message for finding in kb.doctor() if finding.fault] == []


def test_the_prompts_for_facts_have_at_most_five_tokens_for_each_token_of_a_text() -> None:
    nothing = [{"paragraph": number, "fact": "", "entities": []} for number in range(1, 20)]
    model = ScriptedModel({"sire_rag/facts": json.dumps({"facts": nothing})})
    text = (DEMO / "texts" / "barley.md").read_text()
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        fill(kb, ("Growing barley", text))
        kb.build("sire_rag")
    sent = sum(count_tokens(prompt.text) + count_tokens(json.dumps(prompt.schema)) for prompt in model.prompts)
    assert sent <= 5 * count_tokens(text)


# --- ready-made extraction -------------------------------------------------------------------------------------------


def extraction(path: Path, *lines: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def texts(kb: KnowledgeBase) -> set[str]:
    rows = kb.store.select(queries.bind("sire_rag/propositions", catalogue=kb.store.names.catalogue)).values()
    return {text for _, _, text, _ in rows}


def test_triples_are_read_as_sentences_and_the_model_is_not_asked(tmp_path: Path) -> None:
    lines = [{"idx": 0, "title": "x", "entities": ["Ann"], "triples": [["Ann", "was born in", "Bath"]]}]
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=ScriptedModel({})) as kb:
        fill(kb, ("T", "Ann of Bath."))
        kb.build("sire_rag", extraction=extraction(tmp_path / "x.jsonl", *lines))
        assert texts(kb) == {"Ann was born in Bath."}
        assert kb.build("sire_rag").counts["unchanged"] == 1


def test_propositions_mention_the_entities_that_they_name(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("T", "Ann of Bath."))
    line = {
        "title": "T",
        "entities": ["Ann", "Rome"],
        "propositions": ["ann sings.", {"text": "B.", "entities": ["B"]}],
    }
    kb.build("sire_rag", extraction=extraction(tmp_path / "x.jsonl", line))
    mentioned = queries.bind("sire_rag/aggregates", entity=kb.store.names.entity(entity_key("Ann")))
    assert [text for _, text in kb.store.select(mentioned).values()] == ["ann sings."]
    assert texts(kb) == {"ann sings.", "B."}


def test_a_gzipped_extraction_replaces_that_of_the_model_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("Bath", "Bath is old."))
    kb.build("sire_rag")
    path = tmp_path / "x.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"idx": "0", "entities": ["Bath"], "propositions": ["Bath is a town."]}\n'))
    assert kb.build("sire_rag", extraction=path).counts["extracted"] == 1
    assert texts(kb) == {"Bath is a town."}
    revision = kb.store.revision
    kb.build("sire_rag", extraction=path)
    assert kb.store.revision == revision


def test_lines_about_nothing_and_chunks_without_a_line_are_reported(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("A", "A sings."), ("B", "B sings."))
    line = {"idx": 0, "propositions": []}
    report = kb.build("sire_rag", extraction=extraction(tmp_path / "x.jsonl", line, {**line, "idx": 9}))
    assert [note[:6] for note in report.notes] == ["1 of 2", "1 chun"]


def test_triples_and_propositions_that_cannot_be_used_are_counted(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("A", "Ann sings. " * 40), chunk_tokens=40)
    line = {
        "title": "A",
        "triples": [["Ann", "sings"], ["Ann", "sings in", "Bath"]],
        "propositions": [{"text": "Rome is old.", "entities": ["Rome"]}, {"text": "No one.", "entities": []}],
    }
    report = kb.build("sire_rag", extraction=extraction(tmp_path / "x.jsonl", line))
    assert [note.split(" of ")[0] for note in report.notes] == ["1 triples", "2 propositions"]
    assert texts(kb) == {"Ann sings in Bath."}


def test_a_number_may_be_the_name_of_an_entity(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("A", "1984 is a book."))
    line = {"idx": 0, "propositions": [{"text": "1984 is a book.", "entities": [1984]}]}
    kb.build("sire_rag", extraction=extraction(tmp_path / "x.jsonl", line))
    assert texts(kb) == {"1984 is a book."}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"idx": 1}',
        '{"idx": 0, "propositions": [5]}',
        '{"idx": 0, "propositions": "A sings."}',
        '{"idx": 0, "triples": 5}',
        '{"idx": 0, "entities": "Ann", "propositions": ["Ann sings."]}',
        '{"idx": 0, "propositions": [{"text": "A sings.", "entities": "Ann"}]}',
    ],
)
def test_a_file_that_is_no_extraction_is_refused(kb: KnowledgeBase, tmp_path: Path, text: str) -> None:
    fill(kb, ("A", "A sings."))
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="x.jsonl"):
        kb.build("sire_rag", extraction=tmp_path / "x.jsonl")


def test_a_file_that_is_not_there_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    fill(kb, ("A", "A sings."))
    with pytest.raises(InputError, match="cannot be read"):
        kb.build("sire_rag", extraction=tmp_path / "none.jsonl")


# --- retrieving ------------------------------------------------------------------------------------------------------


@pytest.fixture
def built(kb: KnowledgeBase) -> KnowledgeBase:
    fill(kb, *singers())
    kb.build("sire_rag:cluster_tokens=120")
    return kb


@pytest.mark.parametrize(
    ("tree", "kinds"), [("similarity", {"passage", "summary"}), ("relatedness", {"aggregate", "summary"})]
)
def test_a_tree_can_be_searched_alone(built: KnowledgeBase, tree: str, kinds: set[str]) -> None:
    hits = built.retrieve("Who was born in Bath?", method=f"sire_rag:tree={tree}", k=500)
    assert {hit.kind for hit in hits} == kinds
    assert {hit.attributes["tree"] for hit in hits} == {tree}


@pytest.mark.parametrize("signal", ["dense", "bm25", "fusion"])
def test_every_signal_finds_what_is_said_about_an_entity(built: KnowledgeBase, signal: str) -> None:
    hits = built.retrieve("Singer 7 born", method=f"sire_rag:signal={signal}", k=5)
    assert any("Singer 7 was born" in hit.text for hit in hits)


def test_a_hit_cites_the_chunks_nearest_to_the_question_and_no_more_than_asked(built: KnowledgeBase) -> None:
    hits = built.retrieve("Singer 7 born in Hull", method="sire_rag:spans=2,tree=similarity", k=200)
    assert max(len(hit.sources) for hit in hits) == 2
    assert all(hit.sources for hit in hits)


@pytest.mark.parametrize(
    "spec",
    [
        "tree=left",
        "signal=sparse",
        "spans=0",
        "levels=0",
        "weight=2",
        "novelty=-1",
        "ablation=F",
        "aggregate_tokens=0",
    ],
)
def test_a_value_outside_its_range_is_refused(kb: KnowledgeBase, spec: str) -> None:
    with pytest.raises(InvalidSettings, match="sire_rag"):
        kb.method(f"sire_rag:{spec}")


def test_an_entry_that_repeats_better_ones_is_left_out(kb: KnowledgeBase) -> None:
    fill(kb, *((f"Copy {n}", f"{LEE} sings in Bath.") for n in range(30)))
    kb.build("sire_rag")
    every = kb.retrieve("Who sings in Bath?", method="sire_rag:propositions=0,novelty=0", k=50)
    telling = kb.retrieve("Who sings in Bath?", method="sire_rag:propositions=0", k=50)
    assert len(telling) < len(every)
    assert {hit.iri for hit in telling} < {hit.iri for hit in every}
    assert telling[0] == every[0]


@pytest.mark.parametrize("signal", ["dense", "fusion"])
@pytest.mark.parametrize(
    ("ablation", "kinds"),
    [
        ("A", {"passage", "summary", "aggregate"}),
        ("B", {"passage", "summary", "aggregate", "proposition"}),
        ("C", {"passage", "summary", "proposition"}),
        ("D", {"passage", "summary", "proposition"}),
        ("E", {"passage", "summary"}),
    ],
)
def test_an_ablation_searches_the_entries_that_the_paper_leaves_it(
    built: KnowledgeBase, ablation: str, kinds: set[str], signal: str
) -> None:
    spec = f"sire_rag:ablation={ablation},signal={signal},novelty=0,cluster_tokens=120"
    built.build(spec)
    hits = built.retrieve("Who was born in Bath and sang with Ann Lee?", method=spec, k=500)
    assert {hit.kind for hit in hits} == kinds
    trees = {hit.attributes.get("tree") for hit in hits if hit.kind == "summary"}
    assert trees <= ({"dual", "similarity"} if ablation == "E" else {"similarity", "relatedness"})
    assert ("relatedness" in trees) == (ablation in "BC")
    assert all(hit.sources for hit in hits)


def test_the_ablation_with_a_tree_of_its_own_wants_it_built(built: KnowledgeBase) -> None:
    with pytest.raises(NotBuilt, match="build sire_rag:ablation=E"):
        built.retrieve("Who?", method="sire_rag:ablation=E")


# --- following changes -----------------------------------------------------------------------------------------------


def test_a_document_more_changes_few_summaries_and_growing_whole_gives_the_same_tree_as_at_once() -> None:
    dumps = []
    for parts in (((0, 60), (60, 61)), ((0, 61),)):
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as opened:
            for first, last in parts:
                fill(opened, *singers(61)[first:last], first=first)
                report = opened.build("sire_rag:cluster_tokens=120")
            if len(parts) > 1:
                assert 0 < report.counts["summaries_new"] < report.counts["summaries_kept"]
                opened.build("sire_rag:cluster_tokens=120", regrow=True)
            dumps.append(dump(opened))
    assert dumps[0] == dumps[1]


def test_other_settings_grow_the_trees_whole(built: KnowledgeBase) -> None:
    report = built.build("sire_rag:cluster_tokens=60")
    assert (report.counts["trees_grown"], report.counts["summaries_kept"]) == (2, 0)


def test_many_new_leaves_grow_a_tree_whole(built: KnowledgeBase) -> None:
    fill(built, *singers(80))
    assert built.build("sire_rag:cluster_tokens=120").counts["summaries_kept"] == 0


def test_after_a_change_every_leaf_of_before_still_stands_where_it_stood(built: KnowledgeBase) -> None:
    def parents() -> dict[str, int]:
        query = "SELECT ?c (COUNT(?n) AS ?k) WHERE { GRAPH ?g { ?n kg:hasChild ?c . ?c kg:level 0 } } GROUP BY ?c"
        return {child: int(count) for child, count in built.query(query).values() if ":chunk/" in child}

    before = parents()
    fill(built, ("Bath", f"{LEE} was born in Bath."))
    built.build("sire_rag:cluster_tokens=120")
    assert {child: count for child, count in parents().items() if child in before} == before


# --- walking down ----------------------------------------------------------------------------------------------------


def test_a_walk_towards_a_question_shows_the_nearest_children_first(built: KnowledgeBase) -> None:
    walker: Any = built.method("sire_rag:cluster_tokens=120")
    view = walker.traverse("Singer 7 was born in Hull", width=2)
    node = view.roots[0]
    while node.children:
        assert len(node.children) <= 2
        assert [child.score for child in node.children] == sorted((c.score for c in node.children), reverse=True)
        node = node.children[0]
    assert node.kind == "passage"


def test_a_walk_without_a_question_shows_no_scores_and_counts_what_it_hides(built: KnowledgeBase) -> None:
    walker: Any = built.method("sire_rag:tree=relatedness")
    view = walker.traverse(width=1)
    rows = built.store.select(queries.bind("sire_rag/roots", tree=built.store.names.tree_graph("relatedness")))
    assert len(view.roots) + view.hidden == len(rows)
    assert view.roots[0].score is None


def test_a_walk_may_begin_at_any_node(built: KnowledgeBase) -> None:
    walker: Any = built.method("sire_rag")
    below = next(root for root in walker.traverse(width=50).roots if root.children)
    assert walker.traverse(node=below.iri, width=50).roots[0].children == below.children


def test_a_node_is_shown_with_its_own_score_and_tree_whichever_tree_was_asked_for(built: KnowledgeBase) -> None:
    related: Any = built.method("sire_rag:tree=relatedness")
    similar: Any = built.method("sire_rag")
    summary = next(root for root in related.traverse("Singer 7", width=50).roots if root.kind == "summary")
    while summary.children[0].kind == "summary":
        (summary,) = related.traverse("Singer 7", node=summary.children[0].iri, width=50).roots
    aggregate = summary.children[0]
    passage = aggregate.children[0]
    for node in (summary, aggregate, passage):
        views = [walker.traverse("Singer 7", node=node.iri, width=50) for walker in (related, similar)]
        assert [view.roots[0].score for view in views] == pytest.approx([node.score] * 2)
        expected = ["relatedness tree"] * 2 if node is not passage else ["relatedness tree", "similarity tree"]
        assert [view.title for view in views] == expected


def test_a_proposition_is_no_node_of_a_tree(built: KnowledgeBase) -> None:
    walker: Any = built.method("sire_rag")
    rows = built.store.select(queries.bind("sire_rag/propositions", catalogue=built.store.names.catalogue)).values()
    with pytest.raises(UnknownName, match="kgrag tree"):
        walker.traverse(node=rows[0][1])


def test_a_node_that_is_not_there_is_refused(built: KnowledgeBase) -> None:
    walker: Any = built.method("sire_rag")
    for name in ("urn:kgrag:tree-node/none", "no iri"):
        with pytest.raises(UnknownName, match="kgrag tree"):
            walker.traverse(node=name)


# --- stored queries --------------------------------------------------------------------------------------------------


def test_the_way_up_from_a_chunk_leads_to_nodes_that_have_it_as_a_leaf(built: KnowledgeBase) -> None:
    chunk = next(t.subject for t in nodes(built, "similarity") if ":chunk/" in t.subject.value)
    above = built.store.select(queries.bind("sire_rag/path_to_root", node=chunk)).values()
    assert [int(level) for _, _, level, _ in above] == sorted(int(level) for _, _, level, _ in above)
    query = queries.bind("sire_rag/leaves", nodes=[ox.NamedNode(node) for _, node, _, _ in above])
    assert {node for node, leaf in built.store.select(query).values() if leaf == chunk.value} == {
        row[1] for row in above
    }


def test_the_nodes_that_mention_an_entity_are_chunks_and_aggregates(built: KnowledgeBase) -> None:
    entity = built.store.names.entity(entity_key(LEE))
    query = queries.bind("sire_rag/mentioning", catalogue=built.store.names.catalogue, entity=entity)
    found = [node for node, _ in built.store.select(query).values()]
    assert sum(":chunk/" in node for node in found) == 40
    assert any(":tree-node/" in node for node in found)
    about = built.store.select(queries.bind("sire_rag/aggregates", entity=entity)).values()
    assert about and {node for node, _ in about} <= set(found)


def test_every_text_in_a_tree_leads_back_to_a_chunk(built: KnowledgeBase) -> None:
    every = [triple.subject for tree in ("similarity", "relatedness") for triple in nodes(built, tree)]
    rows = built.store.select(queries.bind("sire_rag/leaves", nodes=every)).values()
    assert {node for node, _ in rows} == {node.value for node in every}
    assert {
        triple.object
        for triple in built.store.triples(built.store.names.tree_graph("similarity"))
        if triple.predicate == RDF.type
    } == {KG.TreeNode}


# --- graphs and prompts ----------------------------------------------------------------------------------------------


def test_a_summary_above_nothing_goes_to_quarantine(kb: KnowledgeBase) -> None:
    loose = SummaryNode("urn:kgrag:tree-node/loose", "Said by nobody.", 1, ())
    publication = kb.store.publish([chunk_tree_draft([], [loose], names=kb.store.names)])
    assert [violation.focus for violation in publication.violations] == [loose.iri]


def test_a_question_of_a_removed_document_finds_nothing_of_it_once_built_again(built: KnowledgeBase) -> None:
    gone = next(graph for graph in sorted(built._store.graphs()) if ":graph/document/" in graph)
    chunks = {t.subject.value for t in built.store.triples(ox.NamedNode(gone)) if t.object == KG.Chunk}
    built._store.remove([ox.NamedNode(gone)])
    spans = [span for hit in built.retrieve(LEE, method="sire_rag", k=500) for span in hit.sources]
    assert not chunks & {span.chunk for span in spans}
    built.build("sire_rag:cluster_tokens=120")
    assert len(built.retrieve(LEE, method="sire_rag", k=500)) > 39
    assert not chunks & {t.subject.value for t in nodes(built, "similarity")}


def test_prompts_are_rendered_as_they_were_reviewed(golden) -> None:
    prompts = [
        prompting.render("sire_rag/rewrite", title="Ann Lee", before="Ann Lee sings.", text="She was born in Bath."),
        facts_prompt([ChunkInContext("urn:c", "She was born in Bath.", "Ann Lee", "", "Ann Lee sings.")]),
        prompting.render("sire_rag/summary", texts=["Ann Lee was born in Bath.", "Bath is a town."]),
    ]
    for prompt in prompts:
        golden(f"{prompt.name.replace('/', '_')}.txt", prompt.text + "\n")


def test_an_entry_of_many_documents_comes_behind_the_passage_that_answers(built: KnowledgeBase) -> None:
    question = f"With whom did Singer 7 sing, with {LEE}?"
    scores = {
        divided: {hit.iri: hit for hit in built.retrieve(question, method=f"sire_rag:per_document={divided}", k=200)}
        for divided in ("true", "false")
    }
    names = ("below", "documents", "levels")
    below, documents, levels = (
        built.store.select(queries.bind(f"sire_rag/all_{name}", catalogue=built.store.names.catalogue)).values()
        for name in names
    )
    level_of = {node: int(level) for _, node, level in levels}

    def counted(iri: str) -> int:
        leaves, reached = {iri}, set[str]()
        while leaves:
            reached |= leaves
            leaves = {child for node, child in below if node in leaves}
        count = len({document for chunk, document in documents if chunk in reached})
        return min(count, 3) if level_of[iri] else count

    assert {level_of[iri] for iri in scores["false"] if counted(iri) > 1} >= {0, 1}
    for iri in scores["true"].keys() & scores["false"].keys():
        if scores["true"][iri].score:
            assert scores["false"][iri].score / scores["true"][iri].score == pytest.approx(counted(iri) ** 0.5)
    assert built.retrieve(question, method="sire_rag", k=1)[0].kind == "passage"


def test_only_texts_and_places_are_queried_for_a_question(built: KnowledgeBase, monkeypatch) -> None:
    method = built.method("sire_rag")
    method.retrieve("Where was Singer 7 born?", 10)
    asked: list[str] = []
    select = OxigraphStore.select
    monkeypatch.setattr(OxigraphStore, "select", lambda store, query: asked.append(query) or select(store, query))
    assert "aggregate" in {hit.kind for hit in method.retrieve("Who sang in Bath?", 10)}
    assert len(asked) == 2


def test_the_file_of_the_trees_is_checked(built: KnowledgeBase, tmp_path: Path) -> None:
    method = built.method("sire_rag")
    assert isinstance(method, SireRag)
    method = replace(method, lexical=tmp_path)
    assert method.retrieve("Who sang in Bath?", 1)
    assert method.file_faults() == []
    path = tmp_path / "trees.npz"
    stored = TreeArrays.load(path)
    assert stored is not None
    replace(stored, documents=stored.documents + 1).save(path, lineage=lineage(built.store, stored.revision))
    assert [fault.path for fault in method.file_faults()] == [path]
    path.write_bytes(path.read_bytes()[:-9])
    assert TreeArrays.load(path) is None


def test_an_answer_quotes_the_chunk_behind_an_aggregate(built: KnowledgeBase) -> None:
    answer = built.ask("Where was Singer 7 born?", method="sire_rag:tree=relatedness", k=3)
    assert [citation.quote for citation in answer.citations] == ["Singer 7 was born in Hull."]


@pytest.mark.parametrize(("sentences", "joined"), [(1, False), (3, True)])
def test_aggregates_are_searched_where_chunks_state_several_things(
    kb: KnowledgeBase, sentences: int, joined: bool
) -> None:
    verbs = ("sings", "dances", "swims")[:sentences]
    kb.add_many([Document(" ".join(f"Ann Lee {verb} in Bath {n}." for verb in verbs)) for n in range(8)])
    kb.build("sire_rag")

    def kinds(method: str) -> set[str]:
        return {hit.kind for hit in kb.retrieve("Who is Ann Lee in Bath?", method=method, k=20)}

    assert ("aggregate" in kinds("sire_rag")) is joined
    assert "aggregate" in kinds("sire_rag:propositions=0")
    assert "aggregate" in kinds("sire_rag:signal=dense,novelty=0")
