"""What runs in a reader process: a program of its own, started by path; ``kgv:similarity`` and ``call`` import kgrag.

Its argument is one JSON object of limits: ``memory`` and ``stack`` in bytes. Standard input, a socket, carries one
request after the other: the lengths of two JSON headers (4 bytes each) and of a body (8 bytes), the headers, the body.
What is read there is at most one request, or a part of it: the rest can be taken back. Standard output carries frames:
a letter, the length of what follows (4 bytes), and that. Frames are written 64 KiB at a time, and at the end of the
request.

======  ===========================================================================
letter  what follows
======  ===========================================================================
``R``   nothing: the process is ready for its first request
``H``   the media type of the result; once, before the first ``D``
``D``   bytes of the result, 64 KiB or less
``E``   JSON: ``kind`` (syntax, refused, unacceptable, too large, failed) and ``message``
``Z``   nothing, or the count of rows (8 bytes) where rows were counted: the request is done
``W``   instead of all others, a small result: microseconds of work (4 bytes), length of the media type (1 byte),
        media type, bytes
======  ===========================================================================

The first thread only waits for the end of the input, and then ends the process, in mid query too. The second, with a
large stack, does the work: a result of the engine belongs to one thread.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
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

__all__ = ["main"]

_BLOCK = 1 << 16
_SHORT = 8192
_MUCH = 1 << 24
_PAUSE = 0.5
"""Seconds without a request before memory is given back, which takes a while."""
_LENGTHS = struct.Struct(">IIQ")
_INPUT = memoryview(bytearray(_BLOCK))
_KEPT: list[bytes] = []
"""Frames that are not written yet."""
_NEW_NETWORK = 0x50000000
"""CLONE_NEWUSER | CLONE_NEWNET: this process sees a network without any interface."""


class _TooLarge(Exception):
    """The result has more bytes or rows than are allowed."""


class _Unacceptable(Exception):
    """No format that the client accepts fits this form of query."""


class _Rows:
    r"""Counts the rows of a table as it is written: in JSON by the braces outside strings, else by the ends of rows.

    The engine writes JSON without blanks: an object opens a row where ``[`` or ``,`` stands before it, and a value
    where ``:`` does. In CSV a row ends at a line break outside quotes; TSV writes line breaks as ``\n``.
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
            cut = len(data) - (len(data) - len(data.rstrip(b"\\"))) % 2
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
        return self.count if self._kind in ("json", "xml") else max(self.count - 1, 0)


class _Output:
    """A file that the engine writes to: bytes become frames.

    Args:
        media: the media type.
        room: bytes that may be written.
        most: rows that may be written; 0: any number, and they are not counted.
        begun: when the work for it began.
    """

    def __init__(self, media: str, room: int, *, most: int = 0, begun: float = 0.0) -> None:
        self._media = media
        self._begun = begun
        self.room = room
        self._kept = bytearray()
        self._most = most
        self.rows = _Rows(media) if most else None

    def write(self, data: bytes) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise _TooLarge("bytes")
        if self.rows is not None:
            self.rows.add(bytes(data))
            if self.rows.rows > self._most:
                raise _TooLarge("rows")
        self._kept += data
        while len(self._kept) >= _BLOCK:
            self._send(bytes(self._kept[:_BLOCK]))
            del self._kept[:_BLOCK]
        return len(data)

    def flush(self) -> None:
        """Do nothing: blocks go when they are full."""

    def end(self) -> bool:
        """Send what is left, and say whether that was all."""
        if self._media and self.rows is None:
            media = self._media.encode()
            took = min(int(1e6 * (time.perf_counter() - self._begun)), 0xFFFFFFFF)
            _frame(b"W", took.to_bytes(4, "big") + bytes((len(media),)) + media + self._kept)
            return True
        self._send(bytes(self._kept))
        self._kept.clear()
        return False

    def _send(self, block: bytes) -> None:
        if self._media:
            _frame(b"H", self._media.encode())
            self._media = ""
        _frame(b"D", block)


def main() -> None:
    """Do requests until the input ends."""
    limits = json.loads(sys.argv[1])
    _confine(limits["memory"])
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C in a terminal comes to the whole group; the server decides
    threading.stack_size(limits["stack"])
    threading.Thread(target=_work, daemon=True).start()
    end = select.poll()
    end.register(0, 0)
    while not end.poll():
        pass
    os._exit(0)


def _confine(memory: int) -> None:
    """Take network, memory and core dumps away, as far as the system can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _work() -> None:
    desk = _Desk()
    _frame(b"R", b"")
    _flush()
    while True:
        if desk.swollen and not _asked(_PAUSE):
            desk.forget()
        header, body = _request()
        desk.rows, desk.sent, desk.whole = None, 0, False
        try:
            getattr(desk, header["task"])(header, body)
        except SyntaxError as error:
            _fail("syntax", error)
        except _TooLarge as error:
            most = {"rows": header.get("rows", 0), "bytes": header["room"]}[str(error)]
            _fail("too large", f"the result has more than {most:,} {error}. Add a LIMIT, or ask for parts of it")
        except _Unacceptable as error:
            _fail("unacceptable", error)
        except (ValueError, RuntimeError) as error:
            _fail("refused", error)
        except Exception as error:  # whatever it is, the server must hear of it
            _fail("failed", error)
        if not desk.whole:
            _frame(b"Z", b"" if desk.rows is None else struct.pack(">Q", desk.rows.rows))
        _flush()
        desk.swollen |= desk.sent > _MUCH


def _asked(seconds: float) -> bool:
    """Say whether a request comes within some seconds."""
    input_ = select.poll()
    input_.register(0, select.POLLIN)
    return bool(input_.poll(1000 * seconds))


def _request() -> tuple[dict[str, Any], bytes]:
    data = _read()
    while len(data) < _LENGTHS.size:
        data += _read()
    told, own, body = _LENGTHS.unpack_from(data)
    whole = _LENGTHS.size + told + own + body
    if len(data) < whole:
        data = _all(data, whole)
    end = _LENGTHS.size + told + own
    return _header(data[_LENGTHS.size : end], told), data[end:]


def _all(data: bytes, whole: int) -> bytes:
    parts, left = [data], whole - len(data)
    while left:
        parts.append(_read())
        left -= len(parts[-1])
    return b"".join(parts)


def _read() -> bytes:
    size = os.readv(0, [_INPUT])
    if not size:
        os._exit(0)
    return bytes(_INPUT[:size])


def _header(data: bytes, told: int) -> dict[str, Any]:
    """Give both headers as one, which nobody may change; most requests have one of few."""
    return _known(data, told) if len(data) < _SHORT else _parsed(data, told)


def _parsed(data: bytes, told: int) -> dict[str, Any]:
    return {**json.loads(data[:told]), **json.loads(data[told:])}


_known = lru_cache(maxsize=64)(_parsed)


def _fail(kind: str, problem: object) -> None:
    told = str(problem.args[0]) if isinstance(problem, Exception) and problem.args else str(problem)
    place = [getattr(problem, "lineno", None) or 0, getattr(problem, "offset", None) or 0]
    _frame(b"E", json.dumps({"kind": kind, "message": told, "place": place}).encode())


def _frame(letter: bytes, payload: bytes) -> None:
    """Add a frame to what is written next."""
    _KEPT.append(letter + len(payload).to_bytes(4, "big") + payload)
    if len(payload) >= _BLOCK:
        _flush()


def _flush() -> None:
    data = b"".join(_KEPT)
    _KEPT.clear()
    while data:
        data = data[os.write(1, data) :]


class _Desk:
    """Does one task after the other, and keeps the last snapshot open."""

    def __init__(self) -> None:
        self.rows: _Rows | None = None
        self.sent = 0
        """Bytes of the result."""
        self.whole = False
        """Whether the result was sent as a whole."""
        self.swollen = False
        """Whether the store was read so much of that its cache is large."""
        self._folder = ""
        self._store: ox.Store | None = None
        self._spaces: tuple[int, Any] | None = None

    def _open(self, folder: str) -> ox.Store:
        if self._store is None or folder != self._folder:
            self._store = None
            self._store = ox.Store.read_only(folder)
            self._folder = folder
        return self._store

    def forget(self) -> None:
        """Close the store: its cache of blocks grew with what was read, and only this gives the memory back."""
        self.swollen, self._store = False, None
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)

    def query(self, header: dict[str, Any], body: bytes) -> None:
        """Run a query and write its result in the format that fits."""
        begun, dataset = time.perf_counter(), header["dataset"]
        results = self._open(header["folder"]).query(
            body.decode(),
            base_iri=header["base"] or None,
            prefixes=header["prefixes"],
            use_default_graph_as_union=header["union"],
            default_graph=_graphs(dataset, "default"),
            named_graphs=_graphs(dataset, "named"),
            custom_functions=self._functions(header.get("similar")),
        )
        of_triples = isinstance(results, ox.QueryTriples)
        media = header["rdf" if of_triples else "results"]
        if not media:
            given = "RDF" if of_triples else "a table or a truth value"
            raise _Unacceptable(f"the result is {given}, and Accept names no format for that")
        table = isinstance(results, ox.QuerySolutions)
        output = _Output(media, header["room"], most=header.get("rows", 0) if table else 0, begun=begun)
        self.rows = output.rows
        target = cast("IO[bytes]", output)
        if isinstance(results, ox.QueryTriples):
            results.serialize(target, ox.RdfFormat.from_media_type(media))
        else:
            results.serialize(target, ox.QueryResultsFormat.from_media_type(media))
        self.whole = output.end()
        self.sent = header["room"] - output.room

    def _functions(self, similar: dict[str, Any] | None) -> dict[ox.NamedNode, Any]:
        """Give ``kgv:similarity`` over the vectors on disk, for a query that calls it: kgrag is imported only then."""
        if similar is None:
            return {}
        _let_import(similar["root"])
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

    def dump(self, header: dict[str, Any], _body: bytes) -> None:
        """Write one graph."""
        output = _Output(header["rdf"], header["room"], begun=time.perf_counter())
        graph = ox.NamedNode(header["graph"]) if header["graph"] else ox.DefaultGraph()
        media = ox.RdfFormat.from_media_type(header["rdf"])
        self._open(header["folder"]).dump(cast("IO[bytes]", output), media, from_graph=graph)
        self.whole = output.end()
        self.sent = header["room"] - output.room

    def parse(self, header: dict[str, Any], body: bytes) -> None:
        """Read RDF that somebody sent, and write it as N-Quads with blank nodes of fresh names."""
        media = ox.RdfFormat.from_media_type(header["media"])
        quads = ox.parse(body, media, base_iri=header["base"] or None, rename_blank_nodes=True)
        output = _Output("application/n-quads", header["room"], begun=time.perf_counter())
        ox.serialize(quads, cast("IO[bytes]", output), ox.RdfFormat.N_QUADS)
        self.whole = output.end()

    def check_update(self, header: dict[str, Any], body: bytes) -> None:
        """Let an update's text through the parser; what it would do to an empty store is of no interest."""
        with suppress(ValueError, RuntimeError, OSError):
            ox.Store().update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def try_update(self, header: dict[str, Any], body: bytes) -> None:
        """Run an update on a copy of the store that is thrown away afterwards."""
        store = ox.Store(header["copy"])
        store.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def call(self, header: dict[str, Any], body: bytes) -> None:
        """Run a function of whoever started this on the snapshot, or an empty store; write what it gives as JSON."""
        _let_import(header["root"])
        module, name = header["function"].split(":")
        store = self._open(header["folder"]) if header["folder"] else ox.Store()
        found = getattr(importlib.import_module(module), name)(header, body, store)
        output = _Output("application/json", header["room"], begun=time.perf_counter())
        output.write(json.dumps(found).encode())
        self.whole = output.end()

    def ping(self, header: dict[str, Any], _body: bytes) -> None:
        """Open the snapshot and do nothing."""
        self._open(header["folder"])


def _let_import(root: str) -> None:
    """Let modules be found that stand under a folder."""
    if root not in sys.path:
        sys.path.append(root)


def _graphs(dataset: dict[str, list[str]] | None, role: str) -> Any:
    return None if dataset is None else [ox.NamedNode(iri) for iri in dataset[role]]


if __name__ == "__main__":
    main()
