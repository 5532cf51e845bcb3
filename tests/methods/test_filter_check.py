"""The check of filters that ships for methods finds methods that leak."""

from typing import Any

import pytest

from kgrag import plugins
from kgrag.methods.sire_rag import method as sire_rag_method
from kgrag.testing import MethodCheck, method_checks


def check_of(name: str) -> MethodCheck:
    (check,) = (check for check in method_checks(name) if str(check) == "a_filter_limits_all_evidence")
    return check


def everything(self: Any, question: str, k: int, _allowed: Any) -> Any:
    return self.retrieve(question, k)


@pytest.mark.parametrize("name", ["passages", "cg_rag", "og_rag", "poly_rag", "sire_rag"])
def test_a_method_that_forgets_the_filter_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins.implementation(name), "retrieve_among", everything)
    with pytest.raises(AssertionError, match="is found, and comes from|words of a document"):
        check_of(name)()


@pytest.mark.parametrize("name", ["cg_rag", "poly_rag"])
def test_a_method_whose_own_answer_forgets_the_filter_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(self: Any, question: str, k: int, _allowed: Any) -> Any:
        return self.answer(question, k)

    monkeypatch.setattr(plugins.implementation(name), "answer_among", answer)
    with pytest.raises(AssertionError, match="an answer rests on"):
        check_of(name)()


def test_a_method_that_filters_chunks_and_forgets_summaries_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def chunks_and_all_else(allowed: Any, store: Any) -> frozenset[str]:
        from kgrag import queries

        parts = store.select(queries.bind("sire_rag/parts_of_all", catalogue=store.names.catalogue)).values()
        return frozenset(allowed.chunks | {node for node, _ in parts})

    monkeypatch.setattr(sire_rag_method, "allowed_nodes", chunks_and_all_else)
    with pytest.raises(AssertionError, match="is found, and comes from|words of a document"):
        check_of("sire_rag")()
