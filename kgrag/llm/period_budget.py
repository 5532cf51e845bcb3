"""A limit to what may be asked of a language model each day or month, counted from what is written down as paid.

The costs are those that the cache of completions adds up by day (UTC), so a limit holds across restarts, and for every
process that keeps its completions in the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Literal, TypeAlias

from kgrag.errors import BudgetSpent
from kgrag.llm.budget import Budget, BudgetedModel
from kgrag.model import Usage
from kgrag.ports import LanguageModel

__all__ = ["Costs", "Period", "PeriodBudgetedModel", "next_start", "spent_in"]

Period: TypeAlias = Literal["day", "month"]
Costs: TypeAlias = Sequence[tuple[str, str, str, Usage]]
"""Day, method, model, and what was asked of it."""


class PeriodBudgetedModel(BudgetedModel):
    """A language model that stops when what was paid in the present day or month reaches a budget.

    Args:
        inner: the model.
        budget: the most that a period may cost.
        period: of UTC.
        costs: returns what was paid so far. Replies under way are not in it yet, so several requests at once may go
            beyond the budget by what each of them has under way.
    """

    def __init__(self, inner: LanguageModel, budget: Budget, *, period: Period, costs: Callable[[], Costs]) -> None:
        super().__init__(inner, budget)
        self._period: Period = period
        self._costs = costs

    def refuse_beyond(self, most: Usage) -> None:
        """Refuse what may cost more than is left of the period. Raises BudgetSpent."""
        self.spent = spent_in(self._costs(), self._period, _today())
        following = next_start(self._period, _today())
        advice = f"The budget is that of this {self._period}; the next begins on {following} (UTC)."
        replace(self._budget, advice=advice).refuse_beyond(most, self.spent)

    def _room(self, wanted: int) -> int:
        self.spent = spent_in(self._costs(), self._period, _today())
        return super()._room(wanted)

    def _refusal(self) -> BudgetSpent:
        following = next_start(self._period, _today())
        return BudgetSpent(
            f"the budget of this {self._period} is spent. The language model is asked again from {following} (UTC); "
            "what was completed is kept, and what needs no model goes on."
        )


def spent_in(costs: Iterable[tuple[str, str, str, Usage]], period: Period, today: date) -> Usage:
    """Return the sum of what was paid in the period that a day is in.

    >>> rows = [("2026-10-31", "", "m", Usage(1, 5, 5)), ("2026-11-02", "", "m", Usage(2, 7, 7))]
    >>> spent_in(rows, "month", date(2026, 11, 24)).completions, spent_in(rows, "day", date(2026, 11, 24)).completions
    (2, 0)
    """
    begins = today.isoformat() if period == "day" else today.isoformat()[:7]
    return sum((usage for day, _, _, usage in costs if day.startswith(begins)), Usage())


def next_start(period: Period, today: date) -> date:
    """Return the first day of the next period.

    >>> str(next_start("month", date(2026, 12, 24))), str(next_start("day", date(2026, 12, 31)))
    ('2027-01-01', '2027-01-01')
    """
    return today + timedelta(1) if period == "day" else (today.replace(day=1) + timedelta(32)).replace(day=1)


def _today() -> date:
    return datetime.now(UTC).date()
