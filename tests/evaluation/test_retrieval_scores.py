import pytest

from kgrag.evaluation.datasets import Question
from kgrag.evaluation.retrieval_scores import Retrieved, pairs_held, score
from kgrag.model import Answer, Hit


def _passage(text, title=""):
    return Hit("urn:p", "passage", text, 1.0, attributes={"title": title} if title else {})


def _edge(**attributes):
    return Hit("urn:e", "hyperedge", "", 1.0, attributes=attributes)


def test_documents_are_scored_at_every_cutoff():
    question = Question("q", "?", relevant=frozenset({"b", "d"}))
    values = score(question, Retrieved([], ["a", "b", "c", "d"]), 4)
    assert (values["hit@1"], values["hit@2"], values["recall@3"], values["recall@4"]) == (0.0, 1.0, 0.5, 1.0)
    assert (values["all@4"], values["mrr"]) == (1.0, 0.5)


def test_a_metric_without_gold_is_left_out():
    values = score(Question("q", "?", answers=("Rye",)), Retrieved([_passage("Rye grows.")], ["a"]), 5)
    assert values == {"context words": 2.0, "answer in context@5": 1.0}


def test_yes_and_no_are_not_looked_for_in_a_context():
    values = score(Question("q", "?", answers=("yes",)), Retrieved([_passage("Yes.")], []), 5)
    assert "answer in context@5" not in values


def test_an_answer_may_stand_in_the_title_but_not_below_k():
    question = Question("q", "?", answers=("Rye",))
    assert score(question, Retrieved([_passage("It grows.", "Rye")], []), 1)["answer in context@1"] == 1.0
    assert score(question, Retrieved([_passage("It."), _passage("Rye.")], []), 1)["answer in context@1"] == 0.0


@pytest.mark.parametrize(
    ("hit", "held"),
    [
        (_edge(zone="North", crop="Rye"), {("zone", "North")}),
        (_edge(zone=["South", "North"]), {("zone", "North")}),
        (_edge(other="North"), set()),
        (_passage("crop: Rye; zone: North"), {("zone", "North")}),
        (_passage("crop: Rye; zone: North East"), set()),
        (_passage("Crop has_zones Zone zone: North; crop: Rye"), {("zone", "North")}),
        (_edge(**{"Crop has_zones Zone zone": "North"}), {("zone", "North")}),
        (_passage("subzone: North; crop: Rye"), set()),
        (_edge(subzone="North"), set()),
        (_passage("zone:\n North"), {("zone", "North")}),
    ],
)
def test_a_hit_holds_a_pair_as_attribute_or_as_words(hit, held):
    assert pairs_held(hit, frozenset({("zone", "North")})) == held


def test_a_pair_without_key_is_held_under_any_key():
    pair = frozenset({("", "North")})
    assert pairs_held(_edge(zone="North"), pair) == pairs_held(_passage("a: b; zone: North"), pair) == pair
    assert pairs_held(_passage("zone: Far North"), pair) == frozenset()


def test_an_answer_that_is_a_sentence_is_not_looked_for_in_a_context():
    sentence = "It is sown in the autumn when the rain has come and the soil is warm."
    assert "answer in context@5" not in score(Question("q", "?", answers=(sentence,)), Retrieved([], []), 5)


def test_a_gold_fact_is_hit_by_a_hit_that_holds_all_of_it():
    fact = frozenset({("crop", "Rye"), ("zone", "North")})
    question = Question("q", "?", gold_facts=(fact,))
    hits = [_edge(crop="Rye"), _edge(crop="Rye", zone="North", depth="5 cm")]
    values = score(question, Retrieved(hits, []), 5)
    assert (values["gold fact hit@1"], values["gold fact hit@2"]) == (0.0, 1.0)


def test_answer_nodes_are_counted_over_all_hits_together():
    question = Question("q", "?", answer_nodes=frozenset({("a", "1"), ("b", "2"), ("c", "3")}))
    values = score(question, Retrieved([_edge(a="1"), _passage("b: 2; a: 1")], []), 5)
    assert values["answer-node recall@1"] == pytest.approx(1 / 3)
    assert values["answer-node recall@5"] == pytest.approx(2 / 3)


def test_an_unknown_answer_is_no_match():
    question = Question("q", "?", answers=("unknown",))
    answer = Answer("?", "unknown", "m", unknown=True)
    values = score(question, Retrieved([], [], answer), 5)
    assert (values["answered"], values["exact match"], values["token F1"]) == (0.0, 0.0, 0.0)
