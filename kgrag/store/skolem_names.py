"""Blank nodes as IRIs, and back: what a SPARQL server gets, since servers rename blank nodes or refuse them.

The name of a blank node that kgrag stored is part of its IRI, so that a graph which is published again is the same one
and a triple with a blank node can be deleted. What comes from a server has blank nodes in their places again. Inside a
query such a node is an IRI; ``isIRI`` and ``isBlank`` of a variable are therefore rewritten before they are sent.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import tokens

__all__ = ["SKOLEM", "named", "named_quad", "results_with_blank_nodes", "unnamed", "with_tests_of_names"]

SKOLEM = "https://w3id.org/kgrag/.well-known/genid/"
"""What the IRI of a blank node begins with."""

_OF_NODE = late_re(rf"{re.escape(SKOLEM)}([0-9A-Za-z._-]+)")
_TESTS = {
    "isiri": '(isIRI({0}) && !STRSTARTS(STR({0}), "' + SKOLEM + '"))',
    "isuri": '(isIRI({0}) && !STRSTARTS(STR({0}), "' + SKOLEM + '"))',
    "isblank": '(isBlank({0}) || isIRI({0}) && STRSTARTS(STR({0}), "' + SKOLEM + '"))',
}


def named(term: Any) -> Any:
    """Return a term as it is sent: a blank node as an IRI.

    Raises:
        InvalidRDF: it is a triple, which SPARQL 1.1 does not have.
    """
    if isinstance(term, ox.BlankNode):
        return ox.NamedNode(SKOLEM + term.value)
    if isinstance(term, ox.Triple):
        raise InvalidRDF(f"{term} is a triple as a term, which no server of SPARQL 1.1 stores. Leave it out.")
    return term


def named_quad(quad: ox.Quad) -> ox.Quad:
    """Return a quad as it is sent. Raises InvalidRDF."""
    if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode | ox.Literal):
        return quad
    return ox.Quad(named(quad.subject), quad.predicate, named(quad.object), quad.graph_name)


def unnamed(term: Any) -> Any:
    """Return a term that came from a server with its blank node in its place."""
    if isinstance(term, ox.NamedNode) and (found := _OF_NODE.fullmatch(term.value)):
        return ox.BlankNode(found[1])
    return term


def results_with_blank_nodes(body: bytes) -> bytes:
    """Return results of a SELECT, in JSON, with blank nodes in their places."""
    if SKOLEM.encode() not in body:
        return body
    results = json.loads(body)
    for row in results["results"]["bindings"]:
        for cell in row.values():
            if cell["type"] == "uri" and (found := _OF_NODE.fullmatch(cast("str", cell["value"]))):
                cell.update(type="bnode", value=found[1])
    return json.dumps(results).encode()


def with_tests_of_names(sparql: str) -> str:
    """Return a query or update in which ``isIRI`` and ``isBlank`` of a variable treat such an IRI as a blank node."""
    if not re.search(r"is(?:IRI|URI|BLANK)", sparql, flags=re.IGNORECASE):
        return sparql
    cut, pieces, end = list(tokens(sparql)), [], 0
    for place, token in enumerate(cut[:-3]):
        opening, variable, closing = cut[place + 1 : place + 4]
        test = _TESTS.get(token.text.lower()) if token.kind == "word" else None
        if test and (opening.text, variable.kind, closing.text) == ("(", "variable", ")"):
            pieces += [sparql[end : token.start], test.format(variable.text)]
            end = closing.end
    return "".join(pieces) + sparql[end:]
