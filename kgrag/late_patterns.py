"""Regular expressions that are compiled when they are first used.

kgrag has some 450 of them, of which a command uses a few. To compile all took a third of the time that a command needs
to begin (0.4 s of a processor).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import regex

__all__ = ["LatePattern", "late_re", "late_regex"]


class LatePattern:
    """Has the attributes of a compiled pattern; each costs what it costs there, from its second use on.

    Raises: what compiling raises, at the first use.
    """

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled = cache(compiled)

    def __getattr__(self, name: str) -> Any:
        """Compile the pattern, and keep its attribute here, where it is found without this method."""
        if name.startswith("__"):  # copying and pickling ask for what a pattern need not have
            raise AttributeError(name)
        found = getattr(self._compiled(), name)
        self.__dict__[name] = found
        return found


def late_re(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what stands for ``re.compile(text, flags)``: it has its methods, and is not an instance of its class.

    >>> late_re(r"[a-z]+").search("12 oats")[0]
    'oats'
    """
    return cast("re.Pattern[str]", LatePattern(partial(re.compile, text, flags)))


def late_regex(text: str, flags: int = 0) -> regex.Pattern[str]:
    r"""Return what stands for ``regex.compile(text, flags)``, as ``late_re`` does.

    >>> late_regex(r"\p{Lu}\p{Ll}+").findall("the Hill Zone")
    ['Hill', 'Zone']
    """
    return cast("regex.Pattern[str]", LatePattern(partial(regex.compile, text, flags)))
