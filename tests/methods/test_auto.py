"""The default method: evidence of all kinds in one pool, and exact answers before any evidence."""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgrag import KnowledgeBase
from kgrag.errors import NotBuilt
from kgrag.index.bm25 import LexicalIndex
from kgrag.llm.extractive import ExtractiveModel
from kgrag.methods.auto import name_graph
from kgrag.methods.auto.coverage import covering, terms_to_cover
from kgrag.methods.auto.method import Auto
from kgrag.methods.auto.name_graph import NameGraph
from kgrag.methods.auto.subjects import opening_name
from kgrag.model import Allowed, Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

FACTS = {"Hopkins": "Dolby", "Dolby": "Sharpe", "Sharpe": "Weber"}


def random_rows(seed: int) -> list[tuple[str, str, str]]:
    drawn = random.Random(seed)
    pairs = {(drawn.randrange(30), drawn.randrange(40)) for _ in range(120)}
    return [(f"urn:c:{chunk:02}", f"urn:d:{chunk // 2:02}", f"urn:n:{name:02}") for chunk, name in sorted(pairs)]


def graph_of(rows: list[tuple[str, str, str]]) -> NameGraph:
    return NameGraph.of(rows, [], [], propositions=len(rows))


def walked_by_matrix(
    rows: list[tuple[str, str, str]], seeds: dict[str, float], *, damping: float, closed: frozenset[str] = frozenset()
) -> dict[str, float]:
    """Return personalised PageRank by matrix multiplication; what a walk brings to closed chunks is lost."""
    nodes = sorted({node for chunk, _, name in rows for node in (chunk, name)})
    place = {node: number for number, node in enumerate(nodes)}
    steps = np.zeros((len(nodes), len(nodes)))
    for chunk, _, name in rows:
        steps[place[chunk], place[name]] = steps[place[name], place[chunk]] = 1
    steps /= np.maximum(steps.sum(axis=0), 1)
    steps[[place[node] for node in closed if node in place]] = 0
    start = np.array([seeds.get(node, 0.0) for node in nodes])
    start /= start.sum()
    reached = start
    for _ in range(60):
        reached = (1 - damping) * start + damping * steps @ reached
    found = {node: value for node, value in zip(nodes, reached, strict=True) if node.startswith("urn:c") and value > 0}
    highest = max(found.values())
    return {node: value / highest for node, value in found.items()}


# --- the walk over names ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_walk_is_personalised_pagerank(seed: int) -> None:
    rows = random_rows(seed)
    seeds = {"urn:n:03": 0.5, "urn:n:17": 0.2, "urn:c:04": 0.1, "urn:n:99": 7.0}
    known = {node: weight for node, weight in seeds.items() if any(node in row for row in rows)}
    expected = walked_by_matrix(rows, known, damping=0.5)
    found = dict(graph_of(rows).walk(seeds, damping=0.5, take=100))
    assert found == pytest.approx({node: expected.get(node, 0) for node in found}, abs=0.005)
    assert {node for node, share in expected.items() if share > 0.01} <= found.keys()


def test_a_walk_does_not_pass_through_chunks_that_a_filter_closes() -> None:
    rows = random_rows(7)
    open_chunks = frozenset(f"urn:c:{number:02}" for number in range(0, 30, 3))
    seeds = {"urn:n:03": 1.0, "urn:n:17": 1.0}
    closed = frozenset(chunk for chunk, _, _ in rows) - open_chunks
    found = dict(graph_of(rows).walk(seeds, damping=0.5, take=100, within=Allowed(frozenset(), open_chunks)))
    expected = walked_by_matrix(rows, seeds, damping=0.5, closed=closed)
    assert found.keys() <= open_chunks
    assert found == pytest.approx({node: expected.get(node, 0) for node in found}, abs=0.005)


def test_a_walk_from_nothing_that_is_known_comes_nowhere() -> None:
    assert graph_of(random_rows(1)).walk({"urn:n:99": 1.0}, damping=0.5, take=100) == []
    assert NameGraph.of([], [], [], propositions=0).walk({"urn:n:99": 1.0}, damping=0.5, take=100) == []


def test_a_name_of_very_many_chunks_is_not_walked_through_one_by_one() -> None:
    rows = [(f"urn:c:{number:07}", "urn:d", "urn:n:common") for number in range(300_000)]
    rows += [("urn:c:0000000", "urn:d", "urn:n:rare")]
    found = graph_of(rows).walk({"urn:n:rare": 1.0}, damping=0.5, take=100)
    assert [chunk for chunk, _ in found] == ["urn:c:0000000"]


def test_the_arrays_come_back_from_their_file(tmp_path: Path) -> None:
    rows = random_rows(3)
    chunk, _, name = rows[0]
    made = NameGraph.of(rows, [("urn:a:1", chunk)], [("urn:a:1", name)], propositions=9, revision=4)
    made.save(tmp_path / "names.npz")
    read = NameGraph.load(tmp_path / "names.npz")
    assert read is not None
    assert (read.revision, read.propositions) == (4, 9)
    assert read.walk({name: 1.0}, damping=0.5, take=100) == made.walk({name: 1.0}, damping=0.5, take=100) != []
    assert read.names_of({"urn:a:1": 2.0}) == {name: 2.0}
    (tmp_path / "names.npz").write_bytes(b"damaged")
    assert NameGraph.load(tmp_path / "names.npz") is None


# --- aggregates ------------------------------------------------------------------------------------------------------


def test_an_aggregate_counts_less_for_each_of_many_documents() -> None:
    rows = [(f"urn:c:{number}", f"urn:d:{number}", "urn:n") for number in range(5)]
    joined = [("urn:a:four", f"urn:c:{number}") for number in range(4)] + [("urn:a:one", "urn:c:4")]
    graph = NameGraph.of(rows, joined, [], propositions=10)
    spread = graph.spread({"urn:a:four": 1.0, "urn:a:one": 0.6, "urn:a:gone": 3.0})
    assert spread[0] == ("urn:c:4", 0.6)
    assert [score for _, score in spread[1:]] == [0.5] * 4


def test_only_aggregates_of_allowed_chunks_alone_are_left_by_a_filter() -> None:
    rows = [(f"urn:c:{number}", "urn:d", "urn:n") for number in range(3)]
    joined = [("urn:a:1", "urn:c:0"), ("urn:a:2", "urn:c:0"), ("urn:a:2", "urn:c:1")]
    graph = NameGraph.of(rows, joined, [], propositions=3)
    assert graph.joined_from(frozenset({"urn:c:0", "urn:c:2"})) == {"urn:a:1"}


# --- end to end ------------------------------------------------------------------------------------------------------


def filled(kb: KnowledgeBase) -> KnowledgeBase:
    pupils = [
        Document(f"{teacher} taught {pupil} for a year. {teacher} kept bees. The lessons took place in {teacher} Hall.")
        for teacher, pupil in FACTS.items()
    ]
    others = [Document(f"Nobody number {n} wrote a letter. Then nobody number {n} went home.") for n in range(40)]
    kb.add_many([*pupils, *others])
    return kb


def texts(kb: KnowledgeBase, question: str, k: int = 5, **options: object) -> list[str]:
    return [hit.text for hit in kb.retrieve(question, k=k, **options)]


def test_it_is_the_default_and_needs_nothing_but_text(kb: KnowledgeBase) -> None:
    with pytest.raises(NotBuilt, match="kgrag ingest"):
        kb.retrieve("Who?")
    filled(kb)
    assert texts(kb, "Whom did Dolby teach?")[0].startswith("Dolby taught Sharpe")
    assert kb.ask("Whom did Dolby teach?").method == "auto"


def test_names_lead_to_a_passage_that_shares_no_word_with_the_question(kb: KnowledgeBase) -> None:
    filled(kb).build("sire_rag")
    question = "Which bees did the pupil of Hopkins know?"
    by_name = {hit.text[:6]: dict(hit.attributes["found_by"]) for hit in kb.retrieve(question, k=4)}
    assert "names" in by_name["Dolby "]
    assert by_name["Dolby "]["names"] <= 2


def test_the_first_passage_is_the_best_by_itself_and_in_the_pool_together(kb: KnowledgeBase) -> None:
    filled(kb).build("sire_rag")
    auto = kb.method("auto")
    assert isinstance(auto, Auto)
    question = "Whom did Dolby teach in the lessons?"
    pool, rankings = auto._rankings(question, None)
    alone = dict(rankings["passages"])
    first = max(sorted({*pool, *alone}), key=lambda iri: pool.get(iri, 0.0) + alone.get(iri, 0.0))
    assert auto.retrieve(question, 1)[0].iri == first
    led_by = {iri: float(iri == min(alone)) for iri in alone}
    assert auto._best(question, 2, dict(pool), led_by, rankings)[0][0] == min(alone) != first
    by_names = {**rankings, "names": [(min(alone), 1.0)]}
    assert [iri for iri, _ in auto._best(question, 2, {first: 1.0}, {first: 1.0}, by_names)] == [first, min(alone)]


def test_what_came_or_went_since_the_build_is_found_or_gone_at_once(kb: KnowledgeBase) -> None:
    filled(kb).build("sire_rag")
    assert texts(kb, "Whom did Weber teach?")
    kb.add(Document("Weber taught Zabel for a year.", id="weber"))
    assert "Weber taught Zabel for a year." in texts(kb, "Whom did Weber teach?", k=2)
    kb.remove("weber")
    assert "Weber taught Zabel for a year." not in texts(kb, "Whom did Weber teach?", k=50)


def test_evidence_that_covers_the_rest_of_a_question_comes_before_more_of_the_same(kb: KnowledgeBase) -> None:
    valves = [Document(f"A valve was replaced by a fitter of workshop {n}.") for n in range(4)]
    pump = Document("The red pump is oiled in spring.")
    kb.add_many([*valves, pump, *(Document(f"Page {n}.") for n in range(30))])
    question = "When is the pump oiled, and which fitter of a workshop replaced a valve?"
    assert pump.text not in texts(kb, question, k=2, method="auto:cover=0")
    assert pump.text in texts(kb, question, k=2, method="auto:cover=2")


def covered(question: str, scores: dict[str, float], take: int) -> list[str]:
    """Return the texts that are taken of some with these scores, best first, beside thirty others in the index."""
    texts = [*scores, *(f"page {n}" for n in range(30))]
    index = LexicalIndex.build([f"urn:c:{n:02}" for n in range(len(texts))], texts)
    weights, has, _ = terms_to_cover(question, index, [f"urn:c:{n:02}" for n in range(len(scores))])
    taken = covering(np.array(list(scores.values())), weights, has, take=take, gain=1.0)
    return [texts[place] for place, _ in taken]


def test_a_passage_about_another_thing_is_not_raised_for_the_word_that_is_asked_of_this_one() -> None:
    about = {"Auron was drawn in Bath.": 1.0, "Auron was sold.": 0.9, "Auron was praised.": 0.8}
    others = {"The genre of Zorro is comedy.": 0.6, "A genre was printed.": 0.5, "Nothing.": 0.0}
    assert covered("What is the genre of Auron?", about | others, 3) == list(about)


def test_evidence_about_the_second_of_two_names_comes_before_more_about_the_first() -> None:
    first = {"Zorro rode to Bath and won a prize.": 1.0, "Zorro won a prize.": 0.9, "Zorro rode.": 0.8}
    second = {"Auron came later.": 0.6, "Nobody won a prize.": 0.1, "Nothing.": 0.0}
    assert covered("Who won a prize, Zorro or Auron?", first | second, 2)[1] == "Auron came later."


def test_without_a_name_all_words_but_those_that_ask_are_to_be_covered() -> None:
    scores = {"the red pump": 1.0, "a red pump is oiled": 0.9, "what did it": 0.85, "the valve": 0.8, "nothing": 0.0}
    assert covered("what did it to the red pump and the valve?", scores, 2) == ["the red pump", "the valve"]


def test_the_first_passage_is_the_most_relevant_though_a_less_relevant_one_has_more_of_the_words(
    kb: KnowledgeBase,
) -> None:
    mill = Document("The mill is red.")
    more = Document("By the red road to the river, red with clay, a pump was oiled in spring.")
    pump = Document("Old river, old pump: the pump was oiled, and oiled again in spring by the road.")
    kb.add_many([mill, more, pump, Document("Old oiled river."), *(Document(f"Page {n}.") for n in range(8))])
    question = "When is the red pump of the mill oiled?"
    assert [texts(kb, question, k=1, method=method) for method in ("passages", "auto")] == [[mill.text], [mill.text]]


def test_of_passages_that_are_nearly_as_good_the_one_about_what_is_named_comes_first(kb: KnowledgeBase) -> None:
    about = Document("Tony Kaye is a director. He has an award of the academy.")
    mention = Document("More awards than the director Tony Kaye has, the academy gave to Sam Mintz.")
    kb.add_many([about, mention, *(Document(f"Page {n}. Award {n}.") for n in range(8))])
    question = "Who has more awards of the academy, Joe Lee or Tony Kaye?"
    assert texts(kb, question, k=1, method="passages") == [mention.text]
    assert texts(kb, question, k=1, method="auto") == [about.text]
    assert texts(kb, question.lower(), k=1, method="auto") == [mention.text]


def test_among_no_documents_nothing_is_found(kb: KnowledgeBase) -> None:
    auto = filled(kb).method("auto")
    assert isinstance(auto, Auto)
    assert auto.retrieve_among("Whom did Dolby teach?", 3, Allowed(frozenset(), frozenset())) == []


@pytest.mark.parametrize(
    ("question", "text", "length"),
    [
        ("Who drove the McLaren MP4/11?", "The McLaren MP4/11 was a car.", 3),
        ("Who drove the McLaren MP4/11?", "The McLaren MP4/13 was a car.", 0),
        ("Who drove the McLaren MP4/11?", "A car was the McLaren MP4/11.", 0),
        ("Is Aladdin a film?", "Aladdin (2019) is a film.", 1),
        ("Is Aladdin a film?", "Aladdin - Jaanbaaz Ek Jalwe is a series.", 0),
        ("Are Joe Walsh and Ann Lee guitarists?", "Joe Walsh's Greatest Hits is an album.", 0),
        ("Are Joe Walsh and Ann Lee guitarists?", "Joe Walsh's guitar is red.", 0),
        ("Are Joe Walsh and Ann Lee guitarists?", "Joe Walsh, born in 1947, sings.", 2),
        ("Was it in the Süd zone?", "Süd zone: clay.", 2),
        ("When does the pump run?", "The pump runs.", 0),
        ("When does the pump run?", "Pump 7 runs.", 0),
        ("When was the 100 year flood?", "The 100 year flood was in spring.", 3),
        ("Did Old Red River Valley Mill win?", "Old Red River Valley Mill won.", 4),
        ("Is it?", "", 0),
        ("", "Tony Kaye directs.", 0),
    ],
)
def test_a_text_is_about_the_name_that_it_opens_with(question: str, text: str, length: int) -> None:
    assert opening_name(question, text) == length / 4


def test_names_cover_most_of_a_question_that_has_some_and_nothing_of_one_without() -> None:
    index = LexicalIndex.build(["urn:a", "urn:b"], ["Auron has a genre", "the genre"])
    iris = ["urn:b", "urn:a"]
    without, having = terms_to_cover("What is the genre of Auron?", index, iris).named()
    assert without == 0
    assert having > 0.8
    assert terms_to_cover("What is the genre?", index, iris).named().tolist() == [0, 0]
    assert terms_to_cover("Of Zorro?", index, iris).named().tolist() == [0, 0]


@dataclass(frozen=True)
class ReadsFacts:
    """A method that has read some chunks, and says that one of them is the one."""

    best: str
    read: Sequence[str]

    def chunk_ranking(self, question: str, depth: int, allowed: Allowed | None) -> list[tuple[str, float]]:
        return [(self.best, 1.0)]

    def knows_chunks(self, chunks: Sequence[str]) -> list[bool]:
        return [chunk in self.read for chunk in chunks]


def methods_of(kb: KnowledgeBase, facts: ReadsFacts) -> Callable[[str], Any]:
    """Return the methods of a knowledge base, with another in the place of og_rag."""
    return lambda name: facts if name == "og_rag" else kb.method(name)


def test_what_another_method_ranks_counts_and_what_it_has_not_read_is_ranked_no_lower(kb: KnowledgeBase) -> None:
    kb.add_many([Document("The pump is painted red."), Document("Oil keeps it going."), Document("A red red door.")])
    auto = kb.method("auto")
    assert isinstance(auto, Auto)
    before = {hit.text: hit for hit in auto.retrieve("Is the red pump oiled?", 3)}
    assert next(iter(before)) == "The pump is painted red."
    oil, paint = before["Oil keeps it going."].iri, before["The pump is painted red."].iri
    joined = replace(auto, method=methods_of(kb, ReadsFacts(oil, [oil, paint])))
    after = joined.retrieve("Is the red pump oiled?", 3)
    assert [hit.text for hit in after][:2] == ["Oil keeps it going.", "The pump is painted red."]
    assert after[0].attributes["found_by"]["og_rag"] == 1
    unread = replace(auto, method=methods_of(kb, ReadsFacts(oil, [oil])))
    assert unread.retrieve("Is the red pump oiled?", 3)[0].text == "The pump is painted red."
    assert [hit.text for hit in replace(joined, others=0).retrieve("Is the red pump oiled?", 3)] == list(before)


FILMS = """
@prefix : <urn:films#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<urn:films> a owl:Ontology .
:Film a owl:Class ; rdfs:label "film" . :Person a owl:Class ; rdfs:label "person" .
:director a owl:ObjectProperty ; rdfs:label "director" ; rdfs:domain :Film ; rdfs:range :Person .
"""
STATED = """
@prefix : <urn:films#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:big a :Film ; rdfs:label "Big Fish" ; :director :tim . :tim a :Person ; rdfs:label "Tim Burton" .
"""


def test_what_instances_state_is_answered_from_them_before_any_text(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name, content in (("films.ttl", FILMS), ("stated.ttl", STATED)):
        (tmp_path / name).write_text(content)
        kb.load(tmp_path / name)
    kb.add(Document("Big Fish is a film from Alabama, and Ann Lee wrote about its director."))
    answer = kb.ask("Who is the director of Big Fish?")
    assert (answer.sentences, answer.method) == (("The director of Big Fish is Tim Burton.",), "auto")
    assert "poly_rag answers it from stated facts" in answer.explain[0]
    assert kb.ask("Who wrote about the director of Big Fish?").citations[0].quote.endswith("wrote about its director.")


def test_what_rules_read_from_a_text_without_a_language_model_does_not_come_before_the_text(tmp_path: Path) -> None:
    (tmp_path / "films.ttl").write_text(FILMS)
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=ExtractiveModel()) as kb:
        kb.load(tmp_path / "films.ttl")
        kb.add(Document("Big Fish is a film. The director of Big Fish is Tim Burton."))
        (note,) = kb.build("poly_rag").notes
        assert "no language model is set" in note
        assert kb.build("poly_rag").notes == ()
        question = "Who is the director of Big Fish?"
        assert "ontology: answered" in kb.ask(question, method="poly_rag").explain
        answer = kb.ask(question)
        assert "Tim Burton" in answer.text
        assert not any("stated facts" in line for line in answer.explain)
        assert answer.explain[0].startswith(
            "poly_rag has facts that answer it, which were passed over: rules read them"
        )
        assert not any("passed over" in line for line in kb.ask("Who wrote about Big Fish?").explain)


def test_facts_of_no_document_are_no_answer_where_a_filter_is_set(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name, content in (("films.ttl", FILMS), ("stated.ttl", STATED)):
        (tmp_path / name).write_text(content)
        kb.load(tmp_path / name)
    kb.add(Document("A letter of Ann Lee.", id="letter", metadata={"tenant": "a"}))
    assert "Burton" not in kb.ask("Who is the director of Big Fish?", where={"tenant": "a"}).text


def test_a_graph_of_names_on_disk_is_compared_with_the_store(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path, settings=Settings(), embedder=HashEmbedder()) as kb:
        filled(kb).build("sire_rag")
        kb.retrieve("Whom did Dolby teach?")
        assert name_graph.faults(kb.store, tmp_path / "lexical") == []
        graph = name_graph.fresh(kb.store, tmp_path / "lexical")
        fewer = [("urn:c", "urn:d", "urn:n")]
        NameGraph.of(fewer, [], [], propositions=1, revision=graph.revision).save(
            tmp_path / "lexical" / "names.npz", lineage=""
        )
        (fault,) = name_graph.faults(kb.store, tmp_path / "lexical")
        assert "names.npz" in str(fault.path)


def test_the_graph_of_names_is_not_read_again_for_documents_that_came(kb: KnowledgeBase) -> None:
    filled(kb)
    kb.build("sire_rag")
    before = name_graph.fresh(kb.store, None, save=False)
    kb.add(Document("Nothing of this is known to anyone yet.", id="late"))
    after = name_graph.fresh(kb.store, None, save=False)
    assert after.revision > before.revision
    assert after.shared is before.shared
    kb.remove("late")
    assert name_graph.fresh(kb.store, None, save=False).shared is not before.shared


def test_scores_fall_from_hit_to_hit(kb: KnowledgeBase) -> None:
    filled(kb).build("sire_rag")
    for question in ("Whom did Dolby teach?", "Who kept bees in Hopkins Hall and wrote a letter?"):
        scores = [hit.score for hit in kb.retrieve(question, k=20)]
        assert all(before >= after for before, after in itertools.pairwise(scores))
