"""A budget of a day or a month, by what is written down as paid."""

from datetime import date
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import BudgetSpent, InvalidSettings
from kgrag.llm import period_budget
from kgrag.llm.budget import Budget
from kgrag.llm.function_models import FunctionModel
from kgrag.llm.period_budget import Period, PeriodBudgetedModel
from kgrag.model import Prompt, Usage
from kgrag.server.problems import openai_json, problem_of
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

PROMPT = Prompt("any", "What is oats?")


@pytest.mark.parametrize(
    ("period", "spent", "is_left"),
    [("month", 2, True), ("month", 3, False), ("day", 3, True)],
)
def test_what_was_paid_in_the_period_counts(
    monkeypatch: pytest.MonkeyPatch, period: Period, spent: int, is_left: bool
) -> None:
    monkeypatch.setattr(period_budget, "_today", lambda: date(2026, 11, 24))
    paid = [("2026-11-03", "og_rag", "m", Usage(spent, 9, 9)), ("2026-10-31", "", "m", Usage(50, 9, 9))]
    model = PeriodBudgetedModel(FunctionModel(lambda _: "Grain."), Budget(3), period=period, costs=lambda: paid)
    if is_left:
        assert model.complete([PROMPT])[0].text == "Grain."
    else:
        with pytest.raises(BudgetSpent, match=r"of this month is spent.*again from 2026-12-01"):
            model.complete([PROMPT])


def test_a_knowledge_base_keeps_within_its_budget_and_what_it_has_is_free(tmp_path: Path) -> None:
    settings = Settings(completions="record")
    with KnowledgeBase(tmp_path / "kb", settings=settings, model=lambda _: "Grain.", embedder=HashEmbedder()) as kb:
        kb.model.complete([PROMPT])
        kb.limit_spending(Budget(completions=0), "month")
        assert kb.model.complete([PROMPT])[0].text == "Grain."
        with pytest.raises(BudgetSpent):
            kb.model_for("og_rag").complete([Prompt("any", "What is rye?")])


def test_a_budget_without_a_record_of_costs_is_refused() -> None:
    settings = Settings(completions="off")
    kb = KnowledgeBase(settings=settings, model=lambda _: "", embedder=HashEmbedder())
    with kb, pytest.raises(InvalidSettings, match="record of costs"):
        kb.limit_spending(Budget(5), "day")


def test_over_http_a_spent_budget_is_said_in_words() -> None:
    problem = problem_of(BudgetSpent("the budget of this month is spent."))
    assert (problem.status, str(problem)) == (429, "the budget of this month is spent.")
    assert openai_json(problem)["error"]["code"] == "insufficient_quota"
