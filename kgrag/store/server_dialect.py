"""What some SPARQL servers are asked otherwise than others, and how they are read, so that answers are the same.

Who asks finds out first whether a server answers as Virtuoso does (``kgrag.store.server_traits``); what is done here
would do no harm on another server. Of Virtuoso 7.2.5 was found, by ``benchmarks.server_queries``:

=========================================  ============================================================================
what it does                               what is done
=========================================  ============================================================================
``GRAPH ?g`` finds graphs of its own       they are left out (``OWN_GRAPHS``), which are none of kgrag's
``GRAPH ?g { }`` finds nothing             the graphs that have a triple are asked for
``"true"^^xsd:boolean`` comes as ``"1"``   it is read as true
an IRI out of ``VALUES`` comes as text     it is read as an IRI, where the column's variable has one value, that IRI
a CONSTRUCT comes as a table               N-Triples alone are asked for
=========================================  ============================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import Token, tokens
from kgrag.store.sparql_connection import Reply, SparqlConnection
from kgrag.vocab import XSD

__all__ = ["OWN_GRAPHS", "asked", "replied", "results_read", "streamed", "triples_read"]

OWN_GRAPHS = (
    "http://localuriqaserver/sparql",
    "http://www.openlinksw.com/schemas/virtrdf#",
    "http://www.w3.org/ns/ldp#",
)
"""The named graphs that were found beside those that had been put in."""

_ANY_TRIPLE = " ?kgragSubject ?kgragProperty ?kgragValue "
_BOOLEAN_LINE = late_re(r'(?<!\\)"([01])"\^\^<http://www\.w3\.org/2001/XMLSchema#boolean>')
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_BOOLEANS = {"0": "false", "1": "true"}


def replied(
    connection: SparqlConnection, sparql: str, options: Mapping[str, str] | None, *, is_virtuoso: bool
) -> Reply:
    """Return the reply to a query as other servers send it.

    Raises:
        InvalidSPARQL: the server refuses the query.
        StorageFailed: it cannot be reached, refuses the key, or fails.
        ValueError: the reply is not whole.
    """
    if not is_virtuoso:
        return connection.query(sparql, options=options)
    reply = connection.query(asked(sparql), options=options, only_triples=_builds_triples(sparql))
    body = triples_read(reply.body) if reply.is_triples else results_read(sparql, reply.body)
    return replace(reply, body=body)


@contextmanager
def streamed(
    connection: SparqlConnection, sparql: str, *, is_virtuoso: bool
) -> Iterator[tuple[IO[bytes], Callable[[Any], Any]]]:
    """Send a SELECT; return its reply as it comes, and what reads a term of it.

    Raises:
        InvalidSPARQL: the server refuses the query.
        StorageFailed: it cannot be reached, refuses the key, or fails, also in the middle of the reply.
    """
    with connection.stream(asked(sparql) if is_virtuoso else sparql) as body:
        yield body, _term_read if is_virtuoso else lambda term: term


def _builds_triples(sparql: str) -> bool:
    forms = (token.text.upper() for token in tokens(sparql) if token.kind == "word")
    return next((form for form in forms if form in _FORMS), "") in ("CONSTRUCT", "DESCRIBE")


def asked(sparql: str) -> str:
    """Return a query as it is sent.

    >>> asked("SELECT ?s { GRAPH <urn:g> { ?s ?p ?o } }")
    'SELECT ?s { GRAPH <urn:g> { ?s ?p ?o } }'
    """
    cut = list(tokens(sparql))
    inserted: list[tuple[int, str]] = []
    for place, graph in enumerate(cut[:-3]):
        variable, opening, closing = cut[place + 1 : place + 4]
        if _is_word(graph, "GRAPH") and variable.kind == "variable":
            if closing.text == "}":
                inserted.append((opening.end, _ANY_TRIPLE))
            inserted.append((_end_of_group(cut, place + 2), _others(variable.text)))
    pieces, end = [], 0
    for place, text in sorted(inserted):
        pieces += [sparql[end:place], text]
        end = place
    return "".join(pieces) + sparql[end:]


def _others(variable: str) -> str:
    """Return a filter of graphs; its compiler has no room for several lists in NOT IN."""
    return f" FILTER({' && '.join(f'{variable} != <{graph}>' for graph in OWN_GRAPHS)}) "


def _end_of_group(cut: Sequence[Token], opening: int) -> int:
    """Return where the group ends that a brace opens."""
    depth = 0
    for token in cut[opening:]:
        depth += (token.text == "{") - (token.text == "}")
        if not depth:
            return token.end
    return cut[-1].end


def _is_word(token: Token, word: str) -> bool:
    return token.kind == "word" and token.text.upper() == word


def results_read(sparql: str, body: bytes) -> bytes:
    """Return results in JSON with the terms that other servers send. Raises ValueError: it is no JSON."""
    results = json.loads(body)
    single = _single_values(sparql)
    for row in results.get("results", {}).get("bindings", ()):
        for name, cell in row.items():
            if cell.get("datatype") == XSD.boolean.value:
                cell["value"] = _BOOLEANS.get(cell["value"], cell["value"])
            elif cell["type"] == "literal" and single.get(name) == cell["value"] and "xml:lang" not in cell:
                cell["type"] = "uri"
    return json.dumps(results).encode()


def _single_values(sparql: str) -> Mapping[str, str]:
    """Return the IRI of each variable that ``VALUES`` binds to one, and never to another."""
    cut = list(tokens(sparql))
    values: dict[str, str] = {}
    for place, token in enumerate(cut[:-4]):
        variable, opening, value, closing = cut[place + 1 : place + 5]
        if not _is_word(token, "VALUES") or variable.kind != "variable":
            continue
        name, known = variable.text[1:], values.get(variable.text[1:])
        is_one = (opening.text, value.kind, closing.text) == ("{", "iri", "}")
        values[name] = value.text[1:-1] if is_one and known in (None, value.text[1:-1]) else ""
    return {name: value for name, value in values.items() if value}


def triples_read(body: bytes) -> bytes:
    """Return N-Triples with the booleans that other servers send. Raises ValueError: it is no UTF-8."""
    return _BOOLEAN_LINE.sub(_boolean, body.decode()).encode()


def _boolean(found: re.Match[str]) -> str:
    return f'"{_BOOLEANS[found[1]]}"^^<{XSD.boolean.value}>'


def _term_read(term: Any) -> Any:
    if isinstance(term, ox.Literal) and term.datatype == XSD.boolean and term.value in _BOOLEANS:
        return ox.Literal(_BOOLEANS[term.value], datatype=XSD.boolean)
    return term
