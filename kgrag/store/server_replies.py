"""Replies of a SPARQL server as the engine's own results; one that is cut or has an error in it is refused.

Queries read: ``catalogue/graph_triples``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import StorageFailed
from kgrag.store.engine import Results
from kgrag.store.skolem_names import results_with_blank_nodes, unnamed
from kgrag.store.sparql_connection import Reply
from kgrag.vocab import Names

__all__ = ["parsed", "whole_reply"]

_ROW_OF_ASK, _MAX_HEAD_BYTES = b'"__ASK_RETVAL"', 200
"""Virtuoso 7 answers ASK with a table of this column: one row for true, none for false."""
_ENDINGS = (b"]}}", b'"boolean":true}', b'"boolean":false}')
_ENDING_BYTES = 64


def parsed(reply: Reply) -> Results:
    """Return a reply as the engine's own results. Raises StorageFailed: it is not whole."""
    with whole_reply():
        if reply.is_triples:
            return _triples(ox.parse(reply.body, format=ox.RdfFormat.N_TRIPLES))
        if not b"".join(reply.body[-_ENDING_BYTES:].split()).endswith(_ENDINGS):
            raise ValueError("it ends too early")
        body = results_with_blank_nodes(reply.body)
        if _ROW_OF_ASK in body[:_MAX_HEAD_BYTES]:
            body = b'{"head":{},"boolean":%s}' % (b"true" if b'"value"' in body else b"false")
        return ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)


@contextmanager
def whole_reply() -> Iterator[None]:
    """Read a reply. Raises StorageFailed: it is not whole."""
    try:
        yield
    except (SyntaxError, ValueError) as error:  # a server that runs out of time says so in the middle of a reply
        raise StorageFailed(
            f"the reply of the server is not whole: {error}. Ask for less, or raise its time limit."
        ) from error


def _triples(quads: Iterable[ox.Quad]) -> ox.QueryTriples:
    """Return triples as the engine's own results."""
    store = ox.Store()
    graph = Names().catalogue
    store.bulk_extend(ox.Quad(unnamed(quad.subject), quad.predicate, unnamed(quad.object), graph) for quad in quads)
    return cast("ox.QueryTriples", store.query(queries.bind("catalogue/graph_triples")))
