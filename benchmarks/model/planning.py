"""Compares what dry runs and forecasts said with what was then paid, by method: builds, and questions together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["plan_table"]

_KEYS = ("completions", "input_tokens", "output_tokens")


@dataclass(slots=True)
class _Sums:
    planned: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_KEYS, 0))
    paid: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_KEYS, 0))

    def add(self, line: Mapping[str, Any]) -> None:
        for key in _KEYS:
            self.planned[key] += line["planned"].get(key, 0)
            self.paid[key] += line["paid"][key]


def plan_table(lines: Iterable[Mapping[str, Any]]) -> str:
    """Return a table of Markdown: what was asked, planned and paid requests and tokens, and how far the plan was off.

    >>> cost = {"completions": 1, "input_tokens": 100, "output_tokens": 20}
    >>> print(plan_table([{"build": "og_rag", "planned": cost | {"output_tokens": 22}, "paid": cost}]))
    | | requests | input tokens | off | output tokens | off |
    |---|---|---|---|---|---|
    | build og_rag | 1 / 1 | 100 / 100 | +0 % | 22 / 20 | +10 % |
    """
    sums: dict[str, _Sums] = defaultdict(_Sums)
    for line in lines:
        sums[f"build {line['build']}" if "build" in line else f"ask {line['method']}"].add(line)
    rows = ["| | requests | input tokens | off | output tokens | off |", "|---" * 6 + "|"]
    for name, both in sums.items():
        cells = [name, _pair(both, "completions")]
        for key in _KEYS[1:]:
            cells += [_pair(both, key), _off(both, key)]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _pair(sums: _Sums, key: str) -> str:
    return f"{sums.planned[key]:,} / {sums.paid[key]:,}"


def _off(sums: _Sums, key: str) -> str:
    return f"{sums.planned[key] / sums.paid[key] - 1:+.0%}".replace("%", " %") if sums.paid[key] else "-"
