"""Evidence by a budget of tokens: what fits, where it ends, and that every way of asking keeps to it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.answering.evidence_budget import hit_tokens, within_budget
from kgrag.errors import InputError
from kgrag.model import Document, Hit


def hit(iri: str, words: int, score: float, title: str = "") -> Hit:
    return Hit(iri, "passage", " ".join(["word"] * words), score, attributes={"title": title} if title else {})


def chosen(hits: list[Hit], tokens: int, **options: float) -> list[str]:
    return [each.iri for each in within_budget(hits, tokens, **options)]


def test_a_hit_that_does_not_fit_is_passed_over_and_a_shorter_one_behind_it_is_not() -> None:
    assert chosen([hit("a", 5, 1.0), hit("b", 9, 0.9), hit("c", 4, 0.8)], 10) == ["a", "c"]


def test_the_evidence_ends_where_a_hit_is_worth_little_beside_the_best() -> None:
    hits = [hit("a", 1, 1.0), hit("b", 1, 0.31), hit("c", 1, 0.29), hit("d", 1, 0.9)]
    assert chosen(hits, 10) == ["a", "b"]
    assert chosen(hits, 10, least=0) == ["a", "b", "c", "d"]


def test_the_first_is_returned_whatever_its_length_and_titles_count() -> None:
    assert chosen([hit("a", 50, 1.0), hit("b", 1, 0.9)], 10) == ["a"]
    assert hit_tokens(hit("a", 2, 1.0, title="Three words here")) == 5


def test_no_budget_is_refused() -> None:
    with pytest.raises(InputError, match="no room"):
        within_budget([], 0)


@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0.01, 1)), max_size=12), st.integers(1, 80))
def test_no_more_than_the_budget_but_for_a_first_that_is_longer(sizes: list[tuple[int, float]], tokens: int) -> None:
    ordered = sorted(sizes, key=lambda size: -size[1])
    taken = within_budget([hit(str(n), words, score) for n, (words, score) in enumerate(ordered)], tokens)
    assert sum(map(hit_tokens, taken)) <= max(tokens, ordered[0][0] if ordered else 0)


@pytest.fixture
def told(kb: KnowledgeBase) -> KnowledgeBase:
    kb.add_many([Document(f"Rye of field {n} is sown in week {n} by hand.") for n in range(30)])
    kb.build("passages")
    return kb


@pytest.mark.parametrize("method", ["auto", "passages"])
def test_more_hits_than_k_come_where_they_fit_and_fewer_where_they_do_not(told: KnowledgeBase, method: str) -> None:
    def found(tokens: int) -> int:
        hits = told.retrieve("Which rye is sown by hand?", method=method, evidence_tokens=tokens)
        assert sum(map(hit_tokens, hits)) <= tokens
        return len(hits)

    assert found(25) == 2
    assert found(200) > 5


def test_an_answer_is_written_from_what_fits(told: KnowledgeBase) -> None:
    answer = told.ask("When is rye of field 7 sown?", evidence_tokens=25)
    assert len(answer.hits) <= 2
    assert "week 7" in answer.text
    with pytest.raises(InputError, match="no room"):
        told.ask("When is rye sown?", evidence_tokens=0)
