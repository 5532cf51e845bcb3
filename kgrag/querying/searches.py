"""Vectors and full text in SPARQL: searches are run first, and their results take their place as VALUES.

``?node kgv:near ("text" 20 "chunk")`` finds the 20 nodes of a vector space whose texts are nearest in meaning,
``kgv:matches`` those that match best by words (BM25); ``(?node ?score) kgv:near (...)`` returns the score as well, a
cosine or a BM25 score. ``kgv:fused`` joins both by rank. A third variable gets a snippet of the text. The text may be a
variable that the group gives its values, and for ``kgv:near`` a node of the space, whose own text is then searched for.
``kgv:similarity(?node, "text")`` is a function: the cosine of a node's vector and a text's, or
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
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL, UnknownName
from kgrag.index import bm25, vector_spaces, word_queries
from kgrag.index.bm25 import LexicalIndex
from kgrag.model import Term
from kgrag.ports import Embedder, TripleStore, VectorIndex, Vectors, VectorSpaces
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
Select = Callable[[str], list[Term]]
"""Returns the terms of the one variable of a SELECT, without those that are unbound."""
Run = Callable[[Callable[[], Scored]], Scored]
"""Runs a search, when its turn has come."""

_DEFAULT_COUNT, _MAX_COUNT = 10, 1000
_DEFAULT_SPACE = "chunk"
_MARKS = ("kgv:", KGV.prefix)
_MAX_NODES_LISTED = 20_000
"""That meet the conditions of a search, as ``searches/allowed`` lists them; of more the best are looked through."""
_MAX_NODES_LOOKED_THROUGH, _TIMES_WIDER, _NODES_PER_QUERY = 50_000, 8, 10_000
_PLACE_OF_SNIPPET = 2
_VECTORS_KEPT = 1024
_TIMES_DEEPER, _MIN_DEPTH = 4, 100
"""How much longer the rankings are that are joined."""
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


@dataclass(frozen=True, slots=True)
class _Row:
    """What a search found: a node, its score, a snippet of its text, and the text or node that was searched for."""

    node: str
    score: float
    snippet: str = ""
    asked: Term | None = None

    def terms(self, variables: int) -> list[Term]:
        """Return what the first variables of a search get, and that of its text where it has one."""
        own: tuple[Term, ...] = (ox.NamedNode(self.node), _double(self.score), ox.Literal(self.snippet))
        return [*own[:variables], *([] if self.asked is None else [self.asked])]


@dataclass(frozen=True)
class Search:
    """Runs the searches of a query on the vector spaces and BM25 indexes of a knowledge base.

    Args:
        store: contains the texts.
        spaces: vectors, brought up to date when they are behind.
        embedder: embeds what is searched for; only used by a query that searches by meaning.
        indexes: those that users declared.
        fuse: joins rankings into one.
        folder: where BM25 indexes are kept; None keeps them in memory.
        read_only: nothing is written.
    """

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    indexes: TextIndexes
    fuse: Callable[[Sequence[Scored]], Scored]
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
            select: returns the terms of the one variable of a SELECT that is made of the query; None: what is found is
                not limited by what the query asks of it, and no text is a variable.

        Raises:
            InvalidSPARQL: not SPARQL, too many searches, a search of another form, or one of an unknown space; with
                line and column; or the query of an index fails.
        """
        if not names_search(sparql):
            return Resolved(sparql)
        found = _read(sparql)
        calls = {_key(call): call for statement in found.statements for call in statement.calls}
        asked = {key: self._texts_asked(call, select) for key, call in calls.items()}
        _check_count(sum(map(len, asked.values())), len(found.similar))
        results = {}
        for key, call in calls.items():
            run = partial(aside, _space(call)) if _is_declared(call) else step
            results[key] = [row for each in asked[key] for row in self._rows(each, run, select)]
        text = sparql
        for statement in reversed(found.statements):
            text = text[: statement.start] + _written(statement, results) + text[statement.end :]
        vectors = self.embedder.embed([compared[:_MAX_TEXT_CHARACTERS] for compared in found.similar], "query")
        return Resolved(text, dict(zip(found.similar, vectors, strict=True)), compares="similarity" in text)

    def _texts_asked(self, call: Call, select: Select | None) -> list[tuple[Call, Term | None]]:
        """Return a search for each text or node that its variable has; without one, itself."""
        if call.giving is None:
            return [(call, None)]
        if select is None:
            raise InvalidSPARQL(f"{_place(call)} searches for a variable, and there is nothing to look it up by.")
        terms = select(_query_for(call.giving, _MAX_SEARCHES + 1))
        if call.kind != "near" and any(isinstance(term, ox.NamedNode) for term in terms):
            raise InvalidSPARQL(f"{_place(call)} searches for a node. Only kgv:near does.")
        return [(_asking(call, term), term) for term in terms if not isinstance(term, ox.BlankNode)]

    def _rows(self, asked: tuple[Call, Term | None], run: Run, select: Select | None) -> list[_Row]:
        """Return the rows of a search: what its variables get."""
        call, term = asked
        found = self._result(call, run, select)
        snippets: dict[str, str] = {}
        if len(call.variables) > _PLACE_OF_SNIPPET:
            texts = self._read(_space(call), [node for node, _ in found])
            snippets = {node: word_queries.snippet(text, call.text) for node, text in texts.items()}
        return [_Row(node, score, snippets.get(node, ""), term) for node, score in found]

    def _read(self, space: str, iris: Sequence[str]) -> dict[str, str]:
        """Return the texts of some nodes of a space."""
        if space in vector_spaces.spaces():
            return dict(vector_spaces.texts(space, store=self.store, iris=iris))
        return self.indexes.texts(space, iris)

    def _result(self, call: Call, run: Run, select: Select | None) -> Scored:
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
                allowed = select(_query_for(call.conditions, _MAX_NODES_LISTED + 1))
                if len(allowed) <= _MAX_NODES_LISTED:
                    return find(count, frozenset(term.value for term in allowed if isinstance(term, ox.NamedNode)))
            wider = min(_TIMES_WIDER * wider, _MAX_NODES_LOOKED_THROUGH)
            found = find(wider)
            met = _meeting(found, call.conditions, select)
        return met[:count]

    def _run(self, call: Call, count: int, among: frozenset[str] | None) -> Scored:
        asked = _DEFAULT_COUNT if call.count is None else call.count
        space = _space(call)
        where = _place(call)
        if not 1 <= asked <= _MAX_COUNT:
            raise InvalidSPARQL(f"{where} asks for {asked} nodes. Ask for 1 to {_MAX_COUNT}.")
        if space not in vector_spaces.spaces():
            return self._run_in_index(call, space, where, count=count, within=among)
        within = self._chunks_where(call, space, where) if call.where else among
        if among is not None and within is not None:
            within &= among

        def words() -> LexicalIndex:
            return bm25.fresh(self.store, self.folder, space=space, save=not self.read_only)

        def vectors() -> VectorIndex:
            return vector_spaces.fresh(space, store=self.store, spaces=self.spaces, embedder=self.embedder)

        return self._ranked(call, words, vectors, count=count, within=within)

    def _run_in_index(self, call: Call, name: str, where: str, *, count: int, within: frozenset[str] | None) -> Scored:
        if call.where:
            self._chunks_where(call, name, where)
        words = partial(self.indexes.words, name)
        vectors = partial(self.indexes.vectors, name, self.spaces, self.embedder)
        try:
            return self._ranked(call, words, vectors, count=count, within=within)
        except UnknownName as error:
            raise InvalidSPARQL(f"{where} names a space that is none: {error}") from error

    def _ranked(
        self,
        call: Call,
        words: Callable[[], LexicalIndex],
        vectors: Callable[[], VectorIndex],
        *,
        count: int,
        within: frozenset[str] | None,
    ) -> Scored:
        """Rank the texts of a space by words, by vectors, or by both."""
        text = call.text[:_MAX_TEXT_CHARACTERS]
        depth = max(count * _TIMES_DEEPER, _MIN_DEPTH) if call.kind == "fused" else count

        def by_words() -> Scored:
            return word_queries.search(words(), text, depth, within, texts=partial(self._read, _space(call)))

        def by_meaning() -> Scored:
            index = vectors()
            if not call.like:
                plain = word_queries.without_marks(text) if call.kind == "fused" else text
                return index.search(self.embedder.embed([plain], "query")[0], depth, within)
            try:
                own = index.vectors([call.like])[0]
            except KeyError:
                if call.given:  # of several nodes, one that is not there has no neighbours
                    return []
                raise InvalidSPARQL(
                    f"{_place(call)} asks for what is near <{call.like}>, and '{_space(call)}' does not have that."
                ) from None
            return [pair for pair in index.search(own, depth + 1, within) if pair[0] != call.like][:depth]

        if call.kind == "fused":
            return self.fuse([by_words(), by_meaning()])[:count]
        return by_words() if call.kind == "matches" else by_meaning()

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
    _check_count(len(calls), len(found.similar))
    return found


def _check_count(searches: int, compared: int) -> None:
    if searches + compared > _MAX_SEARCHES:
        raise InvalidSPARQL(
            f"the query has {searches} searches and compares with {compared} texts; at most "
            f"{_MAX_SEARCHES} are allowed together. Send several queries."
        )


def _key(call: Call) -> Call:
    """Return a search as it is compared with others: without its variables and place."""
    return replace(call, variables=(), line=0, column=0)


def _place(call: Call) -> str:
    return f"line {call.line}, column {call.column}: kgv:{call.kind}"


def _asking(call: Call, term: Term) -> Call:
    """Return a search for one of the texts or nodes that its variable has."""
    conditions = call.conditions
    if conditions is not None:  # what the group asks of the node may depend on it
        patterns = f"{conditions.patterns}\nVALUES ?{call.given} {{ {term} }}"
        conditions = replace(conditions, patterns=patterns)
    like = term.value if isinstance(term, ox.NamedNode) else ""
    return replace(call, text=term.value if isinstance(term, ox.Literal) else "", like=like, conditions=conditions)


def _space(call: Call) -> str:
    return call.space or _DEFAULT_SPACE


def _is_declared(call: Call) -> bool:
    """Return whether a search is one of an index that a user declared, or of a space that is none."""
    return _space(call) not in vector_spaces.spaces()


def _query_for(conditions: Conditions, most: int, nodes: Sequence[str] = ()) -> str:
    """Return the query for so many of the terms that meet conditions, of some nodes or of all."""
    name = f"?{conditions.variable}"
    patterns = f"{{{conditions.patterns}\n}}"
    group = f"GRAPH {conditions.graph} {patterns}" if conditions.graph else patterns
    if nodes:
        group = f"VALUES {name} {{ {' '.join(str(ox.NamedNode(node)) for node in nodes)} }} {group}"
    text: str = queries.bind("searches/allowed", most=most)
    text = text.replace("?searched", name).replace("WHERE {}", f"{conditions.dataset}\nWHERE {{ {group} }}", 1)
    return f"{conditions.prologue}\n{text}"


def _meeting(found: Scored, conditions: Conditions, select: Select) -> Scored:
    """Return those of some nodes that meet conditions, in their order."""
    met: set[str] = set()
    for first in range(0, len(found), _NODES_PER_QUERY):
        nodes = [node for node, _ in found[first : first + _NODES_PER_QUERY]]
        met |= {
            term.value for term in select(_query_for(conditions, len(nodes), nodes)) if isinstance(term, ox.NamedNode)
        }
    return [pair for pair in found if pair[0] in met]


def _written(statement: Statement, results: Mapping[Call, Sequence[_Row]]) -> str:
    """Write a statement with the results of its searches in their place."""
    blocks = [_values(call, results[_key(call)]) for call in statement.calls]
    return " ".join([*blocks, statement.rest])


def functions(spaces: VectorSpaces, similar: Mapping[str, Vectors]) -> dict[ox.NamedNode, Function]:
    """Return ``kgv:similarity`` as a function for the store's engine: over every space, and the texts embedded before.

    About 10 microseconds per call; a node that is in no space, or a text not embedded before, has no value.
    """
    opened = [spaces.space(name) for name in (*vector_spaces.spaces(), *index_spaces(spaces))]

    @lru_cache(maxsize=_VECTORS_KEPT)  # spaces may be on a server, and one of the two terms is mostly the same
    def of_node(iri: str) -> Vectors | None:
        for space in opened:
            with suppress(KeyError):
                found: Vectors = space.vectors([iri])[0]
                return found
        return None

    def vector(term: ox.NamedNode | ox.BlankNode | ox.Literal) -> Vectors | None:
        return similar.get(term.value) if isinstance(term, ox.Literal) else of_node(term.value)

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


def _values(call: Call, rows: Sequence[_Row]) -> str:
    """Write a VALUES block; all that is in it goes through the store's own terms."""
    names = " ".join(f"?{name}" for name in (*call.variables, *([call.given] if call.given else [])))
    written = (" ".join(map(str, row.terms(len(call.variables)))) for row in rows)
    return f"VALUES ({names}) {{ {' '.join(f'({row})' for row in written)} }}"
