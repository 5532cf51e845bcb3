"""Triples that a query makes of graphs that it names, with literals and language tags as they were written.

A CONSTRUCT or DESCRIBE whose text names graphs (``GRAPH <…>``, ``FROM <…>``) returns a statement of theirs as it was
loaded: ``"01"^^xsd:int``, where the engine has ``1``. Where several graphs are named, and one of them has the canonical
form of what another wrote otherwise, the form that was written is the one that is returned.

Queries: ``lexical/records``, ``catalogue/language_tags``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.sparql.tokens import tokens
from kgrag.store.language_tags import by_lower_case, serialised
from kgrag.store.lexical_forms import ending_with, may_be_rewritten
from kgrag.vocab import Names

__all__ = ["WrittenTriples", "named_graphs"]

Rows = Iterable[Iterable[Any]]

_TRIPLES_AT_ONCE = 500
_NAMES_A_GRAPH = late_re(r"(?:.*\b)?(GRAPH|FROM|NAMED)", re.IGNORECASE | re.DOTALL)


def named_graphs(text: str, prefixes: Mapping[str, str]) -> list[ox.NamedNode]:
    """Return the graphs that a query names by ``GRAPH`` and ``FROM``, each once.

    >>> named_graphs("DESCRIBE ?x FROM <urn:g> WHERE { GRAPH ex:h { ?x ?p ?o } }", {"ex": "urn:"})
    [<NamedNode value=urn:g>, <NamedNode value=urn:h>]
    """
    known, graphs = dict(prefixes), dict[str, None]()
    before = declared = ""
    for token in tokens(text):
        if token.kind == "iri":
            if before == "PREFIX":
                known[declared] = token.text[1:-1]
            elif _NAMES_A_GRAPH.fullmatch(before):
                graphs[token.text[1:-1]] = None
        elif token.kind == "name":
            prefix, _, local = token.text.partition(":")
            declared = prefix
            if _NAMES_A_GRAPH.fullmatch(before) and prefix in known:
                graphs[known[prefix] + local] = None
            continue
        before = token.text.upper() if token.kind == "word" else ""
    return [ox.NamedNode(iri) for iri in graphs if ":" in iri]


@dataclass(frozen=True, slots=True)
class WrittenTriples:
    """The triples of a result, as they were written in the graphs that the query names.

    Args:
        results: as the engine has them; they can be read once.
        graphs: those that the query names.
        select: runs a stored query, and returns rows.
        names: the IRIs of the knowledge base.
    """

    results: Iterable[ox.Triple]
    graphs: Sequence[ox.NamedNode]
    select: Callable[[str], Rows]
    names: Names
    _whole: dict[ox.NamedNode, dict[tuple[Term, ...], list[ox.Literal]]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ox.Triple]:
        """Yield them; where several literals of a graph became one, each of them."""
        results = iter(self.results)
        while batch := list(islice(results, _TRIPLES_AT_ONCE)):
            written: dict[tuple[Term, ...], dict[ox.Literal, None]] = {}
            concerned = [triple.subject for triple in batch if may_be_rewritten(triple.object)]
            for graph in self.graphs if concerned else ():
                for key, forms in self._records(self.names.lexical_graph(graph.value), concerned).items():
                    written.setdefault(key, {}).update(dict.fromkeys(forms))
            for triple in batch:
                literals = written.get((triple.subject, triple.predicate, triple.object))
                if literals is None:
                    yield triple
                    continue
                ends = (ending_with(triple.object, literal) for literal in literals)
                yield from (ox.Triple(triple.subject, triple.predicate, end) for end in ends)

    def serialize(self, output: IO[bytes], format: ox.RdfFormat) -> None:  # noqa: A002 - as pyoxigraph's
        """Write them to a file, with language tags as the graphs have them."""
        asked = ({"catalogue": self.names.catalogue, "graph": graph} for graph in self.graphs)
        rows = (row for values in asked for row in self.select(queries.bind("catalogue/language_tags", **values)))
        serialised(self, output, format, by_lower_case(plain(tag) for (tag,) in rows))

    def _records(self, lexical: ox.NamedNode, subjects: Iterable[Term]) -> dict[tuple[Term, ...], list[ox.Literal]]:
        """Return (subject, predicate, object) -> literals as they were written, at least of some subjects."""
        distinct = set(subjects)
        named = sorted((node for node in distinct if isinstance(node, ox.NamedNode)), key=str)
        if len(named) < len(distinct):  # a query cannot name a blank node
            named = []
        if lexical in self._whole:
            return self._whole[lexical]
        records: dict[tuple[Term, ...], list[ox.Literal]] = {}
        asked = queries.bind("lexical/records", graph=lexical, subjects=named)
        for subject, predicate, value, form, datatype in self.select(asked):
            literal = ox.Literal(plain(form), datatype=datatype)
            records.setdefault((subject, predicate, value), []).append(literal)
        if not named:
            self._whole[lexical] = records
        return records
