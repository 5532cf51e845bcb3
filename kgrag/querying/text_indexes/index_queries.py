"""The query of an index: what it has to be, and running it over the whole store under the limits of other queries.

It runs in a process of its own (``kgrag.querying.query_worker``) on a copy of the store by hard links, so that nobody
waits for it and it can be killed. Its default graph is the union of all named graphs, unless it says FROM.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.ports import TripleStore
from kgrag.querying.query_process import run_in_process
from kgrag.sparql.gate import check_query
from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.sparql.query_reader import read
from kgrag.sparql.syntax import Limits, Pattern, Query, Variable
from kgrag.sparql.total_orders import with_total_orders
from kgrag.vocab import KGV, PREFIXES

__all__ = ["MAX_CHARACTERS", "MAX_SECONDS", "MAX_TEXTS", "MAX_TEXT_CHARACTERS", "by_subject", "check", "run"]

MAX_TEXTS = 500_000
"""Of one index; rows of its query."""
MAX_CHARACTERS = 50_000_000
"""Of all texts of one index."""
MAX_TEXT_CHARACTERS = 8_000
"""Of one text; what follows is left out."""
MAX_SECONDS = 60.0
_MAX_QUERY_CHARACTERS = 20_000
_MAX_BYTES = 4 << 30
_COLUMNS = ("iri", "text")
_IRI = Variable("iri")
_CUTS = frozenset({"LIMIT", "OFFSET", "GROUP", "HAVING"})
_CONDITIONAL = frozenset({"optional", "minus", "exists", "not exists"})
_UNFOLLOWED = frozenset({"subselect", "service", "lateral"})


def check(sparql: str) -> Query:
    """Return the query of an index as it was read.

    Raises:
        InvalidSPARQL: the gate refuses it, it does not select ``?iri`` and ``?text`` alone, or it searches itself.
    """
    check_query(sparql)
    query = read(sparql, limits=Limits(characters=_MAX_QUERY_CHARACTERS))
    if query.form != "SELECT" or sorted(column.name for column in query.selected) != sorted(_COLUMNS):
        raise InvalidSPARQL("the query of an index selects ?iri and ?text, and nothing else. Select these two.")
    named = [pattern.predicate for pattern in query.patterns if isinstance(pattern.predicate, ox.NamedNode)]
    if any(text.startswith(KGV.prefix) for text in (*(node.value for node in named), *query.functions)):
        raise InvalidSPARQL("the query of an index says what can be searched for, and cannot search (kgv:) itself.")
    return query


def by_subject(sparql: str) -> bool:
    """Return whether what a query returns for an IRI depends on the statements about this IRI alone.

    Then a change of the store changes the texts of the subjects of changed statements, and of no others.

    >>> by_subject("SELECT ?iri ?text { ?iri a <urn:x:Crop> ; <urn:x:name> ?text }")
    True
    >>> by_subject("SELECT ?iri ?text { ?iri a ?kind . ?kind <urn:x:name> ?text }")
    False
    """
    query = check(sparql)
    if check_query(sparql).words & _CUTS or query.aggregates or query.triple_terms or not query.patterns:
        return False
    (column,) = (column for column in query.selected if column.name == "iri")
    return column.source == _IRI and all(_is_local(pattern, query.patterns) for pattern in query.patterns)


def _is_local(pattern: Pattern, every: Collection[Pattern]) -> bool:
    """Return whether a pattern is about ``?iri``, and comes behind another in the group that it is a condition of."""
    if pattern.subject != _IRI or pattern.path or any(scope.kind in _UNFOLLOWED for scope in pattern.context):
        return False
    steps = [number for number, scope in enumerate(pattern.context) if scope.kind in _CONDITIONAL]
    groups = [pattern.context[:step] for step in steps]
    before = [each.context for each in every if each.places[0].start < pattern.places[0].start]
    return all(group in before for group in groups)


def run(sparql: str, store: TripleStore, folder: Path | None, *, only: Collection[str] | None = None) -> dict[str, str]:
    """Return the text of each IRI that a query returns: its wordings, each once and in order, a line each.

    Args:
        sparql: the query.
        store: what it is run over.
        folder: on the disk of the store, for the copy; None: a temporary one.
        only: the IRIs that are asked about; None: all.

    Raises:
        InvalidSPARQL: the query fails, takes too long, or returns too much; or nothing of what it returns is a text of
            an IRI.
        StorageFailed: no copy can be written.
    """
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="index-", dir=folder, ignore_cleanup_errors=True) as scratch:
        copy = Path(scratch, "store")
        store.snapshot(copy)
        request: dict[str, object] = {
            "folder": str(copy),
            "sparql": with_total_orders(with_merged_graphs(sparql, prefixes=PREFIXES)),
            "prefixes": PREFIXES,
            "union": not check_query(sparql).chooses_dataset,
            "rows": MAX_TEXTS,
            "characters": MAX_CHARACTERS,
            "longest": MAX_TEXT_CHARACTERS,
            "seconds": MAX_SECONDS,
            "bytes": _MAX_BYTES,
        }
        if only is not None:
            request["values"] = {"iri": sorted(only)}
        done = run_in_process(request)
    if done.problem:
        raise InvalidSPARQL(done.problem)
    if done.truncated:
        raise InvalidSPARQL(
            f"it returns more than {MAX_TEXTS:,} texts, or more than {MAX_CHARACTERS:,} characters. Narrow it."
        )
    columns = {name: number for number, name in enumerate(done.variables)}
    pairs = [(row[columns["iri"]], row[columns["text"]]) for row in done.rows]
    texts = _texts(pairs)
    if pairs and not texts:
        raise InvalidSPARQL("it returns rows, and in none ?iri is an IRI and ?text a text. Mend the query.")
    return texts


def _texts(pairs: Collection[tuple[object, object]]) -> dict[str, str]:
    wordings: dict[str, set[str]] = {}
    for iri, text in pairs:
        if isinstance(iri, ox.NamedNode) and isinstance(text, ox.Literal) and (words := text.value.strip()):
            wordings.setdefault(iri.value, set()).add(words)
    return {iri: "\n".join(sorted(wordings[iri]))[:MAX_TEXT_CHARACTERS] for iri in sorted(wordings)}
