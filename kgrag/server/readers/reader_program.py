"""The program of a reader process; started by path, it imports kgrag only where a request needs it.

Its argument is one JSON object of limits: ``memory`` and ``stack`` in bytes. Standard input, a socket, carries one
request after the other: its number (4 bytes), the lengths of two JSON headers (4 bytes each) and of a body (8 bytes),
the headers, the body. One read takes at most one request, or a part of it: the sender can take back the rest. Standard
output carries frames: a letter, the number of the request (4 bytes), the length of the payload (4 bytes), and the
payload. Frames are written 64 KiB at a time, and at the end of the request.

======  ===========================================================================
letter  payload
======  ===========================================================================
``R``   none: the process is ready for its first request
``H``   the media type of the result; once, before the first ``D``
``D``   bytes of the result, 64 KiB or less
``E``   JSON: ``kind`` (syntax, refused, unacceptable, too large, failed) and ``message``
``Z``   none, or the count of rows (8 bytes) where rows were counted: the request is done
``W``   instead of all others, a small result: microseconds of work (4 bytes), length of the media type (1 byte),
        media type, bytes
======  ===========================================================================

The first thread only waits for the end of the input, and then ends the process, in mid query too. Another, with a
large stack, does the work: a result of the engine belongs to one thread. A signal lowers the priority of that thread,
where a request takes long; the next one is done by a new thread, since only root may raise a priority again.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import select
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

__all__ = ["GIVE_WAY", "main"]

GIVE_WAY = signal.SIGUSR1
"""The signal that lowers the priority of the request at work."""
_PRIORITY_OF_LONG = 15
"""Niceness: about a thirtieth of the processor where others want it."""

_BLOCK_BYTES = 1 << 16
_MAX_CACHED_HEADER_BYTES = 8192
_LARGE_RESULT_BYTES = 1 << 24
"""After a result of this size the engine's cache is large enough to be worth giving back."""
_PAUSE_SECONDS = 0.5
"""Time without a request before memory is given back, which takes a while."""
_MESSAGE_HEAD = struct.Struct(">IIIQ")
_FRAME_HEAD = struct.Struct(">cII")
_INPUT = memoryview(bytearray(_BLOCK_BYTES))
_NO_GRAPH = "urn:kgrag:none"
_WRITTEN_BY = ("https://w3id.org/kgrag/ns#lexicalForm", "https://w3id.org/kgrag/ns#languageTag")
"""Properties that a store has where it knows how something was written; see ``kgrag.querying.written_results``."""
_NEW_NETWORK = 0x50000000
"""CLONE_NEWUSER | CLONE_NEWNET: this process sees a network without any interface."""

_Header = dict[str, Any]
"""The JSON headers of a request as one; which fields it has depends on its ``task``."""


class _TooLarge(Exception):
    """The result has more bytes or rows than are allowed; the argument is which of them."""


class _Unacceptable(Exception):
    """No format that the client accepts fits this form of query."""


class _Output:
    """Standard output.

    Attributes:
        number: of the request that is being worked on.
    """

    def __init__(self) -> None:
        self.number = 0
        self._unwritten: list[bytes] = []

    def add_frame(self, letter: bytes, payload: bytes) -> None:
        """Add a frame to the answer; a full block is written at once, with all before it."""
        self._unwritten.append(_FRAME_HEAD.pack(letter, self.number, len(payload)) + payload)
        if len(payload) >= _BLOCK_BYTES:
            self.write()

    def add_error(self, kind: str, problem: object) -> None:
        """Add a frame with what is wrong."""
        message = str(problem.args[0]) if isinstance(problem, Exception) and problem.args else str(problem)
        self.add_frame(b"E", json.dumps({"kind": kind, "message": message}).encode())

    def write(self) -> None:
        """Write all frames."""
        data = b"".join(self._unwritten)
        self._unwritten.clear()
        while data:
            data = data[os.write(1, data) :]


_OUTPUT = _Output()


class _RowCounter:
    r"""Counts the rows of a table as it is written: in JSON by the braces outside strings, else by the ends of rows.

    The engine writes JSON without blanks: an object opens a row after ``[`` or ``,``, and a value after ``:``. In CSV a
    row ends at a line break outside quotes; TSV writes line breaks as ``\n``.
    """

    def __init__(self, media: str) -> None:
        self.count = 0
        self._kind = next(kind for kind in ("json", "xml", "csv", "tab") if kind in media)
        self._rest = b""
        self._quoted = False

    def add(self, data: bytes) -> None:
        data = self._rest + data
        if self._kind == "xml":
            self.count += data.count(b"<result>")
            self._rest = data[-7:] if b"<" in data[-7:] else b""
        elif self._kind == "tab":
            self.count += data.count(b"\n")
        else:
            self._count_outside_quotes(data)

    def _count_outside_quotes(self, data: bytes) -> None:
        if self._kind == "json":
            cut = len(data) - (len(data) - len(data.rstrip(b"\\"))) % 2  # a backslash may escape what comes next
            data, self._rest = data[:cut].replace(b"\\\\", b"").replace(b'\\"', b""), data[cut:]
        parts = data.split(b'"')
        outside = b'"'.join(parts[self._quoted :: 2])
        self._quoted ^= len(parts) % 2 == 0
        if self._kind == "csv":
            self.count += outside.count(b"\n")
            return
        self.count += outside.count(b"[{") + outside.count(b",{")
        if not self._quoted and data[-1:] in (b"[", b","):
            self._rest = data[-1:] + self._rest

    @property
    def rows(self) -> int:
        return self.count if self._kind in ("json", "xml") else max(self.count - 1, 0)  # without the line of names


class _XmlCharacters:
    """Looks for what XML 1.0 has no way to write: the engine writes it as it is, and no parser reads the result."""

    _NONE_OF_XML = re.compile(rb"[\0-\x08\x0b\x0c\x0e-\x1f]|\xef\xbf[\xbe\xbf]")

    def __init__(self) -> None:
        self._last = b""

    def check(self, data: bytes) -> None:
        """Raise ``_Unacceptable`` for such a character, also where it began in what came before."""
        found = self._NONE_OF_XML.search(self._last + data)
        if found is not None:
            code = ord(found[0].decode())
            raise _Unacceptable(
                f"the result has the character U+{code:04X}, which XML cannot have; ask for JSON or TSV"
            )
        self._last = (self._last + data)[-2:]


class _ResultFile:
    """A file that the engine writes a result to; its bytes become frames.

    Args:
        media: the media type.
        max_bytes: bytes that may be written.
        max_rows: rows that may be written; 0: any number, and they are not counted.
        started: when the work for the result began, by ``time.perf_counter``.

    Attributes:
        whole: whether the result went out as one frame, at its end.
    """

    def __init__(self, media: str, *, max_bytes: int, max_rows: int, started: float) -> None:
        self.sent_bytes = 0
        self.whole = False
        self.rows = _RowCounter(media) if max_rows else None
        self._unsent_media = media
        self._xml = _XmlCharacters() if media.endswith("xml") else None
        self._max_bytes = max_bytes
        self._max_rows = max_rows
        self._started = started
        self._block = bytearray()

    def write(self, data: bytes) -> int:
        self.sent_bytes += len(data)
        if self.sent_bytes > self._max_bytes:
            raise _TooLarge("bytes")
        if self.rows is not None:
            self.rows.add(bytes(data))
            if self.rows.rows > self._max_rows:
                raise _TooLarge("rows")
        if self._xml is not None:
            self._xml.check(bytes(data))
        self._block += data
        while len(self._block) >= _BLOCK_BYTES:
            self._send(bytes(self._block[:_BLOCK_BYTES]))
            del self._block[:_BLOCK_BYTES]
        return len(data)

    def flush(self) -> None:
        """Do nothing: the engine calls this often, and blocks are sent when they are full."""

    def finish(self) -> None:
        """Send what is left; a small result whose rows are not counted goes as a whole."""
        if self._unsent_media and self.rows is None:
            media = self._unsent_media.encode()
            microseconds = min(int(1e6 * (time.perf_counter() - self._started)), 0xFFFFFFFF)
            _OUTPUT.add_frame(b"W", microseconds.to_bytes(4, "big") + bytes((len(media),)) + media + self._block)
            self.whole = True
        else:
            self._send(bytes(self._block))

    def _send(self, block: bytes) -> None:
        if self._unsent_media:
            _OUTPUT.add_frame(b"H", self._unsent_media.encode())
            self._unsent_media = ""
        _OUTPUT.add_frame(b"D", block)


def main() -> None:
    """Work on requests until the input ends."""
    limits = json.loads(sys.argv[1])
    _confine(limits["memory"])
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C in a terminal comes to the whole group; the server decides
    threading.stack_size(limits["stack"])
    runner, (left, leaves) = _TaskRunner(), os.pipe()
    worker = _worker(runner, leaves)

    def give_way(_number: int, _frame: object) -> None:
        with suppress(OSError):  # it has just left, or has a lower one already
            if worker.native_id is not None:
                os.setpriority(os.PRIO_PROCESS, worker.native_id, _PRIORITY_OF_LONG)

    signal.signal(GIVE_WAY, give_way)
    _OUTPUT.add_frame(b"R", b"")
    _OUTPUT.write()
    worker.start()  # not before: a request may be here already, and two that write at once mix their frames
    woken = select.poll()
    woken.register(0, 0)
    woken.register(left, select.POLLIN)
    while all(number != 0 for number, _ in woken.poll()):
        os.read(left, 1)
        worker = _worker(runner, leaves)
        worker.start()
    os._exit(0)


def _worker(runner: _TaskRunner, leaves: int) -> threading.Thread:
    return threading.Thread(target=_work, args=(runner, leaves), daemon=True)  # with the priority of who starts it


def _confine(memory: int) -> None:
    """Take network, memory and core dumps away, as far as the system can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _work(runner: _TaskRunner, leaves: int) -> None:
    """Work on requests until the priority of this thread was lowered; then a byte is written to a pipe."""
    input_ = select.poll()
    input_.register(0, select.POLLIN)
    priority = os.getpriority(os.PRIO_PROCESS, 0)  # on Linux, that of the thread
    while os.getpriority(os.PRIO_PROCESS, 0) == priority:
        if runner.cache_is_large and not input_.poll(1000 * _PAUSE_SECONDS):
            runner.close_store()
        header, body = _read_request()
        runner.begin()
        try:
            getattr(runner, header["task"])(header, body)
            if runner.result is not None:
                runner.result.finish()
        except SyntaxError as error:
            _OUTPUT.add_error("syntax", error)
        except _TooLarge as error:
            limit = header[f"max_{error}"]
            _OUTPUT.add_error(
                "too large", f"the result has more than {limit:,} {error}. Add a LIMIT, or ask for parts of it"
            )
        except _Unacceptable as error:
            _OUTPUT.add_error("unacceptable", error)
        except (ValueError, RuntimeError) as error:
            _OUTPUT.add_error("refused", error)
        except Exception as error:  # whatever it is, the server must be able to answer its client
            # a serializer that lacks something, as JSON-LD lacks triple terms, raises what a failing disk raises
            lacks = isinstance(error, OSError) and "does not support" in str(error)
            _OUTPUT.add_error("unacceptable" if lacks else "failed", error)
        result = runner.result
        if result is None or not result.whole:
            rows = b"" if result is None or result.rows is None else struct.pack(">Q", result.rows.rows)
            _OUTPUT.add_frame(b"Z", rows)
        _OUTPUT.write()
        runner.cache_is_large |= result is not None and result.sent_bytes > _LARGE_RESULT_BYTES
    os.write(leaves, b"x")


def _read_request() -> tuple[_Header, bytes]:
    data = _read_input()
    while len(data) < _MESSAGE_HEAD.size:
        data += _read_input()
    _OUTPUT.number, first, second, body = _MESSAGE_HEAD.unpack_from(data)
    end = _MESSAGE_HEAD.size + first + second
    missing = end + body - len(data)
    if missing > 0:
        parts = [data]
        while missing:
            parts.append(_read_input())
            missing -= len(parts[-1])
        data = b"".join(parts)
    headers = data[_MESSAGE_HEAD.size : end]
    # most requests have one of a few pairs of headers; nobody may change the object that they share
    known = len(headers) < _MAX_CACHED_HEADER_BYTES
    return (_cached_headers if known else _parsed_headers)(headers, first), data[end:]


def _read_input() -> bytes:
    size = os.readv(0, [_INPUT])
    if not size:
        os._exit(0)
    return bytes(_INPUT[:size])


def _parsed_headers(data: bytes, first: int) -> _Header:
    return {**json.loads(data[:first]), **json.loads(data[first:])}


_cached_headers = lru_cache(maxsize=64)(_parsed_headers)


class _TaskRunner:
    """Runs one task after the other, and keeps the last snapshot open; methods that take header and body are tasks.

    Attributes:
        result: what the present task writes, if anything.
        started: when the present task began.
        cache_is_large: whether so much was read from the store that it should be closed in a pause.
    """

    def __init__(self) -> None:
        self.result: _ResultFile | None = None
        self.started = 0.0
        self.cache_is_large = False
        self._folder = ""
        self._store: ox.Store | None = None
        self._spaces: tuple[int, Any] | None = None

    def begin(self) -> None:
        """Begin the next task."""
        self.result, self.started = None, time.perf_counter()

    def close_store(self) -> None:
        """Close the store: its cache of blocks grew with what was read, and only this returns the memory."""
        self.cache_is_large, self._store = False, None
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)

    def _open_store(self, folder: str) -> ox.Store:
        if self._store is None or folder != self._folder:
            self._store = None  # closed first: two caches may be more than the memory that is allowed
            self._store = ox.Store.read_only(folder)
            self._folder = folder
        return self._store

    def _open_result(self, media: str, header: _Header, *, max_rows: int = 0) -> IO[bytes]:
        self.result = _ResultFile(media, max_bytes=header["max_bytes"], max_rows=max_rows, started=self.started)
        return cast("IO[bytes]", self.result)

    def query(self, header: _Header, body: bytes) -> None:
        """Run a query and write its result in the format that fits."""
        dataset: dict[str, list[str]] | None = header["dataset"]
        results = self._open_store(header["folder"]).query(
            body.decode(),
            base_iri=header["base"] or None,
            prefixes=header["prefixes"],
            use_default_graph_as_union=header["union"],
            default_graph=None if dataset is None else [ox.NamedNode(iri) for iri in dataset["default"]],
            named_graphs=None if dataset is None else [ox.NamedNode(iri) for iri in dataset["named"]],
            custom_functions=self._similarity(header["similar"]) if header.get("similar") else {},
        )
        is_rdf = isinstance(results, ox.QueryTriples)
        media = header["rdf" if is_rdf else "results"]
        if not media:
            form = "RDF" if is_rdf else "a table or a truth value"
            raise _Unacceptable(f"the result is {form}, and Accept names no format for that")
        max_rows = header["max_rows"] if isinstance(results, ox.QuerySolutions) else 0
        output = self._open_result(media, header, max_rows=max_rows)
        if isinstance(results, ox.QueryTriples):
            self._as_written(results, header, body).serialize(output, ox.RdfFormat.from_media_type(media))
        else:
            results.serialize(output, ox.QueryResultsFormat.from_media_type(media))

    def _as_written(self, results: ox.QueryTriples, header: _Header, body: bytes) -> Any:
        """Return triples as they were written where the query names graphs of which that is known."""
        store = self._open_store(header["folder"])
        kept = (next(store.quads_for_pattern(None, ox.NamedNode(name), None), None) for name in _WRITTEN_BY)
        if not header.get("names") or all(quad is None for quad in kept):
            return results
        _make_importable(header["root"])
        from kgrag.querying.written_results import WrittenTriples, named_graphs
        from kgrag.vocab import Names

        dataset = header["dataset"] or {"default": (), "named": ()}
        graphs = [ox.NamedNode(iri) for iri in (*dataset["default"], *dataset["named"])]
        graphs = graphs or named_graphs(body.decode(), header["prefixes"])
        select = cast("Any", store.query)
        return WrittenTriples(results, graphs, select, Names(header["names"])) if graphs else results

    def _similarity(self, similar: dict[str, Any]) -> dict[ox.NamedNode, Any]:
        """Return ``kgv:similarity`` over the vectors on disk; kgrag is imported only for a query that calls it."""
        _make_importable(similar["root"])
        import base64

        import numpy as np

        from kgrag.index.vector_folder import FolderSpaces
        from kgrag.querying.searches import functions

        if self._spaces is None or similar["revision"] != self._spaces[0]:
            folder, identity = Path(similar["folder"]), similar["identity"]
            spaces = FolderSpaces(folder, identity=identity, dimension=similar["dimension"], read_only=True)
            self._spaces = similar["revision"], spaces
        texts = {text: np.frombuffer(base64.b64decode(data), np.float32) for text, data in similar["texts"].items()}
        return dict(functions(self._spaces[1], texts))

    def dump(self, header: _Header, _body: bytes) -> None:
        """Write one graph, with its literals as they were written where a lexical graph has them."""
        graph = ox.NamedNode(header["graph"]) if header["graph"] else ox.DefaultGraph()
        output, media = self._open_result(header["rdf"], header), ox.RdfFormat.from_media_type(header["rdf"])
        store = self._open_store(header["folder"])
        if not header["lexical"] and not header["tags"]:
            store.dump(output, media, from_graph=graph)
            return
        _make_importable(header["root"])
        from kgrag.store.language_tags import by_lower_case, serialised
        from kgrag.store.lexical_forms import written

        stored, lexical = (
            (quad.triple for quad in store.quads_for_pattern(None, None, None, each))
            for each in (graph, ox.NamedNode(header["lexical"] or _NO_GRAPH))
        )
        serialised(written(stored, lexical), output, cast("ox.RdfFormat", media), by_lower_case(header["tags"]))

    def parse(self, header: _Header, body: bytes) -> None:
        """Read RDF that somebody sent, and write it as N-Quads with blank nodes of fresh names."""
        media = ox.RdfFormat.from_media_type(header["media"])
        quads = ox.parse(body, media, base_iri=header["base"] or None, rename_blank_nodes=True)
        ox.serialize(quads, self._open_result("application/n-quads", header), ox.RdfFormat.N_QUADS)

    def check_update(self, header: _Header, body: bytes) -> None:
        """Parse an update; what it would do to an empty store is of no interest."""
        with suppress(ValueError, RuntimeError, OSError):
            ox.Store().update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def try_update(self, header: _Header, body: bytes) -> None:
        """Run an update on a copy of the store that is thrown away afterwards."""
        store = ox.Store(header["copy"])
        store.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def call(self, header: _Header, body: bytes) -> None:
        """Call a function of the server on the snapshot, or an empty store, and write what it returns as JSON."""
        _make_importable(header["root"])
        module, name = header["function"].split(":")
        store = self._open_store(header["folder"]) if header["folder"] else ox.Store()
        returned = getattr(importlib.import_module(module), name)(header, body, store)
        self._open_result("application/json", header).write(json.dumps(returned).encode())

    def ping(self, header: _Header, _body: bytes) -> None:
        """Open the snapshot and do nothing."""
        self._open_store(header["folder"])


def _make_importable(root: str) -> None:
    """Append a folder to those that modules are imported from."""
    if root not in sys.path:
        sys.path.append(root)


if __name__ == "__main__":
    main()
