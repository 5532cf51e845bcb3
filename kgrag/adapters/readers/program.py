"""What runs in a reader process: a program of its own, started by path; only ``kgv:similarity`` imports kgrag.

Its argument is one JSON object of limits: ``memory`` and ``stack`` in bytes. Standard input carries requests: the
length of a JSON header (4 bytes), the length of a body (8 bytes), header, body. Standard output carries frames: a
letter, the length of what follows (4 bytes), and that.

======  ===========================================================================
letter  what follows
======  ===========================================================================
``B``   nothing: the request has come, and its work begins
``H``   JSON: the media type of the result; once, before the first ``D``
``D``   bytes of the result, 64 KiB or less
``E``   JSON: ``kind`` (syntax, refused, unacceptable, too large, failed) and ``message``
``Z``   nothing, or the count of rows (8 bytes) where rows were counted: the request is done
======  ===========================================================================

The first thread only reads, and ends the process when its input ends, in mid query too. The second, with a large stack,
does the work: a result of the engine belongs to one thread.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import struct
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

__all__ = ["main"]

_BLOCK = 1 << 16
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
    """

    def __init__(self, media: str, room: int, most: int = 0) -> None:
        self._media = media
        self._room = room
        self._kept = bytearray()
        self._most = most
        self.rows = _Rows(media) if most else None

    def write(self, data: bytes) -> int:
        self._room -= len(data)
        if self._room < 0:
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

    def end(self) -> None:
        self._send(bytes(self._kept))
        self._kept.clear()

    def _send(self, block: bytes) -> None:
        if self._media:
            _frame(b"H", json.dumps({"media": self._media}).encode())
            self._media = ""
        _frame(b"D", block)


def main() -> None:
    """Read requests until the input ends."""
    limits = json.loads(sys.argv[1])
    _confine(limits["memory"])
    inbox: queue.SimpleQueue[tuple[dict[str, Any], bytes]] = queue.SimpleQueue()
    threading.stack_size(limits["stack"])
    threading.Thread(target=_work, args=(inbox,), daemon=True).start()
    source = sys.stdin.buffer
    while len(lengths := source.read(12)) == 12:
        header, body = struct.unpack(">IQ", lengths)
        inbox.put((json.loads(source.read(header)), source.read(body)))
    os._exit(0)


def _confine(memory: int) -> None:
    """Take network, memory and core dumps away, as far as the system can."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK)
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _work(inbox: queue.SimpleQueue[tuple[dict[str, Any], bytes]]) -> None:
    desk = _Desk()
    while True:
        header, body = inbox.get()
        desk.rows = None
        _frame(b"B", b"")
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
        _frame(b"Z", b"" if desk.rows is None else struct.pack(">Q", desk.rows.rows))


def _fail(kind: str, problem: object) -> None:
    told = str(problem.args[0]) if isinstance(problem, Exception) and problem.args else str(problem)
    place = [getattr(problem, "lineno", None) or 0, getattr(problem, "offset", None) or 0]
    _frame(b"E", json.dumps({"kind": kind, "message": told, "place": place}).encode())


def _frame(letter: bytes, payload: bytes) -> None:
    data = letter + struct.pack(">I", len(payload)) + payload
    while data:
        data = data[os.write(1, data) :]


class _Desk:
    """Does one task after the other, and keeps the last snapshot open."""

    def __init__(self) -> None:
        self.rows: _Rows | None = None
        self._folder = ""
        self._store: ox.Store | None = None
        self._spaces: tuple[int, Any] | None = None

    def _open(self, folder: str) -> ox.Store:
        if self._store is None or folder != self._folder:
            self._store = None
            self._store = ox.Store.read_only(folder)
            self._folder = folder
        return self._store

    def query(self, header: dict[str, Any], body: bytes) -> None:
        """Run a query and write its result in the format that fits."""
        dataset = header["dataset"]
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
        output = _Output(media, header["room"], header.get("rows", 0) if table else 0)
        self.rows = output.rows
        target = cast("IO[bytes]", output)
        if isinstance(results, ox.QueryTriples):
            results.serialize(target, ox.RdfFormat.from_media_type(media))
        else:
            results.serialize(target, ox.QueryResultsFormat.from_media_type(media))
        output.end()

    def _functions(self, similar: dict[str, Any] | None) -> dict[ox.NamedNode, Any]:
        """Give ``kgv:similarity`` over the vectors on disk, for a query that calls it: kgrag is imported only then."""
        if similar is None:
            return {}
        if similar["root"] not in sys.path:
            sys.path.append(similar["root"])
        import base64

        import numpy as np

        from kgrag.adapters.hnsw import FolderSpaces
        from kgrag.stages.sparql_search import functions

        if self._spaces is None or similar["revision"] != self._spaces[0]:
            folder, identity = Path(similar["folder"]), similar["identity"]
            spaces = FolderSpaces(folder, identity=identity, dimension=similar["dimension"], read_only=True)
            self._spaces = similar["revision"], spaces
        texts = {text: np.frombuffer(base64.b64decode(data), np.float32) for text, data in similar["texts"].items()}
        return dict(functions(self._spaces[1], texts))

    def dump(self, header: dict[str, Any], _body: bytes) -> None:
        """Write one graph."""
        output = _Output(header["rdf"], header["room"])
        graph = ox.NamedNode(header["graph"]) if header["graph"] else ox.DefaultGraph()
        media = ox.RdfFormat.from_media_type(header["rdf"])
        self._open(header["folder"]).dump(cast("IO[bytes]", output), media, from_graph=graph)
        output.end()

    def parse(self, header: dict[str, Any], body: bytes) -> None:
        """Read RDF that somebody sent, and write it as N-Quads with blank nodes of fresh names."""
        media = ox.RdfFormat.from_media_type(header["media"])
        quads = ox.parse(body, media, base_iri=header["base"] or None, rename_blank_nodes=True)
        output = _Output("application/n-quads", header["room"])
        ox.serialize(quads, cast("IO[bytes]", output), ox.RdfFormat.N_QUADS)
        output.end()

    def check_update(self, header: dict[str, Any], body: bytes) -> None:
        """Let an update's text through the parser; what it would do to an empty store is of no interest."""
        with suppress(ValueError, RuntimeError, OSError):
            ox.Store().update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def try_update(self, header: dict[str, Any], body: bytes) -> None:
        """Run an update on a copy of the store that is thrown away afterwards."""
        store = ox.Store(header["copy"])
        store.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])

    def ping(self, header: dict[str, Any], _body: bytes) -> None:
        """Open the snapshot and do nothing."""
        self._open(header["folder"])


def _graphs(dataset: dict[str, list[str]] | None, role: str) -> Any:
    return None if dataset is None else [ox.NamedNode(iri) for iri in dataset[role]]


if __name__ == "__main__":
    main()
