"""All indexes of a knowledge base that users declared.

What is in memory of an index lives as long as the store is open, and is made again where the index was declared anew.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from threading import Lock
from weakref import WeakKeyDictionary

from kgrag.errors import InvalidSPARQL, KgragError, UnknownName
from kgrag.index import vector_spaces
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.ontology_prefixes import ontology_prefixes
from kgrag.ports import Embedder, TripleStore, VectorIndex, VectorSpaces
from kgrag.querying.text_indexes import declared_indexes, index_queries
from kgrag.querying.text_indexes.declared_indexes import TextIndex
from kgrag.querying.text_indexes.indexed_texts import IndexedTexts, IndexFiles, space_name
from kgrag.resources import closest
from kgrag.sparql.query_help import with_declarations

__all__ = ["IndexState", "TextIndexes", "index_spaces", "release"]

_LOCK = Lock()
_OPEN: WeakKeyDictionary[TripleStore, dict[str, IndexedTexts]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index, and how it is.

    Attributes:
        index: the index.
        follows: whether a change of the store costs in proportion to it; else all texts are read again.
        texts: how many it has; None before it is first used.
        revision: the store revision that these reflect; -1 before.
        waiting: how many of them wait for their vectors.
        problem: why it could not be brought up to date; "" when it could.
    """

    index: TextIndex
    follows: bool
    texts: int | None = None
    revision: int = -1
    waiting: int = 0
    problem: str = ""


@dataclass(frozen=True)
class TextIndexes:
    """The indexes of a store, with where they are kept."""

    store: TripleStore
    files: IndexFiles

    def names(self) -> list[str]:
        """Return the names of all indexes."""
        return [index.name for index in declared_indexes.listed(self.store)]

    def states(self) -> list[IndexState]:
        """Return all indexes by name, each with how it is; none is brought up to date."""
        return [self._state(index) for index in declared_indexes.listed(self.store)]

    def add(self, index: TextIndex) -> IndexState:
        """Declare an index, in the place of that of the same name, once its query was run.

        Raises:
            InputError: the name is none, or taken; or there are too many.
            InvalidSPARQL: the query is refused, fails, takes too long or returns too much.
            StorageFailed: the disk refused.
        """
        return self.saved(self.checked(index))

    def checked(self, index: TextIndex) -> TextIndex:
        """Return an index as it is saved: its query declares the prefixes it uses, and was run. Raises as ``add``."""
        declared_indexes.check_name(index.name, self.names())
        sparql = with_declarations(index.sparql, ontology_prefixes(self.store))
        index_queries.check(sparql)
        checked = TextIndex(index.name, sparql, index.title)
        opened = IndexedTexts(checked, self.store, self.files)
        opened.words()
        with _LOCK:
            _OPEN.setdefault(self.store, {})[index.name] = opened  # its texts need not be read again
        return checked

    def saved(self, index: TextIndex) -> IndexState:
        """Save an index that was checked. Raises InputError."""
        return self._state(declared_indexes.save(self.store, index))

    def remove(self, name: str, spaces: VectorSpaces | None) -> None:
        """Remove an index with its files; None: its vectors stay until they are in the way.

        Raises:
            StorageFailed: the disk refused.
            UnknownName: there is none of this name.
        """
        declared_indexes.remove(self.store, name)
        with _LOCK:
            _OPEN.get(self.store, {}).pop(name, None)
        for path in (self.files.texts(name), self.files.words(name)):
            if path is not None:
                for file in (path, *path.parent.glob(f"{path.stem}.*.npz")):
                    file.unlink(missing_ok=True)
        if spaces is not None:
            spaces.drop(space_name(name))

    def words(self, name: str) -> LexicalIndex:
        """Return the words of an index, up to date. Raises as ``IndexedTexts.words``, and UnknownName."""
        try:
            return self._opened(name).words()
        except InvalidSPARQL as error:
            raise InvalidSPARQL(_failed(name, error)) from error

    def vectors(self, name: str, spaces: VectorSpaces, embedder: Embedder) -> VectorIndex:
        """Return the vectors of an index, up to date. Raises as ``IndexedTexts.vectors``, and UnknownName."""
        try:
            return self._opened(name).vectors(spaces, embedder)
        except InvalidSPARQL as error:
            raise InvalidSPARQL(_failed(name, error)) from error

    def texts(self, name: str, iris: Collection[str]) -> dict[str, str]:
        """Return the texts of some IRIs of an index, as they were when it was last brought up to date."""
        return self._opened(name).texts(iris)

    def progress(self, name: str) -> str:
        """Return how far an index is, for whoever waits for it."""
        state = self._state(declared_indexes.find(self.store, name))
        if state.texts is None:
            return f"the texts of the index '{name}' are being read"
        if state.waiting:
            return f"{state.waiting:,} of the {state.texts:,} texts of the index '{name}' wait to be embedded"
        return f"the index '{name}' is being brought up to date"

    def problems(self) -> list[str]:
        """Bring every index up to date, without vectors, and return what is wrong with those that cannot be."""
        found = []
        for name in self.names():
            try:
                self.words(name)
            except KgragError as error:
                found.append(str(error))
        return found

    def _state(self, index: TextIndex) -> IndexState:
        opened = self._opened(index.name, index)
        texts = None if opened.revision < 0 else len(opened)
        return IndexState(index, opened.follows, texts, opened.revision, opened.embedding, opened.problem)

    def _opened(self, name: str, index: TextIndex | None = None) -> IndexedTexts:
        declared = {each.name: each for each in declared_indexes.listed(self.store)} if index is None else {name: index}
        if name not in declared:
            known = sorted({*vector_spaces.spaces(), *declared})
            raise UnknownName(f"there is no space or index '{name}'. {closest(name, known)}")
        with _LOCK:
            of_store = _OPEN.setdefault(self.store, {})
            if name not in of_store or of_store[name].index.sparql != declared[name].sparql:
                of_store[name] = IndexedTexts(declared[name], self.store, self.files)
            return of_store[name]


def index_spaces(spaces: VectorSpaces) -> list[str]:
    """Return the names of the vector spaces of indexes."""
    return [name for name in spaces.names() if name.startswith(space_name(""))]


def release(store: TripleStore) -> None:
    """Let go of what is open of a store, with texts that are gone from it."""
    with _LOCK:
        _OPEN.pop(store, None)


def _failed(name: str, error: InvalidSPARQL) -> str:
    return f"the index '{name}' could not be brought up to date: {error} `kgrag index add {name}` declares it anew."
