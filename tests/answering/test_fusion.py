import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.answering.fusion import ranked, reciprocal_rank, score_fusion

names = st.text(alphabet="abcdefgh", min_size=1, max_size=2)
scores = st.floats(min_value=-5, max_value=50, allow_nan=False)
rankings = st.lists(st.dictionaries(names, scores, max_size=8).map(ranked), max_size=4)


def test_rank_fusion_prefers_what_both_lists_hold():
    fused = reciprocal_rank([[("a", 3.0), ("b", 2.0)], [("b", 0.9), ("c", 0.8)]])
    assert [iri for iri, _ in fused] == ["b", "a", "c"]
    assert fused[0][1] == pytest.approx(1 / 62 + 1 / 61)


def test_rank_fusion_reads_only_the_order():
    near = reciprocal_rank([[("a", 1.0), ("b", 0.999)]])
    far = reciprocal_rank([[("a", 1000.0), ("b", 0.0)]])
    assert near == far


def test_score_fusion_keeps_how_far_ahead_the_first_is():
    fused = score_fusion([[("a", 10.0), ("b", 2.0), ("c", 0.0)], [("b", 0.6), ("a", 0.5), ("c", 0.1)]])
    assert [iri for iri, _ in fused] == ["a", "b", "c"]
    assert dict(fused)["b"] == pytest.approx(0.2 + 1.0)


def test_ties_go_to_the_iri_that_sorts_first():
    assert ranked({"b": 1.0, "c": 1.0, "a": 1.0}, 2) == [("a", 1.0), ("b", 1.0)]
    assert [iri for iri, _ in score_fusion([[("z", 2.0)], [("y", 7.0)]])] == ["y", "z"]


def test_a_weight_of_zero_silences_a_list():
    lists = [[("a", 2.0), ("b", 1.0)], [("b", 2.0), ("a", 1.0)]]
    assert score_fusion(lists, weights=[1, 0])[0][0] == "a"
    assert reciprocal_rank(lists, weights=[0, 1])[0][0] == "b"


def test_weights_that_do_not_match_the_lists_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        score_fusion([[("a", 1.0)], [("b", 1.0)]], weights=[1.0])


def test_no_lists_give_nothing():
    assert reciprocal_rank([]) == []
    assert score_fusion([[], []]) == []


@given(rankings)
def test_every_fusion_holds_each_iri_once_best_first(lists):
    wanted = {iri for ranking in lists for iri, _ in ranking}
    for fused in (reciprocal_rank(lists), score_fusion(lists)):
        assert {iri for iri, _ in fused} == wanted
        assert len(fused) == len(wanted)
        assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(rankings)
def test_the_order_of_the_lists_does_not_matter(lists):
    forward, backward = dict(score_fusion(lists)), dict(score_fusion(lists[::-1]))
    assert forward == pytest.approx(backward)
