"""Whether every stored query has the same answer on a SPARQL server as in the embedded engine.

``python -m benchmarks.server_queries``           of an Oxigraph server that it starts
``python -m benchmarks.server_queries ADDRESS``   of another, which it fills
``python -m benchmarks.server_queries PROGRAM``   of Virtuoso (``benchmarks.virtuoso_server``)

The demo is built embedded, its quads are copied to the server as they are, and each stored SELECT, ASK and CONSTRUCT is
bound with terms of the demo (of each kind that a parameter takes) and asked of both. Rows are compared in their order,
and as a set where the query's header says that there is none or only a partial one. A query whose header names values
that are single (``# single ?title``) is wrong where two of its rows differ in them alone. Updates are left out, and
so is ``probe/*``, which asks how a server differs.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

from benchmarks.audit_mutations import everything
from benchmarks.oxigraph_server import OxigraphServer
from benchmarks.virtuoso_server import VirtuosoServer
from kgrag import KnowledgeBase, queries
from kgrag.errors import KgragError
from kgrag.settings import Settings
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.quad_store import QuadStore
from kgrag.store.server_quads import ServerQuads
from kgrag.store.sparql_connection import ServerAddress, SparqlConnection
from kgrag.testing import HashEmbedder
from kgrag.vocab import RDF, Names

__all__ = ["main"]

_TERMS_PER_PARAMETER = 12
"""Values of a parameter that takes a list."""


def main(named: str = "") -> int:
    """Print what differs and a count; return how many queries differ."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        kb = stack.enter_context(KnowledgeBase(settings=Settings(), embedder=HashEmbedder()))
        everything(kb, folder)
        embedded = EmbeddedQuads(cast("Any", kb.store)._store)
        server = _filled(stack, folder / "server", named, embedded.store)
        print(f"{len(embedded):,} quads embedded, {len(server):,} on the server")
        verdicts = Counter(_verdict(name, embedded, server, kb.store.names) for name in queries.names())
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    return verdicts["different"]


def _filled(stack: ExitStack, folder: Path, named: str, quads: ox.Store) -> ServerQuads:
    """Return the named server, which has the quads then."""
    if Path(named).name.startswith("virtuoso"):
        virtuoso = stack.enter_context(VirtuosoServer(folder, named))
        virtuoso.load(quads.dump(format=ox.RdfFormat.N_QUADS) or b"")
        return ServerQuads(SparqlConnection(ServerAddress.of(virtuoso.address)), writer="benchmark")
    address = named or stack.enter_context(OxigraphServer(folder)).address
    server = ServerQuads(SparqlConnection(ServerAddress.of(address)), writer="benchmark")
    server.fill(quads)
    return server


def _verdict(name: str, embedded: QuadStore, server: QuadStore, names: Names) -> str:
    query = queries.describe(name)
    if query.writes:
        return "updates, left out"
    if name.startswith("probe/"):
        return "of the server, left out"
    if "NOW()" in query.text:
        return "of the time, left out"
    rows = 0
    for values in _bindings(query, embedded, names):
        text = queries.bind(name, **values)
        ours, theirs = _asked(embedded, text), _asked(server, text)
        unordered = "\norder " in query.header
        if ours == ["an error"] and theirs[:1] and theirs[0].startswith("an error"):
            continue
        if ours != theirs and not (unordered and sorted(ours) == sorted(theirs)):
            print(f"{name}: {len(ours)} rows embedded, {len(theirs)} on the server; {_first_difference(ours, theirs)}")
            return "different"
        if several := _several(embedded, query, text):
            print(f"{name}: {several[:200]} has several of what the header calls single")
            return "different"
        rows += len(ours)
    return "equal, with rows" if rows else "equal, without rows"


def _asked(store: QuadStore, text: str) -> list[str]:
    try:
        found = store.query(text)
        if isinstance(found, ox.QueryBoolean):
            return [str(bool(found))]
        if isinstance(found, ox.QueryTriples):
            return sorted(str(triple) for triple in found)
        return [" ".join(str(term) for term in row) for row in found]
    except (KgragError, RuntimeError, SyntaxError, ValueError) as error:
        return [f"an error: {error}" if isinstance(store, ServerQuads) else "an error"]


def _several(store: QuadStore, query: queries.Query, text: str) -> str:
    """Return the first row that differs from another in nothing but what the header calls single; "" without."""
    single = set(re.findall(r"\?(\w+)", " ".join(re.findall(r"^single\s(.*)$", query.header, flags=re.MULTILINE))))
    sorted_by = set(re.findall(r"\?(\w+)", " ".join(re.findall(r"^ORDER BY (.*)$", query.text, flags=re.MULTILINE))))
    seen: dict[tuple[str, ...], str] = {}
    if not single:
        return ""
    rows = cast("ox.QuerySolutions", store.query(text))
    names = [variable.value for variable in rows.variables if variable.value not in single]
    if not sorted_by <= set(names):
        return ""  # rows differ in what they do not return
    for row in rows:
        key = tuple(str(row[name]) for name in names)
        if seen.setdefault(key, str(row)) != str(row):
            return str(row)
    return ""


def _first_difference(ours: list[str], theirs: list[str]) -> str:
    pairs = zip([*ours, "(no more)"], [*theirs, "(no more)"], strict=False)
    return next((f"{one[:150]} | {other[:150]}" for one, other in pairs if one != other), "")


def _bindings(query: queries.Query, store: QuadStore, names: Names) -> Iterator[dict[str, Any]]:
    """Yield values for the parameters of a query: once for subjects of each class, and graphs of each kind."""
    quads = cast("EmbeddedQuads", store).store
    kinds = sorted({str(quad.object.value) for quad in quads.quads_for_pattern(None, RDF.type, None)})[:60]  # type: ignore[union-attr]
    asks = [name for name, kind in query.parameters.items() if kind.startswith(("IRI", "term")) and name != "catalogue"]
    for kind in kinds if asks else kinds[:1]:
        typed = quads.quads_for_pattern(None, RDF.type, ox.NamedNode(kind))
        found = sorted({quad.subject.value for quad in typed if isinstance(quad.subject, ox.NamedNode)})
        things = [ox.NamedNode(iri) for iri in found[:_TERMS_PER_PARAMETER]]
        if things:
            yield {name: _value(name, declared, things, names) for name, declared in query.parameters.items()}


def _value(name: str, declared: str, things: list[ox.NamedNode], names: Names) -> Any:
    if name == "catalogue":
        return names.catalogue
    if name in ("path", "via"):
        return [RDF.type]
    single = {
        "IRI": things[0],
        "term": things[0],
        "literal": ox.Literal("soybean"),
        "integer": 1_000,
        "number": 0.5,
    }[declared.removesuffix(" list")]
    if not declared.endswith(" list"):
        return single
    return things if isinstance(single, ox.NamedNode) else [single]


if __name__ == "__main__":
    sys.exit(1 if main(*sys.argv[1:2]) else 0)
