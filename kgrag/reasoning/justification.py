"""A smallest part of something that something still holds of: what a proof or a finding rests on.

Nothing is known of the test but its answers, so that rules, query checks and audits are explained by one function. From
the front of the list, where the caller puts what is most likely needed, ever longer parts are tried; of the first that
passes, halves, quarters and so on are left out as long as the rest passes.

Source: Zeller, Hildebrandt, *Simplifying and isolating failure-inducing input*, 2002 (ddmin), without its tests of
subsets alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from kgrag.errors import NotDecided

__all__ = ["smallest"]

_Item = TypeVar("_Item")


def smallest(
    items: Sequence[_Item], holds: Callable[[Sequence[_Item]], bool], *, until: float | None = None
) -> list[_Item] | None:
    """Return a part of a list that a test passes on, and on which it fails when any single item is left out.

    Args:
        items: those that are needed first, as far as that is known.
        holds: the test. Where it passes on more than it needs (it need not), the part is smallest all the same.
        until: the time of ``time.monotonic`` at which to give up; None = never.

    Returns:
        The items of the part in their order; None when the test fails on all of them.

    Raises:
        NotDecided: the time is up.

    >>> smallest([1, 2, 3, 4, 5, 6], lambda part: {2, 5} <= set(part))
    [2, 5]
    """

    def passes(part: Sequence[_Item]) -> bool:
        if until is not None and time.monotonic() > until:
            raise NotDecided("the time was up before a smallest explanation was found; give it more (--timeout)")
        return holds(part)

    size = 1
    while size < len(items) and not passes(items[:size]):
        size *= 2
    part = list(items[:size])
    if size >= len(items) and not passes(part):
        return None
    step = max(len(part) // 2, 1)
    while True:
        before = len(part)
        for first in range(((before - 1) // step) * step, -1, -step):  # from the back, where little is needed
            rest = [*part[:first], *part[first + step :]]
            if len(rest) < len(part) and passes(rest):
                part = rest
        if step > 1:
            step //= 2
        elif len(part) == before:
            return part
