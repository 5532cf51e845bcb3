"""What prompts cost before they are asked, what was paid, and what that is in money.

A prompt costs its text and the JSON schema that goes with it, at four characters a token. How long its reply will be is
declared in the prompt's header, as it was measured: ``reply 85 tokens``, or, for one that grows with an input, ``reply
1.5 times text``; of several such lines the least counts. A run of white space counts as one character there: a manual
page is a quarter indentation, and no reply repeats it. Lines ``reply 2 times text where triples`` are parts of a reply,
which are added up, each where that input is not empty. Repairs of replies off their schema are not foreseen. What the
replies of a model were is learnt (``kgrag.llm.reply_lengths``).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import regex

from kgrag import prompting
from kgrag.errors import InvalidSettings, UnknownName
from kgrag.late_patterns import late_regex
from kgrag.llm.text_marks import strings
from kgrag.model import Prompt, Usage

__all__ = [
    "CHARACTERS_PER_TOKEN",
    "Price",
    "declaration",
    "planned",
    "price_of",
    "read_prices",
    "rounded_money",
    "schema_tokens",
]

CHARACTERS_PER_TOKEN = 4
_DEFAULT_REPLY_TOKENS = 100
_MEASURE = "white space once"  # in which lengths of inputs are counted: part of what a header declares
_REPLY = late_regex(
    r"^reply\s+(?P<number>[\d.]+)\s+(?:tokens|times\s+(?P<input>\w+))(?:\s+where\s+(?P<where>\w+))?$",
    flags=regex.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million input tokens and of a million output tokens, in any currency."""

    input: float
    output: float

    def of(self, usage: Usage) -> float:
        """Return what completions cost."""
        return (usage.input_tokens * self.input + usage.output_tokens * self.output) / 1e6


def price_of(prices: Mapping[str, Price], model: str) -> Price | None:
    """Return the price of a model by its name, or by the longest entry that its name begins with; None for none.

    >>> price_of({"gpt-4o": Price(2.5, 10), "gpt-4o-mini": Price(0.15, 0.6)}, "gpt-4o-mini-2024-07-18")
    Price(input=0.15, output=0.6)
    """
    fitting = [name for name in prices if model.startswith(name)]
    return prices[max(fitting, key=len)] if fitting else None


def rounded_money(amount: float, digits: int = 4) -> float:
    """Return an amount with some digits behind the point, and more where it would have less than two that count.

    >>> rounded_money(1.23456), rounded_money(0.0000123456), rounded_money(0.0)
    (1.2346, 1.2e-05, 0.0)
    """
    return round(amount, max(digits, 1 - math.floor(math.log10(abs(amount)))) if amount else digits)


def planned(prompt: Prompt) -> Usage:
    """Return what a prompt will cost about: one completion, its text and schema, and a reply as long as usual."""
    asked = math.ceil((len(prompt.text) + _schema_characters(prompt)) / CHARACTERS_PER_TOKEN)
    whole, parts = [], []
    for number, name, where in _replies(prompt.name):
        size = sum(map(_characters, strings([prompt.variables.get(name, "")]))) / CHARACTERS_PER_TOKEN if name else 1
        if not where:
            whole.append(number * size)
        else:
            parts.append(number * size if prompt.variables.get(where) else 0.0)
    lengths = [*whole, *([sum(parts)] if parts else [])]
    return Usage(1, asked, max(1, round(min(lengths, default=_DEFAULT_REPLY_TOKENS))))


def declaration(name: str) -> str:
    """Return what the output of ``planned`` goes by for prompts of a name, in few letters: another header has others.

    >>> declaration("obqc/ask") == declaration("obqc/ask") != declaration("obqc/repair")
    True
    """
    lines = (_MEASURE, *(f"{number} {size} {where}" for number, size, where in _replies(name)))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]


def schema_tokens(prompt: Prompt) -> int:
    """Return which part of the input tokens of ``planned`` is the schema of the reply; 0 without one."""
    return _schema_characters(prompt) // CHARACTERS_PER_TOKEN


def _schema_characters(prompt: Prompt) -> int:
    return 0 if prompt.schema is None else len(json.dumps(prompt.schema, ensure_ascii=False))


def _characters(text: str) -> int:
    return len(" ".join(text.split()))


@cache
def _replies(name: str) -> tuple[tuple[float, str, str], ...]:
    """Return what the header of a prompt declares of its reply.

    Returns:
        For each line tokens or a factor, the input whose length it grows with, and what it needs; "" for none.
    """
    try:
        header = prompting.header(name)
    except UnknownName:
        return ()
    return tuple(
        (float(match["number"]), match["input"] or "", match["where"] or "") for match in _REPLY.finditer(header)
    )


def read_prices(table: Mapping[str, Mapping[str, float]]) -> dict[str, Price]:
    """Return the prices of a table ``{model: {"input": …, "output": …}}``.

    Raises:
        InvalidSettings: an entry is not of these two numbers.
    """
    for model, row in table.items():
        if row.keys() != {"input", "output"} or min(row.values()) < 0:
            raise InvalidSettings(f"the price of {model!r} is {dict(row)}. Write {{ input = 0.15, output = 0.60 }}.")
    return {model: Price(**row) for model, row in table.items()}
