"""Keeps completions, so that a rerun costs nothing, a crash resumes, and a recorded run replays offline.

A completion is keyed by the model's identity, the prompt's text and its schema, and kept with a checksum: what was
changed on the disk is asked for again, never passed on. Each is written to disk, in a
transaction of its own, before it is passed on: a killed process loses nothing that it had received. The inner model is
read in a thread of its own (``ahead``), so that its completions are kept as they come, however slow the consumer.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import KW_ONLY, astuple, dataclass, field, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Event, RLock, Thread
from typing import Any, Literal, Self, TypeVar

from kgrag.errors import CompletionMissing, StorageFailed
from kgrag.llm import reply_faults
from kgrag.llm.costs import declaration, planned, schema_tokens
from kgrag.llm.reply_lengths import Lengths
from kgrag.llm.text_marks import WORDS, WORDS_PER_MARK, marks_of, packed, strings, unpacked
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import LanguageModel, StreamsText
from kgrag.telemetry import in_context

__all__ = ["CachedModel", "ahead", "erase"]

Item = TypeVar("Item")

_LOG = logging.getLogger(__name__)
_DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_BUSY_TIMEOUT_SECONDS = 60.0
_TABLE = "CREATE TABLE IF NOT EXISTS completion (key TEXT PRIMARY KEY, prompt TEXT NOT NULL, value TEXT NOT NULL)"
_COSTS = (
    "CREATE TABLE IF NOT EXISTS cost (day TEXT, method TEXT, model TEXT, completions INTEGER, input INTEGER, "
    "output INTEGER, PRIMARY KEY (day, method, model)) WITHOUT ROWID"
)
_ADD_COST = (
    "INSERT INTO cost VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (day, method, model) DO UPDATE SET "
    "completions = completions + excluded.completions, input = input + excluded.input, "
    "output = output + excluded.output"
)
_REPLIES = (
    "CREATE TABLE IF NOT EXISTS reply (model TEXT, prompt TEXT, count INTEGER, planned_input INTEGER, input INTEGER, "
    "planned INTEGER, taken INTEGER, planned_squares REAL, products REAL, taken_squares REAL, "
    "PRIMARY KEY (model, prompt)) WITHOUT ROWID"
)
_SCHEMAS = (  # a table of its own, so that files of versions before it, and these versions, stay readable
    "CREATE TABLE IF NOT EXISTS schema (model TEXT, prompt TEXT, planned INTEGER, PRIMARY KEY (model, prompt)) "
    "WITHOUT ROWID"
)
_ADD_SCHEMA = (
    "INSERT INTO schema VALUES (?, ?, ?) ON CONFLICT (model, prompt) DO UPDATE SET planned = planned + excluded.planned"
)
_ADD_REPLY = (
    "INSERT INTO reply VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (model, prompt) DO UPDATE SET "
    "count = count + excluded.count, planned_input = planned_input + excluded.planned_input, "
    "input = input + excluded.input, planned = planned + excluded.planned, taken = taken + excluded.taken, "
    "planned_squares = planned_squares + excluded.planned_squares, products = products + excluded.products, "
    "taken_squares = taken_squares + excluded.taken_squares"
)
_READ_REPLIES = (
    "SELECT prompt, count, planned_input, input, reply.planned, taken, planned_squares, products, taken_squares, "
    "coalesce(schema.planned, 0) FROM reply LEFT JOIN schema USING (model, prompt) WHERE model = ?"
)
_ASKED = (
    "CREATE TABLE IF NOT EXISTS asked (model TEXT, method TEXT, prompt TEXT, count INTEGER, input INTEGER, "
    "output INTEGER, PRIMARY KEY (model, method, prompt)) WITHOUT ROWID"
)
_ADD_ASKED = (
    "INSERT INTO asked VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (model, method, prompt) DO UPDATE SET "
    "count = count + excluded.count, input = input + excluded.input, output = output + excluded.output"
)
_READ_ASKED = "SELECT prompt, count, input, output FROM asked WHERE model = ? AND method = ?"
_READ_PAID = "SELECT prompt, model, count, input, taken FROM reply"
_READ_COSTS = "SELECT day, method, model, completions, input, output FROM cost ORDER BY day, method, model"
_READ = "SELECT value FROM completion WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO completion VALUES (?, ?, ?)"


@dataclass(frozen=True, eq=False)
class CachedModel:
    """A language model whose completions are kept.

    A completion that was cut, has another problem or is no reply to its prompt (``reply_faults``) is not kept, so that
    a rerun tries again. Equal prompts in one call are asked once. A completion from the cache costs
    ``Usage(0, 0, 0)``; what others cost is added up in the file, by day, method and model, and how long replies were,
    by model and prompt.

    Args:
        inner: the model that is asked for completions that are not in the cache.
        path: an SQLite file; None: in memory. A damaged file is moved aside and begun anew.
        mode: "record" reads and keeps; "replay" never asks the inner model; "off" passes everything through, and
            adds up no costs.
        method: for which it asks, in ``costs``.
    """

    inner: LanguageModel
    path: Path | None = None
    _: KW_ONLY
    mode: Literal["record", "replay", "off"] = "record"
    method: str = ""
    _open: list[sqlite3.Connection] = field(default_factory=list, init=False, repr=False)
    _lock: Any = field(default_factory=RLock, init=False, repr=False)

    def around(self, inner: LanguageModel, *, method: str = "") -> CachedModel:
        """Return the same cache around another model of the same identity, for a method."""
        made = replace(self, inner=inner, method=method or self.method)
        object.__setattr__(made, "_open", self._open)
        object.__setattr__(made, "_lock", self._lock)
        return made

    @property
    def identity(self) -> str:
        """That of the inner model."""
        return self.inner.identity

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order.

        Raises:
            CompletionMissing: replaying, and a prompt is not in the recording.
            StorageFailed: the disk refused the cache.
            ServiceError: the inner model failed; what it had completed is kept.
        """
        arrived = dict(self.as_completed(prompts))
        return [arrived[index] for index in range(len(prompts))]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion): those in the cache first, then those of the inner model as they come.

        Each is kept the moment it comes, even while the consumer is busy. Raises what ``complete`` raises.
        """
        if self.mode == "off":
            for number, reply in self.inner.as_completed(prompts):
                yield number, reply_faults.judged(prompts[number], reply)
            return
        indexes: dict[str, list[int]] = {}
        for index, prompt in enumerate(prompts):
            indexes.setdefault(self._key(prompt), []).append(index)
        known = {key: found for key, places in indexes.items() if (found := self._known(key, prompts[places[0]]))}
        missing = {key: prompts[places[0]] for key, places in indexes.items() if key not in known}
        if missing and self.mode == "replay":
            names = Counter(prompt.name for prompt in missing.values())
            listed = ", ".join(f"{missed} of '{name}'" for name, missed in sorted(names.items()))
            raise CompletionMissing(
                f"the recording {self.path or 'in memory'} lacks {len(missing)} of {len(prompts)} completions of "
                f"{self.identity}: {listed}. Run once in mode 'record' to ask the model for them."
            )
        for key, completion in known.items():
            yield from ((index, completion) for index in indexes[key])
        for key, completion in ahead(self._asked(missing)) if missing else ():
            first, *others = indexes[key]
            yield first, completion
            yield from ((index, replace(completion, usage=Usage())) for index in others)

    def _asked(self, prompts: Mapping[str, Prompt]) -> Generator[tuple[str, Completion], None, None]:
        """Ask the inner model, and keep each completion the moment it comes."""
        keys = list(prompts)
        for number, reply in self.inner.as_completed(list(prompts.values())):
            key = keys[number]
            self._add_cost(prompts[key], reply)
            completion = reply_faults.judged(prompts[key], reply)
            self._keep(prompts[key], completion)
            yield key, completion

    def _keep(self, prompt: Prompt, completion: Completion) -> None:
        if not completion.problem and completion.finish == "stop":
            self._write(self._key(prompt), prompt, completion)

    def complete_streamed(self, prompt: Prompt, on_text: Callable[[str], None]) -> Completion:
        """Return the completion of a prompt, and pass its text on as it comes, if the inner model can.

        Raises what ``complete`` raises.
        """
        kept = self.known(prompt)
        if kept is not None or self.mode == "replay" or not isinstance(self.inner, StreamsText):
            return kept or self.complete([prompt])[0]
        reply = self.inner.complete_streamed(prompt, on_text)
        completion = reply_faults.judged(prompt, reply)
        if self.mode == "record":
            self._add_cost(prompt, reply)
            self._keep(prompt, completion)
        return completion

    def known(self, prompt: Prompt) -> Completion | None:
        """Return the completion of a prompt that needs not be asked for; None where it must."""
        return None if self.mode == "off" else self._known(self._key(prompt), prompt)

    def costs(self) -> list[tuple[str, str, str, Usage]]:
        """Return what was paid, by day (UTC), method ("" for none) and model, in this order."""
        if self.path is not None and not self.path.exists():
            return []
        try:
            rows = self._run(_READ_COSTS)
        except StorageFailed:  # a recording that is only read, of a version that wrote no costs
            return []
        return [(day, method, model, Usage(*counts)) for day, method, model, *counts in rows]

    def reply_lengths(self) -> dict[str, Lengths]:
        """Return how long the replies of this model were that were paid, by prompt.

        Of those that were planned by what another header declared, the input alone counts.
        """
        if self.mode == "off" or (self.path is not None and not self.path.exists()):
            return {}
        try:
            rows = self._run(_READ_REPLIES, self.identity)
        except StorageFailed:  # as of ``costs``
            return {}
        found: dict[str, Lengths] = {}
        for key, *sums in rows:
            name, _, declared = key.partition(" ")
            one = Lengths(*sums)
            found[name] = found.get(name, Lengths()) + (one if declared == declaration(name) else one.of_input)
        return found

    def asked_of_method(self) -> dict[str, Usage]:
        """Return what whole replies of this model took that were paid for its method, by prompt."""
        if self.mode == "off" or (self.path is not None and not self.path.exists()):
            return {}
        try:
            rows = self._run(_READ_ASKED, self.identity, self.method)
        except StorageFailed:  # as of ``costs``
            return {}
        return {prompt: Usage(*counts) for prompt, *counts in rows}

    def paid_replies(self) -> dict[str, dict[str, Usage]]:
        """Return what replies took that were paid and came whole, by prompt and by the identity of the model."""
        if self.path is not None and not self.path.exists():
            return {}
        try:
            rows = self._run(_READ_PAID)
        except StorageFailed:  # as of ``costs``
            return {}
        paid: dict[str, dict[str, Usage]] = {}
        for key, model, *counts in rows:
            of_prompt = paid.setdefault(key.partition(" ")[0], {})
            of_prompt[model] = of_prompt.get(model, Usage()) + Usage(*counts)
        return paid

    def _add_cost(self, prompt: Prompt, completion: Completion) -> None:
        used = completion.usage
        if used.completions and self.mode != "replay":
            day = datetime.now(UTC).date().isoformat()
            model = completion.model or self.identity
            self._run(_ADD_COST, day, self.method, model, used.completions, used.input_tokens, used.output_tokens)
            if used.output_tokens and completion.finish == "stop":
                *sums, schemas = astuple(Lengths.of(planned(prompt), used, schema_tokens(prompt)))
                key = f"{prompt.name} {declaration(prompt.name)}"  # sums beside plans by another header do not add up
                self._run(_ADD_REPLY, self.identity, key, *sums)
                self._run(_ADD_SCHEMA, self.identity, key, schemas)
                counts = used.completions, used.input_tokens, used.output_tokens
                self._run(_ADD_ASKED, self.identity, self.method, prompt.name, *counts)

    def _key(self, prompt: Prompt) -> str:
        parts = [self.identity, prompt.text, json.dumps(prompt.schema, sort_keys=True)]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _known(self, key: str, prompt: Prompt) -> Completion | None:
        """Return a kept completion; in a recording that goes on, none that has a fault."""
        found = self._read(key)
        return None if found and self.mode == "record" and reply_faults.fault(prompt, found) else found

    def close(self) -> None:
        """Close the file, and the inner model where it can be closed."""
        self._close_file()
        close = getattr(self.inner, "close", None)
        if callable(close):
            close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    def _read(self, key: str) -> Completion | None:
        if self.mode == "replay" and self.path is not None and not self.path.exists():
            return None
        rows = self._run(_READ, key)
        # A row that is missing or unreadable is a completion to ask for again.
        with suppress(ValueError, LookupError, TypeError):
            value = json.loads(rows[0][0])
            # rows of the first versions of kgrag have no checksum
            if value.pop("sha256", None) in (None, _checksum(key, value)):
                return Completion(text=value["text"], data=value["data"], model=value["model"])
            _LOG.warning("a completion in %s was changed on the disk; it is not used", self.path)
        return None

    def _write(self, key: str, prompt: Prompt, completion: Completion) -> None:
        value = {
            "marks": packed(marks_of(strings(prompt.variables or prompt.text))),
            "text": completion.text,
            "data": completion.data,
            "model": completion.model,
            "input_tokens": completion.usage.input_tokens,
            "output_tokens": completion.usage.output_tokens,
        }
        self._run(_WRITE, key, prompt.name, json.dumps(value | {"sha256": _checksum(key, value)}))

    def _run(self, statement: str, *values: str | float) -> list[Any]:
        """Run one statement in a transaction of its own; begin a new file when this one turns out to be damaged."""
        with self._lock:
            try:
                return self._connection().execute(statement, values).fetchall()
            except sqlite3.DatabaseError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE_CODES or self.path is None:
                    raise self._refused(error) from error
                self._move_aside(error)
                return [] if self.mode == "replay" else self._connection().execute(statement, values).fetchall()

    def _refused(self, error: Exception) -> StorageFailed:
        return StorageFailed(
            f"the cache of completions {self.path} cannot be used: {error}. Free the disk, or allow writing."
        )

    def _connection(self) -> sqlite3.Connection:
        if not self._open:
            self._open.append(self._connect())
        return self._open[0]

    def _close_file(self) -> None:
        with self._lock:
            while self._open:
                self._open.pop().close()

    def _connect(self) -> sqlite3.Connection:
        """Open the file; each statement commits by itself, and waits until it is on the disk."""
        address = ":memory:"
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise self._refused(error) from error
            address = f"{self.path.resolve().as_uri()}?mode={'ro' if self.mode == 'replay' else 'rwc'}"
        connection = sqlite3.connect(
            address, uri=True, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False
        )
        if self.mode == "replay" and self.path is not None:
            return connection
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(_TABLE)
            connection.execute(_COSTS)
            connection.execute(_REPLIES)
            connection.execute(_SCHEMAS)
            connection.execute(_ASKED)
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _move_aside(self, error: Exception) -> None:
        """Rename the damaged file; its write-ahead log belongs to it and goes along."""
        self._close_file()
        assert self.path is not None
        free_names = (self.path.with_name(f"{self.path.name}.damaged-{number}") for number in count(1))
        aside = next(name for name in free_names if not name.exists())
        _LOG.warning("the cache of completions %s is damaged (%s); it was moved to %s", self.path, error, aside)
        for suffix in ("", "-wal", "-shm"):
            part = self.path.with_name(self.path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))


def _checksum(key: str, value: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a completion under its key, in hexadecimal digits."""
    return hashlib.sha256(json.dumps([key, value], sort_keys=True).encode()).hexdigest()


def erase(path: Path, gone: Callable[[Collection[str]], set[int]], texts: Collection[str], words: set[str]) -> int:
    """Delete the completions that were made from texts or name them, and write the file anew without them.

    A completion goes when its prompt has a mark of the texts, or of a reply that goes and is in words of its own, or
    when its reply has a mark of the texts or one of the words. One of a version that kept no marks is judged by its
    reply alone.

    Args:
        path: an SQLite file; nothing happens where there is none.
        gone: returns the marks of texts that nothing which stays has.
        texts: what was erased.
        words: in lower case.

    Returns:
        How many were deleted.

    Raises:
        StorageFailed: the file cannot be read or written; nothing was deleted then.
    """
    if not path.is_file():
        return 0
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_TIMEOUT_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(_TABLE)
            deleted = _keys_made_from(connection, gone, texts, words)
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM completion WHERE key = ?", [(key,) for key in deleted])
            connection.execute("COMMIT")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return len(deleted)
    except sqlite3.Error as error:
        raise StorageFailed(f"the cache of completions {path} cannot be written anew: {error}.") from error


def _keys_made_from(
    connection: sqlite3.Connection,
    gone: Callable[[Collection[str]], set[int]],
    texts: Collection[str],
    words: set[str],
) -> set[str]:
    """Return the keys of the completions that ``erase`` deletes."""
    deleted: set[str] = set()
    marks, new = set[int](), gone(texts)
    while new:
        marks |= new
        replies: list[str] = []
        for key, text in connection.execute("SELECT key, value FROM completion"):
            if key in deleted:
                continue
            try:
                value = json.loads(text)
                reply = list(strings(value["data"] if value["data"] is not None else value["text"]))
                named = not words.isdisjoint(WORDS.findall(value["text"].casefold()))
                made_from = not marks.isdisjoint(unpacked(value.get("marks", "")) | marks_of(reply))
            except (ValueError, LookupError, TypeError, AttributeError):  # unreadable, and asked for again anyway
                reply, named, made_from = [], True, True
            if named or made_from:
                deleted.add(key)
                replies += reply
        in_no_source = gone(replies)
        # a reply that mostly repeats texts that stay leads to nothing else that was made from the ones that go
        own_words = [reply for reply in map(_long_marks, replies) if 2 * len(reply & in_no_source) > len(reply)]
        new = (set().union(*own_words) & in_no_source) - marks
    return deleted


def _long_marks(text: str) -> set[int]:
    return marks_of([text]) if len(WORDS.findall(text)) >= WORDS_PER_MARK else set()


def ahead(source: Generator[Item, None, None]) -> Iterator[Item]:
    """Yield the items of a generator in order, while the generator itself never waits for the consumer.

    When the consumer stops early, the generator is closed at its next item. An exception of the generator is raised
    here after the items before it.
    """
    arrived: SimpleQueue[tuple[Item] | BaseException | None] = SimpleQueue()  # None: the generator has ended
    stopped = Event()

    def draw() -> None:
        try:
            for item in source:
                arrived.put((item,))
                if stopped.is_set():
                    source.close()
                    break
        except BaseException as error:  # whatever it is belongs to the consumer
            arrived.put(error)
        else:
            arrived.put(None)

    Thread(target=in_context(draw), name="kgrag-draw", daemon=True).start()
    try:
        while isinstance(received := arrived.get(), tuple):
            yield received[0]
        if received is not None:
            raise received
    finally:
        stopped.set()
