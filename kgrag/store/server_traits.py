"""In what a SPARQL server differs from others, found by asking it; what it calls itself decides nothing.

``ServerTraits`` asks what can be asked of any server, whatever is stored and whoever may write. Whether a server merges
graphs (SPARQL 1.1, section 13.2) shows in a triple that two of them state, which ``merges_graphs`` writes for a moment.
Where nobody found that out, queries are sent so that they count such a triple once on any server.

Queries read: ``probe/count_of_all``, ``probe/count_of_two``, ``probe/dialect``, ``probe/drop``, ``probe/stated_twice``,
``probe/triple_terms``.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidSPARQL
from kgrag.model import plain
from kgrag.store.server_dialect import OWN_GRAPHS
from kgrag.store.server_replies import parsed
from kgrag.store.sparql_connection import SparqlConnection

__all__ = ["UNION", "FoundTraits", "ServerTraits", "merges_graphs"]

UNION = {"union-default-graph": "true"}
"""What is sent with a query whose default graph is all named graphs."""


@dataclass(frozen=True, slots=True)
class FoundTraits:
    """What was found of a server.

    Attributes:
        software: what it calls itself.
        speaks_virtuoso: whether it is asked and read as Virtuoso is.
        has_triple_terms: whether it knows the functions of SPARQL 1.2 that take triple terms apart.
        merges: whether it finds a triple once, however many graphs state it; None: it could not be found out.
    """

    software: str
    speaks_virtuoso: bool
    has_triple_terms: bool
    merges: bool | None

    def in_words(self) -> str:
        """Return one line: how often it finds a triple of several graphs, and what follows."""
        counts = {True: "once, as SPARQL has it", False: "once for each", None: "an unknown number of times"}
        counted = "" if self.merges else "; kgrag's queries count it once"
        dialect = "; it is asked and read as Virtuoso is" if self.speaks_virtuoso else ""
        return f"a triple of several graphs is found {counts[self.merges]}{counted}{dialect}"


class ServerTraits:
    """Asks a server, of each thing once, when that is first wanted.

    Args:
        connection: to the server.
    """

    def __init__(self, connection: SparqlConnection) -> None:
        self._connection = connection

    @cached_property
    def speaks_virtuoso(self) -> bool:
        """Whether it has a boolean as a number, or graphs of its own, as Virtuoso has.

        Raises:
            StorageFailed: it cannot be reached, refuses the key, or its reply is not whole.
            InvalidSPARQL: it refuses the question.
        """
        row = _first_row(self._connection, queries.bind("probe/dialect", own=list(map(ox.NamedNode, OWN_GRAPHS))))
        boolean = row.get("boolean")
        return "own" in row or (isinstance(boolean, ox.Literal) and boolean.value != "true")

    @cached_property
    def has_triple_terms(self) -> bool:
        """Whether it knows the functions of SPARQL 1.2 that take triple terms apart.

        Raises:
            StorageFailed: it cannot be reached, refuses the key, or its reply is not whole.
        """
        try:
            return plain(_first_row(self._connection, queries.bind("probe/triple_terms")).get("found")) == "true"
        except InvalidSPARQL:
            return False

    def found(self, *, merges: bool | None) -> FoundTraits:
        """Return what was found, with what somebody knows of its merging. Raises as the others do."""
        asked = self.speaks_virtuoso, self.has_triple_terms
        return FoundTraits(self._connection.software or "unknown", *asked, merges)


def merges_graphs(connection: SparqlConnection, change: Callable[[str], None]) -> bool:
    """Return whether a server finds a triple once that two graphs state; writes both graphs, and drops them.

    Args:
        connection: answers queries.
        change: runs an update.

    Raises:
        StorageFailed: the server cannot be reached, or refuses to be written to.
        InvalidSPARQL: it refuses a question or a change.
        ConnectionError: nobody knows whether a change entered.
    """
    number = secrets.token_hex(8)
    subject, first, second = (ox.NamedNode(f"urn:kgrag:probe:{number}{end}") for end in ("", ":first", ":second"))
    try:
        change(queries.bind("probe/stated_twice", first=first, second=second, subject=subject))
        of_two = queries.bind("probe/count_of_two", first=first, second=second, subject=subject)
        of_all = queries.bind("probe/count_of_all", subject=subject)
        # a server that does not take named graphs for the default graph counts none of all
        return _count(connection, of_two) == 1 and _count(connection, of_all, UNION) <= 1
    finally:
        for graph in (first, second):
            change(queries.bind("probe/drop", graph=graph))


def _count(connection: SparqlConnection, query: str, options: Mapping[str, str] | None = None) -> int:
    return int(plain(_first_row(connection, query, options).get("count")) or 0)


def _first_row(connection: SparqlConnection, query: str, options: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the values of the first row of a reply; {} where it is none, or has another form."""
    results = parsed(connection.query(query, options=options))
    if not isinstance(results, ox.QuerySolutions):
        return {}
    names = [variable.value for variable in results.variables]
    row = next(results, None)
    return {} if row is None else {name: row[name] for name in names if row[name] is not None}
