"""Reads a group graph pattern that stands alone: what a user writes between the braces of a query."""

from __future__ import annotations

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.syntax import Limits
from kgrag.vocab import PREFIXES

__all__ = ["check_group"]


def check_group(pattern: str) -> None:
    """Refuse a text that is no group by itself, so that it cannot end the group that it is put into.

    Raises:
        InvalidSPARQL: not SPARQL, nested too deep, or more than one group; columns count the brace around it.

    >>> check_group('?document kgm:tenant "a" . FILTER EXISTS { ?document a kg:Document }')
    >>> check_group("} UNION { ?document ?p ?o")
    Traceback (most recent call last):
        ...
    kgrag.errors.InvalidSPARQL: line 1, column 4: found 'UNION', expected the end of the pattern. Correct it there.
    """
    limits = Limits()
    try:
        _GroupReader(f"{{{pattern}\n}}", limits).whole_group()
    except RecursionError:
        raise InvalidSPARQL(f"the pattern is nested too deep (limit {limits.depth}). Write it flatter.") from None


class _GroupReader(QueryReader):
    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.declared.update(PREFIXES)

    def whole_group(self) -> None:
        """Read ``{ ... }`` and nothing behind it."""
        self.braces()
        if self.kind != "end":
            self.expected("the end of the pattern")
        if self.uses_service:
            raise InvalidSPARQL("the pattern asks a remote service (SERVICE), which a filter may not. Leave it out.")
