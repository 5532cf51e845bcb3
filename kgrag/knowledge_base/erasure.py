"""Documents deleted for good: no file of the knowledge base's folder has their words afterwards, which a search proves.

``forget`` takes a document out of every query. Its words stay in the files: the engine never takes a term out of its
own, completions that a model wrote from it are kept, and so are word indices, dead rows of vectors and copies of facts.
``erase`` forgets and then writes those files anew; ``vacuum`` does so for what was forgotten before.

What is to be done is written to ``erasing.json`` first, with the words that the search will look for, and that file is
removed last. Each step may be repeated, so that what a process that died did not come to is done at the next opening
for writing.

A source that has no document left goes in the step that forgets its last one: its name and root are words of places.

Not touched: backups and exports (``Erasure.backups`` names those that were made by this knowledge base), models that
were trained on questions about the documents, blocks of the disk that the operating system has freed and not reused,
and whatever else copied the folder.

Queries read: ``catalogue/graphs``. Graph written: provenance, the receipt (``kgrag.knowledge_base.receipts``).
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import EmbeddingMismatch, UnknownName
from kgrag.index import bm25
from kgrag.knowledge_base import document_sources, forgetting, receipts
from kgrag.knowledge_base.receipts import proof_of, signing_key
from kgrag.knowledge_base.worker_parts import BUILD_SHARDS, SHARDS
from kgrag.late_patterns import late_re
from kgrag.llm import completion_cache
from kgrag.llm.text_marks import WORDS, WORDS_PER_MARK, marks_of, runs
from kgrag.model import GraphDraft, Term
from kgrag.ports import TripleStore, VectorSpaces, WritesAnew
from kgrag.querying.text_indexes import text_indexes
from kgrag.querying.text_indexes.text_indexes import index_spaces
from kgrag.resources import version
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.vocab import DCTERMS, KG, PROV, XSD

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from kgrag.settings import Settings

__all__ = ["Erasable", "Erasure", "erase", "intended", "note_backup", "resume", "vacuum"]

_LOG = logging.getLogger(__name__)
_INTENT = "erasing.json"
_BACKUPS = "backups.jsonl"
_SOURCE_KINDS = (KG.DocumentGraph, KG.OntologyGraph, KG.DataGraph, KG.LexicalGraph)
_WORDS_IN_A_ROW = 8
"""So many words in a row that no source which stays has are taken for the document's; of a shorter text three."""
_NAME = late_re(r"(?<=[\w,;:] )[^\W\da-z_]\w{3,}")
"""A word with a capital that begins no sentence."""
_MAX_NAMES_BY_BYTES = 200  # searched one by one in each file
_CHANCE = 1e-6
"""How often, at most, bytes at random may have a name: a store of a gigabyte has each four letters somewhere."""
_BYTES_PER_PIECE, _BYTES_OVERLAPPING = 1 << 24, 1 << 12
_LEXICAL, _CACHE = "lexical", "cache"


class Erasable(Protocol):
    """What is needed of a knowledge base."""

    @property
    def path(self) -> Path | None:
        """Its folder; None in memory."""

    @property
    def store(self) -> TripleStore:
        """The triple store."""

    @property
    def spaces(self) -> VectorSpaces:
        """The vector spaces."""

    @property
    def settings(self) -> Settings:
        """Its settings, of which one may name a key that signs receipts."""

    def release_copies(self) -> None:
        """Let go of what was made from the store and kept in files of its own."""


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erasure did, and what its search found.

    Attributes:
        documents: SHA-256 of the text of each document that was erased.
        dropped: how many graphs were dropped.
        completions: how many completions of a model were deleted.
        sought: how many runs of words and names, which no source that stays has, were searched for.
        files: how many files were searched, those of the store by what the engine reads from them too. In bytes that
            are no text, a name is sought from the length that chance does not give.
        found: where any of them was found; empty unless something is wrong.
        backups: folders that ``backup`` wrote before the erasure, and that are there.
        receipt: IRI of the receipt, an activity in the provenance graph; "" for none.
    """

    documents: tuple[str, ...] = ()
    dropped: int = 0
    completions: int = 0
    sought: int = 0
    files: int = 0
    found: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()
    receipt: str = ""


@dataclass(frozen=True, slots=True)
class _Needles:
    """What is searched for, in lower case: runs of words, how long they are, and names."""

    runs: frozenset[str]
    lengths: frozenset[int]
    names: frozenset[str]
    first_words: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first_words = {word for run in self.runs for word in WORDS.findall(run)[:1]}
        object.__setattr__(self, "first_words", frozenset(first_words | self.names))

    def __len__(self) -> int:
        return len(self.runs) + len(self.names)

    def within(self, text: str) -> bool:
        """Return whether a text has any of them as words."""
        words = WORDS.findall(text.casefold())
        if self.first_words.isdisjoint(words):  # so it is with most of the terms of a store
            return False
        return not self.names.isdisjoint(words) or any(
            not self.runs.isdisjoint(runs(text, length)) for length in self.lengths
        )

    def not_by_chance(self, size: int) -> _Needles:
        """Return those that so many bytes which are no text do not have by chance: runs, and names of some length.

        A byte at random is a given letter, large or small, in 2 of 256 cases.
        """
        shortest = math.log(max(size, 1) / _CHANCE, 128)
        return replace(self, names=frozenset(name for name in self.names if len(name.encode()) >= shortest))

    def within_bytes(self, piece: bytes) -> bool:
        """Return whether bytes, in lower case, have any of them: the longest names anywhere, all else as words."""
        longest = sorted(self.names, key=len)[-_MAX_NAMES_BY_BYTES:]
        return any(pattern in piece for name in longest for pattern in _as_bytes(name)) or self.within(
            piece.decode("utf-8", "replace")
        )


def erase(kb: Erasable, erased: Sequence[str]) -> Erasure:
    """Forget documents, by their IRIs, and delete their words from every file of the knowledge base.

    Raises:
        UnknownName: there is no such document; nothing was done.
        InvalidSettings: the key for the receipt cannot be read; nothing was done.
        StorageFailed: the disk refused; the next opening for writing goes on.
    """
    texts = sorted({text for document in erased for text in _texts_of(kb.store, document)})
    hashes = [_hash_of(kb.store, document) for document in erased]
    intent = {"documents": list(erased), "hashes": hashes, "texts": texts, "begun": _now()}
    _write_intent(kb, intent)
    return _carry_out(kb, intent)


def vacuum(kb: Erasable) -> Erasure:
    """Delete from every file what is in no triple any more; the words of what was forgotten before are not known.

    Raises:
        InvalidSettings: the key for the receipt cannot be read; nothing was done.
        StorageFailed: the disk refused; the next opening for writing goes on.
    """
    intent: dict[str, Any] = {"documents": [], "hashes": [], "texts": [], "begun": _now()}
    _write_intent(kb, intent)
    return _carry_out(kb, intent)


def intended(path: Path | None) -> bool:
    """Return whether an erasure began and did not come to its end; what was not written down whole is removed."""
    if path is not None:
        (path / f"{_INTENT}.new").unlink(missing_ok=True)
    return path is not None and (path / _INTENT).is_file()


def resume(kb: Erasable) -> Erasure:
    """Do what an erasure that was cut short did not come to. Raises StorageFailed."""
    assert kb.path is not None
    return _carry_out(kb, json.loads((kb.path / _INTENT).read_text(encoding="utf-8")))


def note_backup(folder: Path | None, backup: Path) -> None:
    """Keep the place of a backup in the folder that it is a copy of, so that an erasure can name it.

    Where this process may not write there, that is logged as a warning. One line is added in one write, so the process
    that holds the folder need not know.
    """
    if folder is not None:
        line = json.dumps({"folder": str(backup.resolve()), "made": _now()}) + "\n"
        try:
            with (folder / _BACKUPS).open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            _LOG.warning("%s: cannot be noted in %s (%s): an erasure there will not name it.", backup, folder, error)


def _carry_out(kb: Erasable, intent: dict[str, Any]) -> Erasure:
    store = kb.store
    there = [iri for iri in intent["documents"] if store.described(store.names.document_graph(ox.NamedNode(iri)))]
    sources = _sources_that_go(store, there, intent["texts"])
    forgotten = forgetting.forget(there, store=store, spaces=kb.spaces, entries=sources)
    dropped = sum(len(each.dropped) for each in forgotten)
    needles = _needles(kb, intent["texts"])
    completions = _erase_completions(kb, intent["texts"], needles)
    _remove_copies(kb)
    _remove_answers(store, needles)
    _write_vectors(kb.spaces)
    store.rewrite()
    found, files = _search(kb, needles)
    done = Erasure(
        documents=tuple(intent["hashes"]),
        dropped=dropped,
        completions=completions,
        sought=len(needles),
        files=files,
        found=tuple(found),
        backups=tuple(_older_backups(kb.path, intent["begun"])),
    )
    receipt = _receipt(done, intent, store, signing_key(kb.path, kb.settings.signing_key))
    store.publish([receipt])
    store.flush()
    if kb.path is not None:
        (kb.path / _INTENT).unlink()
    return replace(done, receipt=_text(receipt.triples[0].subject))


def _write_intent(kb: Erasable, intent: dict[str, Any]) -> None:
    if kb.path is not None:
        kb.store.flush()  # refuses a folder that was moved
    signing_key(kb.path, kb.settings.signing_key)  # refuses what could not sign in the end
    if kb.path is None:
        return
    fresh = kb.path / f"{_INTENT}.new"
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(intent, file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(kb.path / _INTENT)


def _needles(kb: Erasable, texts: Sequence[str]) -> _Needles:
    """Return what no source that stays has of erased texts."""
    every = _all_needles(texts)
    sought, names = set(every.runs), set(every.names)
    # the engine writes the path of its folder, which may begin as that of a document, to its log
    for text in chain([str(kb.path)], _source_texts(kb.store), _places(kb.store)) if texts else ():
        names.difference_update(WORDS.findall(text.casefold()))
        for length in every.lengths:
            sought -= runs(text, length)
    return _Needles(frozenset(sought), frozenset(len(run.split()) for run in sought), frozenset(names))


def _all_needles(texts: Sequence[str]) -> _Needles:
    sought = {run for text in texts for run in runs(text, _WORDS_IN_A_ROW) if " " in run.replace(" ", "", 1)}
    names = {word.casefold() for text in texts for word in _NAME.findall(text)}
    return _Needles(frozenset(sought), frozenset(len(run.split()) for run in sought), frozenset(names))


def _sources_that_go(store: TripleStore, erased: Sequence[str], texts: Sequence[str]) -> list[ox.NamedNode]:
    """Return the sources that had no other document, whose roots its places begin with, and empty ones that name it."""
    if not erased:
        return []
    emptied, empty = document_sources.left_empty(store, set(erased))
    needles = _all_needles(texts) if empty else None
    naming = [each for each in empty if needles and (needles.within(each.name) or needles.within(each.root))]
    return [document_sources.entry(source, store) for source in (*emptied, *naming)]


def _places(store: TripleStore) -> Iterator[str]:
    """Yield where the documents that are there were read from, and what is known of these sources."""
    for locations in documents.places(store).values():
        yield from locations
    for source in document_sources.registered(store):
        yield from (source.name, source.root)


def _texts_of(store: TripleStore, document: str) -> Iterator[str]:
    """Yield what is written of a document: its text and its chunks, title, identifier, metadata and places."""
    graph = store.names.document_graph(ox.NamedNode(document))
    if not store.described(graph):
        raise UnknownName(f"there is no document <{document}>. `kgrag documents` lists them.")
    for triple in store.triples(graph):
        if isinstance(triple.object, ox.Literal) and triple.object.datatype == XSD.string:
            yield triple.object.value
    yield from documents.places(store).get(document, ())


def _source_texts(store: TripleStore) -> Iterator[str]:
    """Yield every literal of the documents, ontologies and data that are there, and the words of their IRIs."""
    kinds = {kind.value for kind in _SOURCE_KINDS}
    rows = store.select(queries.bind("catalogue/graphs", catalogue=store.names.catalogue)).values()
    for graph, kind, *_ in rows:
        if kind in kinds:
            triples = list(store.triples(ox.NamedNode(graph)))
            yield from map(_text, _terms(triples))
            # prompts have a title, or a path of headings, in front of a text
            headings = {_text(t.object) for t in triples if t.predicate in (DCTERMS.title, KG.heading)}
            headings |= {_text(t.object).partition(" ")[2] for t in triples if t.predicate == KG.headingBreak}
            texts = [_text(t.object) for t in triples if t.predicate == KG.text]
            yield from (f"{heading} {text}" for heading in headings for text in texts)


def _text(term: Term) -> str:
    return str(term) if isinstance(term, ox.Triple) else term.value


def _erase_completions(kb: Erasable, texts: Sequence[str], needles: _Needles) -> int:
    if kb.path is None:
        return 0

    def gone(written: Collection[str]) -> set[int]:
        of_them = {run for text in written for run in runs(text, WORDS_PER_MARK)}
        for text in _source_texts(kb.store) if of_them else ():
            of_them -= runs(text, WORDS_PER_MARK)
        return marks_of(of_them)

    cache = kb.path / _CACHE
    for damaged in cache.glob("completions.sqlite.damaged-*"):
        damaged.unlink()  # nobody can read which completions it has
    return completion_cache.erase(cache / "completions.sqlite", gone, texts, set(needles.names))


def _remove_copies(kb: Erasable) -> None:
    """Remove what is made again when it is next used: word indices, arrays, facts, vectors of texts, workers' files."""
    kb.release_copies()
    bm25.release(kb.store)
    text_indexes.release(kb.store)
    if kb.path is not None:
        shutil.rmtree(kb.path / _LEXICAL, ignore_errors=True)
        shutil.rmtree(kb.path / _CACHE / "facts", ignore_errors=True)
        for shards in (SHARDS, BUILD_SHARDS):
            shutil.rmtree(kb.path / _CACHE / shards, ignore_errors=True)
        for file in (kb.path / _CACHE).glob("embeddings.sqlite*"):
            file.unlink()


def _remove_answers(store: TripleStore, needles: _Needles) -> None:
    """Remove the kept answers, and feedback on them, whose words name the document though none of it was cited."""
    rows = store.select(queries.bind("catalogue/graphs", catalogue=store.names.catalogue)).values()
    kinds = {KG.AnswerGraph.value, KG.FeedbackGraph.value}
    answers = [ox.NamedNode(graph) for graph, kind, *_ in rows if kind in kinds]
    store.remove([graph for graph in answers if _is_in(store, graph, needles)])


def _is_in(store: TripleStore, graph: ox.NamedNode, needles: _Needles) -> bool:
    return any(needles.within(_text(term)) for term in _terms(store.triples(graph)))


def _terms(triples: Iterable[ox.Triple]) -> Iterator[Term]:
    """Yield the terms of a graph, each predicate once, and a subject once for triples that follow each other."""
    subject: Term | None = None
    predicates: set[ox.NamedNode] = set()
    for triple in triples:
        if triple.subject != subject:
            subject = triple.subject
            yield subject
        if triple.predicate not in predicates:
            predicates.add(triple.predicate)
            yield triple.predicate
        yield triple.object


def _write_vectors(spaces: VectorSpaces) -> None:
    """Write each space anew with the rows that it has, so that no file has a row of something deleted."""
    for name in index_spaces(spaces):
        spaces.drop(name)  # their texts are what a query makes of anything
    if isinstance(spaces, WritesAnew):
        spaces.write_anew()
        return
    for name in spaces.names():
        try:
            index = spaces.space(name)
        except EmbeddingMismatch:  # made by another embedder: the next use refuses it anyway
            spaces.drop(name)
            continue
        keys, revision = index.keys(), index.revision
        rows = index.vectors(keys) if keys else None
        spaces.drop(name)
        if rows is not None:
            fresh = spaces.space(name)
            fresh.upsert(keys, rows)
            fresh.save(revision)


def _search(kb: Erasable, needles: _Needles) -> tuple[list[str], int]:
    """Return where needles are found, in triples, keys of vectors and files, and how many files were searched."""
    found: list[str] = []
    names = kb.store.names
    rows = kb.store.select(queries.bind("catalogue/graphs", catalogue=names.catalogue)).values()
    graphs = dict.fromkeys([names.catalogue.value, *(row[0] for row in rows)])
    found += [f"graph <{graph}>" for graph in graphs if needles and _is_in(kb.store, ox.NamedNode(graph), needles)]
    if isinstance(kb.spaces, WritesAnew) and needles:  # in no file of the folder
        found += [f"vectors '{name}'" for name in kb.spaces.names() if _is_in_keys(kb.spaces, name, needles)]
    if kb.path is None:
        return found, 0
    files = [path for path in sorted(kb.path.rglob("*")) if path.is_file() and path.name not in (_INTENT, _BACKUPS)]
    for path in files if needles else ():
        binary = needles.not_by_chance(path.stat().st_size)
        if any((binary if b"\0" in piece else needles).within_bytes(piece) for piece in _pieces(path)):
            found.append(str(path.relative_to(kb.path)))
    return found, len(files)


def _is_in_keys(spaces: VectorSpaces, name: str, needles: _Needles) -> bool:
    """Return whether a key of a vector space has a needle; True where another embedder made it, and it stays closed."""
    try:
        return any(map(needles.within, spaces.space(name).keys()))
    except EmbeddingMismatch:
        return True


def _pieces(path: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in lower case, some at a time; each piece begins with the end of the one before."""
    end = b""
    with path.open("rb") as file:
        while read := file.read(_BYTES_PER_PIECE):
            piece = end + read.lower()
            yield piece
            end = piece[-_BYTES_OVERLAPPING:]


def _as_bytes(name: str) -> set[bytes]:
    """Return a word as UTF-8, and as JSON writes it."""
    return {name.encode("utf-8", "replace"), json.dumps(name)[1:-1].lower().encode("ascii")}


def _older_backups(folder: Path | None, begun: str) -> Iterator[str]:
    if folder is not None and (folder / _BACKUPS).is_file():
        for line in (folder / _BACKUPS).read_text(encoding="utf-8").splitlines():
            backup = json.loads(line)
            if backup["made"] <= begun and Path(backup["folder"]).exists():
                yield f"{backup['folder']} ({backup['made']})"


def _receipt(done: Erasure, intent: dict[str, Any], store: TripleStore, key: Ed25519PrivateKey | None) -> GraphDraft:
    """Return the statement of what was erased, by its digests, and of what was searched and found, signed by a key."""
    counts = f"sought={done.sought} files={done.files} found={len(done.found)} completions={done.completions}"
    label = f"erased {len(done.documents)} documents and wrote every file anew with kgrag {version()}; {counts}"
    ended = _now()
    said = [
        (PROV.startedAtTime, ox.Literal(intent["begun"], datatype=XSD.dateTime)),
        (PROV.endedAtTime, ox.Literal(ended, datatype=XSD.dateTime)),
        (KG.parameters, ox.Literal(counts)),
        *((KG.contentHash, ox.Literal(content)) for content in done.documents),
    ]
    # an erasure that was killed behind its receipt has another one when it is finished
    activity = store.names.activity("erasure", intent["begun"], ended, label, *done.documents)
    draft = provenance_draft([Deed(activity, label, said=said)], method=receipts.METHOD, names=store.names)
    return draft if key is None else replace(draft, triples=[*draft.triples, *proof_of(draft.triples, key, ended)])


def _hash_of(store: TripleStore, document: str) -> str:
    graph = store.names.document_graph(ox.NamedNode(document))
    hashes = (_text(triple.object) for triple in store.triples(graph) if triple.predicate == KG.contentHash)
    return next(hashes, hashlib.sha256(document.encode()).hexdigest())


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
