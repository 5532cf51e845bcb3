"""A limit to what one build or question may ask of a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kgrag.errors import BudgetSpent, InvalidSettings
from kgrag.llm.costs import Price
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import LanguageModel, StreamsText

__all__ = ["Budget", "BudgetedModel"]

_NOTHING = Usage()
_AT_ONCE = 16
"""Prompts handed on together where tokens are limited: what they cost is known only afterwards."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a build or an answer may cost; None = no limit.

    Args:
        completions: completions asked of the model; those from the cache are free.
        money: what tokens may cost at ``price``, in its currency. Replies under way are taken as for ``tokens``.
        price: of the model.
        tokens: input and output tokens together, as the model counts them. Replies under way when the limit is reached
            are still taken, at most 16.
        advice: what to do where it does not cover what is asked.

    Raises:
        InvalidSettings: a limit is below 0, or one in money has no price.
    """

    completions: int | None = None
    tokens: int | None = None
    money: float | None = None
    price: Price | None = None
    advice: str = "Raise the budget; a dry run counts what this costs about."

    def __post_init__(self) -> None:
        if min(self.completions or 0, self.tokens or 0, self.money or 0) < 0:
            given = f"{self.completions} completions, {self.tokens} tokens and {self.money} of money"
            raise InvalidSettings(f"a budget of {given}: use 0 or more.")
        if self.money is not None and self.price is None:
            raise InvalidSettings("a budget in money needs the price of the model. Set it in kgrag.toml, [prices].")

    def refuse_beyond(self, most: Usage, spent: Usage = _NOTHING) -> None:
        """Refuse what may cost more than is left, before anything is asked: an answer that is broken off is lost.

        Args:
            most: the most that it may cost, nine times in ten; what costs nothing is never refused.
            spent: what was spent of the budget before.

        Raises:
            BudgetSpent: that is more than is left.
        """
        limits = (
            ("completions", most.completions, spent.completions, self.completions),
            ("tokens", _tokens(most), _tokens(spent), self.tokens),
            ("of money", self._in_money(most), self._in_money(spent), self.money),
        )
        for unit, cost, used, limit in limits:
            if limit is not None and cost and used + cost > limit:
                left = f"{max(round(limit - used, 6), 0):,} of the budget of {limit:,} are left"
                raise BudgetSpent(
                    f"this may cost {cost:,} {unit}, and {left if used else f'the budget is {limit:,}'}. "
                    f"Nothing was asked of the model. {self.advice}"
                )

    def _in_money(self, usage: Usage) -> float:
        return 0.0 if self.price is None else round(self.price.of(usage), 6)


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


class BudgetedModel:
    """A language model that stops when a budget is spent; ``spent`` is what it has cost so far."""

    def __init__(self, inner: LanguageModel, budget: Budget) -> None:
        self.spent = Usage()
        self._inner = inner
        self._budget = budget

    @property
    def identity(self) -> str:
        """That of the model behind."""
        return self._inner.identity

    def refuse_beyond(self, most: Usage) -> None:
        """Refuse what may cost more than is left of the budget, or of that of the model behind. Raises BudgetSpent."""
        self._budget.refuse_beyond(most, self.spent)
        if isinstance(self._inner, BudgetedModel):
            self._inner.refuse_beyond(most)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order. Raises what ``as_completed`` raises."""
        arrived = dict(self.as_completed(prompts))
        return [arrived[index] for index in range(len(prompts))]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) as replies arrive.

        Raises:
            BudgetSpent: the budget does not cover the next prompt; replies that it covered were yielded.
            ServiceError: the model failed.
        """
        start = 0
        while start < len(prompts):
            covered = prompts[start : start + self._room(len(prompts) - start)]
            if not covered:
                raise self._refusal()
            for index, completion in self._inner.as_completed(covered):
                self.spent += completion.usage
                yield start + index, completion
            start += len(covered)

    def complete_streamed(self, prompt: Prompt, on_text: Callable[[str], None]) -> Completion:
        """Return the completion of a prompt, and pass its text on as it comes, if the inner model can.

        Raises what ``as_completed`` raises.
        """
        if not isinstance(self._inner, StreamsText) or not self._room(1):
            return self.complete([prompt])[0]
        completion = self._inner.complete_streamed(prompt, on_text)
        self.spent += completion.usage
        return completion

    def _refusal(self) -> BudgetSpent:
        spent = self.spent
        return BudgetSpent(
            f"the budget is spent: {spent.completions:,} completions, {spent.input_tokens:,} input and "
            f"{spent.output_tokens:,} output tokens. What they gave is kept; the same again with a higher budget goes "
            "on from there."
        )

    def _room(self, wanted: int) -> int:
        """Return how many of the next prompts are covered."""
        room = wanted
        if self._budget.completions is not None:
            room = min(room, max(self._budget.completions - self.spent.completions, 0))
        if self._budget.tokens is not None:
            room = 0 if _tokens(self.spent) >= self._budget.tokens else min(room, _AT_ONCE)
        if self._budget.money is not None and self._budget.price is not None:
            room = 0 if self._budget.price.of(self.spent) >= self._budget.money else min(room, _AT_ONCE)
        return room
