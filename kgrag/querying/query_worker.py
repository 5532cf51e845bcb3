"""Runs one SPARQL query over a store folder opened for reading; a program of its own, so that it can be killed.

It is started by path and imports nothing of kgrag. Standard input holds one JSON object: ``folder``, ``sparql``,
``prefixes``, ``rows``, ``characters``, ``seconds``, ``bytes``, and where wanted ``union`` (the default graph is all
named graphs), ``longest`` (of a literal, what follows so many characters is left out) and ``values`` (the IRIs of one
variable of a SELECT: the query is run for each). Standard output gets one: ``variables``, ``rows``, ``truncated``, or
``problem``. A term is a list: ["i", iri], ["b", label], ["l", text, datatype, language] or ["t", subject, predicate,
object].
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

import pyoxigraph as ox

__all__ = ["main"]

_BOOLEAN = ox.NamedNode("http://www.w3.org/2001/XMLSchema#boolean")


def main() -> None:
    """Read the request, run the query, write the reply."""
    request = json.load(sys.stdin)
    _limit(request["seconds"], request["bytes"])
    json.dump(_reply(request), sys.stdout)


def _limit(seconds: float, size: int) -> None:
    """Limit time and memory, where the system can, so that it ends this program when that outlives its caller."""
    try:
        import resource
    except ImportError:
        return
    longest = math.ceil(seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (longest, longest + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _reply(request: dict[str, Any]) -> dict[str, Any]:
    try:
        store = ox.Store.read_only(request["folder"])
        if values := request.get("values"):
            ((name, iris),) = values.items()
            return {"variables": _names(store, request), **_cut(_rows_of_each(store, request, name, iris), request)}
        results = _results(store, request)
        if isinstance(results, ox.QueryBoolean):
            answer = ox.Literal("true" if results else "false", datatype=_BOOLEAN)
            return {"variables": ["answer"], "rows": [[_packed(answer)]], "truncated": False}
        if isinstance(results, ox.QueryTriples):
            names = ["subject", "predicate", "object"]
            return {"variables": names, **_cut((list(triple) for triple in results), request)}
        names = [variable.value for variable in results.variables]
        return {"variables": names, **_cut((list(row) for row in results), request)}
    except (SyntaxError, ValueError, RuntimeError, OSError) as error:
        return {"problem": str(error.args[0]) if error.args else type(error).__name__}


def _results(store: ox.Store, request: dict[str, Any], **given: ox.NamedNode) -> Any:
    return store.query(
        request["sparql"],
        prefixes=request["prefixes"],
        use_default_graph_as_union=request.get("union", False),
        substitutions={ox.Variable(name): term for name, term in given.items()},
    )


def _names(store: ox.Store, request: dict[str, Any]) -> list[str]:
    return [variable.value for variable in _results(store, request).variables]


def _rows_of_each(store: ox.Store, request: dict[str, Any], name: str, iris: list[str]) -> Iterator[list[Any]]:
    for iri in iris:
        for row in _results(store, request, **{name: ox.NamedNode(iri)}):
            yield list(row)


def _cut(rows: Iterable[list[Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Take as many rows as are allowed, and stop the engine there."""
    kept: list[list[Any]] = []
    room = request["characters"]
    for row in islice(rows, request["rows"] + 1):
        packed = [_packed(term, request.get("longest")) for term in row]
        room -= sum(len(str(term)) for term in packed)
        if len(kept) == request["rows"] or room < 0:
            return {"rows": kept, "truncated": True}
        kept.append(packed)
    return {"rows": kept, "truncated": False}


def _packed(term: Any, longest: int | None = None) -> list[Any] | None:
    if term is None:
        return None
    if isinstance(term, ox.NamedNode):
        return ["i", term.value]
    if isinstance(term, ox.BlankNode):
        return ["b", term.value]
    if isinstance(term, ox.Triple):
        return ["t", _packed(term.subject), _packed(term.predicate), _packed(term.object)]
    literal = cast("ox.Literal", term)
    return ["l", literal.value[:longest], literal.datatype.value, literal.language or ""]


if __name__ == "__main__":
    main()
