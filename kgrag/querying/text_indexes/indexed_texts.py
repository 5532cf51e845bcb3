"""The texts of one index with their words and vectors, which follow the store.

Where the query allows it (``index_queries.by_subject``) and the store says what changed (``index_changes``), the texts
of the subjects of changed statements are read again, else all are; either way in a process of its own, and only what
came out otherwise is indexed and embedded again. Whoever finds an index behind brings it up to date, alone, while
others that search it wait; nothing else waits for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from kgrag.errors import InvalidSPARQL
from kgrag.index.bm25 import LexicalIndex
from kgrag.ports import Embedder, TripleStore, VectorIndex, VectorSpaces
from kgrag.querying.text_indexes import index_queries, text_index_files
from kgrag.querying.text_indexes.declared_indexes import TextIndex
from kgrag.querying.text_indexes.index_changes import changed_subjects
from kgrag.querying.text_indexes.text_index_files import SavedTexts, fingerprint
from kgrag.store.lineage import lineage

__all__ = ["IndexFiles", "IndexedTexts", "space_name"]

_BATCH = 1024  # texts embedded at once
_SAVE_EVERY = 20  # batches, so that a killed run loses at most this many
_PREFIX = "index_"  # no space of a method has this character in its name


def space_name(index: str) -> str:
    """Return the name of the vector space of an index."""
    return f"{_PREFIX}{index}"


@dataclass(frozen=True, slots=True)
class IndexFiles:
    """Where an index is kept: ``folder`` has its files, ``scratch`` is for copies of the store; None: in memory.

    ``save``: whether anything may be written.
    """

    folder: Path | None = None
    scratch: Path | None = None
    save: bool = True

    def texts(self, name: str) -> Path | None:
        """Return the file of the texts of an index."""
        return None if self.folder is None else self.folder / f"{space_name(name)}_texts.npz"

    def words(self, name: str) -> Path | None:
        """Return the file that lists the words of an index."""
        return None if self.folder is None else self.folder / f"{space_name(name)}.npz"


class IndexedTexts:
    """The texts of one index; safe to use from several threads.

    Attributes:
        made: how often all texts were read; ``followed``: how often only those of changed subjects.
        problem: why it could not be brought up to date the last time; "" when it could.
        embedding: how many texts wait for their vectors.
    """

    def __init__(self, index: TextIndex, store: TripleStore, files: IndexFiles) -> None:
        self.index = index
        self.made = self.followed = self.embedding = 0
        self.problem = ""
        self._store = store
        self._files = files
        self._query = fingerprint(index.sparql)
        self._by_subject = _follows(index.sparql)
        self._turn = Lock()
        self._embedding_turn = Lock()
        self._revision = -1
        self._texts: dict[str, str] = {}
        self._words = LexicalIndex.build([], [])
        self._waiting: set[str] = set()
        self._gone: set[str] = set()
        self._embedded: VectorIndex | None = None
        self._saved_waiting = False
        self._opened = False

    def __len__(self) -> int:
        """Count the texts."""
        return len(self._texts)

    @property
    def revision(self) -> int:
        """The store revision that the texts reflect; -1 before they were read."""
        return self._revision

    @property
    def follows(self) -> bool:
        """Whether a change of the store costs in proportion to it; else all texts are read again."""
        return self._by_subject

    def words(self) -> LexicalIndex:
        """Return the words of the texts that the store has now.

        Raises:
            InvalidSPARQL: the query fails; with the name of the index.
            StorageFailed: the disk refused.
        """
        with self._turn:
            self._follow()
            return self._words

    def vectors(self, spaces: VectorSpaces, embedder: Embedder) -> VectorIndex:
        """Return the vectors of the texts that the store has now.

        Raises:
            EmbeddingMismatch: they were made by another embedder.
            InvalidSPARQL, ServiceError, StorageFailed: as of ``words``, and of the embedder.
        """
        with self._embedding_turn:
            space = spaces.space(space_name(self.index.name))
            with self._turn:
                self._follow()
                if self._embedded is not space:
                    known = set(space.keys())
                    self._gone = known - self._texts.keys()
                    self._waiting |= self._texts.keys() - known
                    self._embedded = space
                revision = self._revision
                gone, self._gone = self._gone, set()
                waiting = [(iri, self._texts[iri]) for iri in sorted(self._waiting)]
            space.delete(gone)
            self._embed(space, waiting, embedder)
            if space.revision != revision:
                space.save(revision)
            if waiting and self._saved_waiting:
                with self._turn:
                    self._save()
            return space

    def texts(self, iris: Collection[str]) -> dict[str, str]:
        """Return the texts of those IRIs that are indexed."""
        return {iri: self._texts[iri] for iri in iris if iri in self._texts}

    # the texts

    def _follow(self) -> None:
        if not self._opened:
            self._open()
        now = self._store.revision
        if self._revision == now:
            return
        subjects = changed_subjects(self._store, self._revision) if self._by_subject else None
        try:
            texts = index_queries.run(self.index.sparql, self._store, self._files.scratch, only=subjects)
        except Exception as error:
            self.problem = str(error)
            raise
        self.problem = ""
        before: Mapping[str, str] = self._texts
        if subjects is not None:
            before = {iri: self._texts[iri] for iri in subjects if iri in self._texts}
        self._change(before, texts, now)
        if subjects is not None:
            self.followed += 1
            return
        self.made += 1
        self._save()

    def _change(self, before: Mapping[str, str], after: Mapping[str, str], revision: int) -> None:
        """Put texts in the place of others."""
        added = {iri: text for iri, text in after.items() if before.get(iri) != text}
        removed = before.keys() - after.keys()
        if added or removed:
            self._words = self._words.with_changes(added=added.items(), removed=removed, revision=revision)
        else:
            self._words = self._words.at(revision)
        for iri in removed:
            del self._texts[iri]
        self._texts.update(added)
        self._waiting.difference_update(removed)
        self._waiting.update(added)
        self._gone.difference_update(added)
        self._gone.update(removed)
        self.embedding = len(self._waiting)
        self._revision = revision

    def _open(self) -> None:
        """Read the files of the index, where they are of its query and of this store."""
        self._opened = True
        path, words = self._files.texts(self.index.name), self._files.words(self.index.name)
        saved = None if path is None else text_index_files.read(path, self._query)
        if saved is None or saved.revision > self._store.revision:
            return
        if saved.lineage != lineage(self._store, saved.revision):
            return
        kept = None if words is None else LexicalIndex.load(words)
        if kept is None or kept.revision != saved.revision or len(kept) != len(saved.texts):
            kept = LexicalIndex.build(list(saved.texts), list(saved.texts.values()), revision=saved.revision)
        self._texts, self._words, self._revision = dict(saved.texts), kept, saved.revision
        self._waiting, self._saved_waiting = set(saved.waiting), bool(saved.waiting)
        self.embedding = len(self._waiting)

    def _save(self) -> None:
        path, words = self._files.texts(self.index.name), self._files.words(self.index.name)
        if path is None or words is None or not self._files.save:
            return
        line = lineage(self._store, self._revision)
        self._words.save(words, lineage=line)
        text_index_files.write(
            path, self._query, SavedTexts(self._revision, line, self._texts, frozenset(self._waiting))
        )
        self._saved_waiting = bool(self._waiting)

    # the vectors

    def _embed(self, space: VectorIndex, waiting: Sequence[tuple[str, str]], embedder: Embedder) -> None:
        """Make the vectors of (IRI, text) pairs, while others may search by words and change the texts."""
        for number, first in enumerate(range(0, len(waiting), _BATCH), 1):
            batch = waiting[first : first + _BATCH]
            vectors = embedder.embed([text for _, text in batch], "passage")
            space.upsert([iri for iri, _ in batch], vectors)
            with self._turn:
                self._waiting.difference_update(iri for iri, text in batch if self._texts.get(iri) == text)
                self._gone.update(iri for iri, _ in batch if iri not in self._texts)
                self.embedding = len(self._waiting)
            if number % _SAVE_EVERY == 0:
                space.save(space.revision)


def _follows(sparql: str) -> bool:
    """Return whether a change costs in proportion to it; of a query that is refused by now, running it says why."""
    try:
        return index_queries.by_subject(sparql)
    except InvalidSPARQL:
        return False
