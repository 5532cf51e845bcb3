"""Vectors and full text in SPARQL: searches are run first, and their results take their place as VALUES.

``?node kgv:near ("text" 20 "chunk")`` finds the 20 nodes of a vector space whose texts are nearest in meaning,
``kgv:matches`` those that match best by words (BM25); ``(?node ?score) kgv:near (...)`` returns the score as well, a
cosine or a BM25 score. ``kgv:similarity(?node, "text")`` is a function: the cosine of a node's vector and a text's, or
of two nodes' vectors; without a value where a node has no vector.

What the group of a search asks of ``?node`` beside it decides what may be found: the 20 nearest of the nodes that meet
its triples, VALUES and FILTERs (``kgrag.sparql.search_reader``). Where the first that are found do not all meet them,
the nodes that do are listed and ranked alone, up to 20,000; of more the best are looked through, 50,000 at most.
Whatever else the query asks picks from what was found, so it may leave fewer. Conditions on documents inside the
search, ``kgv:near ("text" 20 "chunk" "tenant=a" "year>=2020")``, are applied before anything is ranked, too
(``kgrag.querying.document_filters``).

A space is one of kgrag's own (``kgrag.index.vector_spaces``), or an index that a user declared
(``kgrag.querying.text_indexes``).

The query is read by ``kgrag.sparql.search_reader``, so that no text of strings and comments is a search, and a search
that cannot be run in its place is refused and not left without result.

What a query can ask for is bounded: ten different searches and compared texts, 1,000 nodes each, and of a text the
first 8,000 characters, more than the embedder that is installed reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL, UnknownName
from kgrag.index import bm25, vector_spaces
from kgrag.ports import Embedder, TripleStore, Vectors, VectorSpaces
from kgrag.querying import document_filters
from kgrag.querying.text_indexes.text_indexes import TextIndexes, index_spaces
from kgrag.sparql.search_reader import Call, Conditions, Searches, Statement, read_searches
from kgrag.sparql.syntax import Limits
from kgrag.sparql.tokens import tokens
from kgrag.vocab import KGV, XSD

__all__ = ["Function", "Resolved", "Scored", "Search", "Select", "functions", "names_search", "refuse_in_update"]

Function = Callable[..., ox.Literal | None]
Scored = list[tuple[str, float]]
"""Nodes and their scores, best first."""
Select = Callable[[str], list[str]]
"""Returns the IRIs of the one variable of a SELECT."""

_DEFAULT_COUNT, _MAX_COUNT = 10, 1000
_DEFAULT_SPACE = "chunk"
_MARKS = ("kgv:", KGV.prefix)
_MAX_NODES_LISTED = 20_000
"""That meet the conditions of a search, as ``searches/allowed`` lists them; of more the best are looked through."""
_MAX_NODES_LOOKED_THROUGH, _TIMES_WIDER, _NODES_PER_QUERY = 50_000, 8, 10_000
_MAX_SEARCHES = 10
"""Different searches and compared texts of a query."""
_MAX_TEXT_CHARACTERS = 8_000
"""Of a text that is searched for or compared with; what follows is left out, as embedders do after fewer."""
_MAX_QUERY_CHARACTERS = 100_000
"""Of a query that searches: to read a longer one takes seconds, and reading cannot be stopped."""


def _at_once(work: Callable[[], Scored]) -> Scored:
    return work()


def _at_once_aside(_index: str, work: Callable[[], Scored]) -> Scored:
    return work()


@dataclass(frozen=True, slots=True)
class Resolved:
    """A query without searches: ``text``, and the vectors of the texts that ``kgv:similarity`` compares with.

    ``compares``: whether it may call that function at all.
    """

    text: str
    similar: dict[str, Vectors] = field(default_factory=dict)
    compares: bool = False


@dataclass(frozen=True)
class Search:
    """Runs the searches of a query on the vector spaces and BM25 indexes of a knowledge base.

    Args:
        store: contains the texts.
        spaces: vectors, brought up to date when they are behind.
        embedder: embeds what is searched for; only used by a query that searches by meaning.
        indexes: those that users declared.
        folder: where BM25 indexes are kept; None keeps them in memory.
        read_only: nothing is written.
    """

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    indexes: TextIndexes
    folder: Path | None = None
    read_only: bool = False

    def resolve(
        self,
        sparql: str,
        *,
        step: Callable[[Callable[[], Scored]], Scored] = _at_once,
        aside: Callable[[str, Callable[[], Scored]], Scored] = _at_once_aside,
        select: Select | None = None,
    ) -> Resolved:
        """Run the searches of a query and put their results in their place.

        One search costs as much as one retrieval; the same search twice in a query is run once.

        Args:
            sparql: the query.
            step: runs each search; for a caller who wants to stop in between, or lets others search in between.
            aside: runs a search of an index that a user declared, which is named first: the index may have to be
                brought up to date, which takes its time and needs nothing that others wait for.
            select: returns the IRIs of the one variable of a SELECT that is made of the query; None: what is found is
                not limited by what the query asks of it.

        Raises:
            InvalidSPARQL: not SPARQL, too many searches, a search of another form, or one of an unknown space; with
                line and column; or the query of an index fails.
        """
        if not names_search(sparql):
            return Resolved(sparql)
        found = _read(sparql)
        calls = {_key(call): call for statement in found.statements for call in statement.calls}
        results = {}
        for key, call in calls.items():
            results[key] = self._result(call, partial(aside, _space(call)) if _is_declared(call) else step, select)
        text = sparql
        for statement in reversed(found.statements):
            text = text[: statement.start] + _written(statement, results) + text[statement.end :]
        vectors = self.embedder.embed([compared[:_MAX_TEXT_CHARACTERS] for compared in found.similar], "query")
        return Resolved(text, dict(zip(found.similar, vectors, strict=True)), compares="similarity" in text)

    def _result(self, call: Call, run: Callable[[Callable[[], Scored]], Scored], select: Select | None) -> Scored:
        """Return the best nodes that meet the conditions of a search."""

        def find(count: int, within: frozenset[str] | None = None) -> Scored:
            return run(partial(self._run, call, count, within))

        count = _DEFAULT_COUNT if call.count is None else call.count
        found = find(count)
        if call.conditions is None or select is None or not found:
            return found
        met, wider, listed = _meeting(found, call.conditions, select), count, False
        while len(met) < min(count, len(found)) and len(found) == wider < _MAX_NODES_LOOKED_THROUGH:
            if not listed and len(met) * _TIMES_WIDER < count:  # looking through a few more would not do
                listed = True
                allowed = select(_allowed_query(call.conditions))
                if len(allowed) <= _MAX_NODES_LISTED:
                    return find(count, frozenset(allowed))
            wider = min(_TIMES_WIDER * wider, _MAX_NODES_LOOKED_THROUGH)
            found = find(wider)
            met = _meeting(found, call.conditions, select)
        return met[:count]

    def _run(self, call: Call, count: int, among: frozenset[str] | None) -> Scored:
        asked = _DEFAULT_COUNT if call.count is None else call.count
        space = _space(call)
        where = f"line {call.line}, column {call.column}: kgv:{call.kind}"
        if not 1 <= asked <= _MAX_COUNT:
            raise InvalidSPARQL(f"{where} asks for {asked} nodes. Ask for 1 to {_MAX_COUNT}.")
        if space not in vector_spaces.spaces():
            return self._run_in_index(call, space, where, count=count, within=among)
        within = self._chunks_where(call, space, where) if call.where else among
        if among is not None and within is not None:
            within &= among
        if call.kind == "matches":
            index = bm25.fresh(self.store, self.folder, space=space, save=not self.read_only)
            return index.search(call.text[:_MAX_TEXT_CHARACTERS], count, within)
        near = vector_spaces.fresh(space, store=self.store, spaces=self.spaces, embedder=self.embedder)
        return near.search(self.embedder.embed([call.text[:_MAX_TEXT_CHARACTERS]], "query")[0], count, within)

    def _run_in_index(self, call: Call, name: str, where: str, *, count: int, within: frozenset[str] | None) -> Scored:
        text = call.text[:_MAX_TEXT_CHARACTERS]
        try:
            if call.where:
                self._chunks_where(call, name, where)
            if call.kind == "matches":
                return self.indexes.words(name).search(text, count, within)
            near = self.indexes.vectors(name, self.spaces, self.embedder)
            return near.search(self.embedder.embed([text], "query")[0], count, within)
        except UnknownName as error:
            raise InvalidSPARQL(f"{where} names a space that is none: {error}") from error

    def _chunks_where(self, call: Call, space: str, where: str) -> frozenset[str]:
        """Return the chunks of the documents that meet the conditions of a search."""
        if space != _DEFAULT_SPACE:
            raise InvalidSPARQL(
                f"{where} has the condition {call.where[0]!r} on the space '{space}'. Only chunks are of one document."
            )
        try:
            return document_filters.allowed(document_filters.read_filter(call.where), self.store).chunks
        except InputError as error:
            raise InvalidSPARQL(f"{where}: {error}") from error


def _read(sparql: str) -> Searches:
    """Read the searches of a query.

    Raises:
        InvalidSPARQL: as ``read_searches``, or there are too many.
    """
    if len(sparql) > _MAX_QUERY_CHARACTERS and not _uses_vocabulary(sparql):
        return Searches()
    found = read_searches(sparql, limits=Limits(characters=_MAX_QUERY_CHARACTERS))
    calls = {_key(call): call for statement in found.statements for call in statement.calls}
    if len(calls) + len(found.similar) > _MAX_SEARCHES:
        raise InvalidSPARQL(
            f"the query has {len(calls)} searches and compares with {len(found.similar)} texts; at most "
            f"{_MAX_SEARCHES} are allowed together. Send several queries."
        )
    return found


def _key(call: Call) -> Call:
    """Return a search as it is compared with others: without its variables and place."""
    return replace(call, variables=(), line=0, column=0)


def _space(call: Call) -> str:
    return call.space or _DEFAULT_SPACE


def _is_declared(call: Call) -> bool:
    """Return whether a search is one of an index that a user declared, or of a space that is none."""
    return _space(call) not in vector_spaces.spaces()


def _allowed_query(conditions: Conditions, nodes: Sequence[str] = ()) -> str:
    """Return the query for the nodes that meet conditions, of some nodes or of all."""
    name = f"?{conditions.variable}"
    patterns = f"{{{conditions.patterns}\n}}"
    group = f"GRAPH {conditions.graph} {patterns}" if conditions.graph else patterns
    if nodes:
        group = f"VALUES {name} {{ {' '.join(str(ox.NamedNode(node)) for node in nodes)} }} {group}"
    text: str = queries.bind("searches/allowed")
    text = text.replace("?searched", name).replace("WHERE {}", f"{conditions.dataset}\nWHERE {{ {group} }}", 1)
    return f"{conditions.prologue}\n{text}"


def _meeting(found: Scored, conditions: Conditions, select: Select) -> Scored:
    """Return those of some nodes that meet conditions, in their order."""
    met: set[str] = set()
    for first in range(0, len(found), _NODES_PER_QUERY):
        met |= set(select(_allowed_query(conditions, [node for node, _ in found[first : first + _NODES_PER_QUERY]])))
    return [pair for pair in found if pair[0] in met]


def _written(statement: Statement, results: Mapping[Call, Scored]) -> str:
    """Write a statement with the results of its searches in their place."""
    blocks = [_values(call.variables, results[_key(call)]) for call in statement.calls]
    return " ".join([*blocks, statement.rest])


def functions(spaces: VectorSpaces, similar: Mapping[str, Vectors]) -> dict[ox.NamedNode, Function]:
    """Return ``kgv:similarity`` as a function for the store's engine: over every space, and the texts embedded before.

    About 10 microseconds per call; a node that is in no space, or a text not embedded before, has no value.
    """
    opened = [spaces.space(name) for name in (*vector_spaces.spaces(), *index_spaces(spaces))]

    def vector(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> Vectors | None:
        if isinstance(term, ox.Literal):
            return similar.get(term.value)
        for space in opened:
            with suppress(KeyError):
                found: Vectors = space.vectors([term.value])[0]
                return found
        return None

    def similarity(*terms: ox.NamedNode | ox.BlankNode | ox.Literal) -> ox.Literal | None:
        """Return the cosine of two unit vectors as xsd:double; None when one is missing."""
        vectors = [vector(term) for term in terms]
        if len(vectors) != 2 or vectors[0] is None or vectors[1] is None:
            return None
        return _double(float(np.dot(vectors[0], vectors[1])))

    return {KGV.similarity: similarity}


def names_search(sparql: str) -> bool:
    """Return whether a text may have a search; a cheap test for the many that do not."""
    return any(mark in sparql for mark in _MARKS)


def refuse_in_update(update: str) -> None:
    """Refuse an update whose WHERE searches: it would find nothing, without an error.

    Raises:
        InvalidSPARQL: the update has a WHERE and uses this vocabulary.
    """
    if not names_search(update):
        return
    if _uses_vocabulary(update) and any(token.text.upper() == "WHERE" for token in tokens(update)):
        raise InvalidSPARQL(
            "the WHERE of an update cannot search (kgv:). Search with a query, and write the nodes that it finds."
        )


def _uses_vocabulary(text: str) -> bool:
    """Return whether a text names a term of searching outside strings and comments."""
    return any(token.text.startswith(("kgv:", f"<{KGV.prefix}")) for token in tokens(text))


def _double(value: float) -> ox.Literal:
    return ox.Literal(repr(value), datatype=XSD.double)


def _values(variables: tuple[str, ...], rows: Sequence[tuple[str, float]]) -> str:
    """Write a VALUES block; IRIs and numbers go through the store's own terms."""
    names = " ".join(f"?{name}" for name in variables)
    written = (" ".join((str(ox.NamedNode(iri)), str(_double(score)))[: len(variables)]) for iri, score in rows)
    return f"VALUES ({names}) {{ {' '.join(f'({row})' for row in written)} }}"
