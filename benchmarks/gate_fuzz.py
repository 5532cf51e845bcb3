"""A fuzz of the SPARQL endpoints: random texts in random requests, sent to a real server by a few clients.

    python -m benchmarks.gate_fuzz                       ten minutes, with a store of its own, seed 1
    python -m benchmarks.gate_fuzz --minutes 2 --seed 7 --texts FOLDER
    python -m benchmarks.gate_fuzz --seed 7 --only 523   sends request 523 alone, and prints what comes back

Texts (``sparql_texts``) are by the grammar, stored queries, those of ``--texts`` (``*.rq`` and ``*.ru``, such as the
suites of the W3C), and changes of all these; requests repeat parameters, have wrong types and odd ``Accept`` headers.
Found is: a status of 500 or above that is neither 503 with Retry-After nor 504; no reply, or none within the time; a
reply in a format that was not asked for, or that is not well-formed; a server that does not answer a plain query any
more; an update that was refused and yet changed the store; an update by a key for some graphs that changed another.
What is found is made smaller, and printed with the number that sends it again. Exit code 1 when something was found.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from http.client import HTTPConnection, HTTPException, IncompleteRead
from pathlib import Path
from urllib.parse import quote_from_bytes, urlsplit
from xml.etree import ElementTree

import pyoxigraph as ox

from benchmarks.served_chunks import make_chunks, serving
from benchmarks.sparql_texts import TextWriter, stored_texts
from kgrag.resources import folder
from kgrag.server.media_types import RDF, RESULTS, choose
from kgrag.server.protocol_requests import DOWNLOADS

__all__ = ["Finding", "Fuzz", "FuzzRequest", "Reply", "fault_of", "made_request", "main", "minimised"]

_ACCEPTS = (
    *(
        "",
        "*/*",
        *RESULTS,
        *RDF,
        "application/*",
        "text/*;q=0.5, application/json",
        "text/html",
        "image/png",
        "x" * 5000,
    ),
    *("text/csv;q=0", ";;,", "a/b;q=x", "*/*;q=0.001", "application/sparql-results+xml, text/turtle"),
    "text/tab-separated-values, application/n-triples;q=0.9",
)
_TYPES = (
    *(
        "",
        "application/sparql-query",
        "application/sparql-update",
        "application/x-www-form-urlencoded",
        "text/plain",
        "/",
    ),
    *("application/sparql-query; charset=latin-1", 'application/sparql-update; charset="UTF-8"', "multipart/form-data"),
    *("application/sparql-query;;=", "application/json"),
)
_PARAMETERS = (
    *(("default-graph-uri", "urn:fuzz:a"), ("default-graph-uri", "x"), ("named-graph-uri", "urn:fuzz:b")),
    *(("named-graph-uri", ""), ("using-graph-uri", "urn:fuzz:a"), ("using-named-graph-uri", "urn:é"), ("", "")),
    *(("union-default-graph", "true"), ("union-default-graph", "0"), ("timeout", "nan"), ("timeout", "1e308")),
    *(("timeout", "-0"), ("timeout", "0.001"), ("download", "csv"), ("download", "rdf"), ("download", "exe")),
    *(("query", "ASK {}"), ("update", "CLEAR ALL"), ("\0", "\ud800")),
)
_METHODS = ("HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND")
_FORM = "application/x-www-form-urlencoded"
_DATA = """@prefix ex: <urn:fuzz:> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
ex:s1 a ex:C ; ex:p ex:s2 , "x" , "é"@fr , 1 , 1.5 , 1e9 , true ; ex:q ( 1 ex:s1 "a\\tb\\nc" ) .
ex:s2 ex:p ex:s1 , [ ex:q "2024-02-29"^^xsd:date , "<&>]]>" ] .
"""
_ALL_STATEMENTS = "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }"
_OWN_GRAPHS = "urn:fuzz:*"
_MOST_STATEMENTS, _MOST_BYTES_READ, _MOST_CHARACTERS_IN_ADDRESS = 20_000, 2_000_000, 4_000
_SECONDS_FOR_A_REPLY, _SECONDS_FOR_A_PLAIN_QUERY = 50.0, 10.0
_REQUESTS_BETWEEN_PLAIN_ONES, _MOST_TRIES_TO_MINIMISE = 20, 60


@dataclass(frozen=True)
class FuzzRequest:
    """A request that brings a text.

    ``way`` is how: "get" (in the address), "form", "direct" (the text is the body) or "json". With ``limited`` it has
    the key for some graphs.
    """

    kind: str
    path: str
    way: str
    method: str
    text: str
    parameters: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    limited: bool = False

    @property
    def target(self) -> str:
        """Return path and parameters as they are sent."""
        pairs = [*self.parameters, *([(self.kind, self.text)] if self.way == "get" else [])]
        return f"{self.path}?{_encoded(pairs)}" if pairs else self.path

    @property
    def body(self) -> bytes | None:
        """Return the body as it is sent."""
        if self.way == "form":
            return _encoded([(self.kind, self.text)]).encode()
        if self.way == "json":
            return json.dumps({"query": self.text}).encode()
        return self.text.encode("utf-8", "surrogatepass") if self.way == "direct" else None

    @property
    def accept(self) -> str:
        """Return the formats that are asked for."""
        download = dict(reversed(self.parameters)).get("download", "")
        return DOWNLOADS.get(download) or dict(self.headers).get("Accept", "")

    @property
    def writes(self) -> bool:
        """Whether it may change the store."""
        return self.path == "/update"


@dataclass(frozen=True)
class Reply:
    """What came back; status 0: nothing. ``fault`` is why it ended early, or did not come."""

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    fault: str = ""
    is_whole: bool = True
    seconds: float = 0.0


@dataclass(frozen=True)
class Finding:
    """What is wrong, with the number of the request and its smallest form; None where no one request is to blame."""

    number: int
    what: str
    request: FuzzRequest | None = None

    def shown(self, seed: int) -> str:
        """Return lines for people."""
        lines = [f"{self.what}\n  again: --seed {seed} --only {self.number}"]
        if self.request is not None:
            lines.append(f"  {self.request.method} {self.request.target[:300]!r} {self.request.headers!r:.300}")
            lines.append(f"  {len(self.request.text):,} characters: {self.request.text[:1500]!r}")
        return "\n".join(lines)


def _encoded(pairs: Sequence[tuple[str, str]]) -> str:
    return "&".join(
        "=".join(quote_from_bytes(part.encode("utf-8", "surrogatepass")) for part in pair) for pair in pairs
    )


def made_request(seed: int, number: int, stored: dict[str, list[str]]) -> FuzzRequest:
    """Return a request by its number; the same seed has the same one."""
    chance = random.Random(f"{seed}/{number}")
    path = chance.choice(("/sparql",) * 9 + ("/update",) * 5 + ("/update/effect", "/check"))
    kind = "query" if path in ("/sparql", "/check") else "update"
    text = TextWriter(chance, stored).text(kind if chance.random() < 0.97 else chance.choice(("query", "update")))
    ways = {"/sparql": ("get", "get", "form", "direct"), "/check": ("json",)}.get(path, ("form", "direct"))
    way = chance.choice(ways)
    if way == "get" and len(text) > _MOST_CHARACTERS_IN_ADDRESS:
        way = "form"
    media = {"form": _FORM, "json": "application/json", "direct": f"application/sparql-{kind}"}.get(way, "")
    seconds = chance.choice((0.3, 1, 2))
    parameters = [("timeout", str(seconds))] if way != "json" and chance.random() < 0.97 else []
    headers = [("Accept", chance.choice(_ACCEPTS))] if chance.random() < 0.7 else []
    method = "GET" if way == "get" else "POST"
    if chance.random() < 0.12:  # a request that is not as it should be
        parameters += chance.choices(_PARAMETERS, k=chance.choice((1, 1, 2, 3, 25, 120)))
        media = chance.choice((media, media, *_TYPES))
        method = chance.choice((method,) * 9 + _METHODS)
        headers += chance.choice(
            ([], [], [("Content-Encoding", "gzip")], [("Accept-Encoding", "gzip")], [("If-Match", '"x"')])
        )
    if media:
        headers.append(("Content-Type", media))
    return FuzzRequest(kind, path, way, method, text, tuple(parameters), tuple(headers), limited=chance.random() < 0.5)


def fault_of(request: FuzzRequest, reply: Reply) -> str:
    """Return what is wrong with a reply; "" for nothing."""
    if reply.status == 0:
        return f"no reply: {reply.fault}"
    is_refusal = reply.status == 504 or (reply.status == 503 and "retry-after" in reply.headers)
    if reply.status >= 500 and not is_refusal:
        return f"status {reply.status}: {reply.body[:300].decode(errors='replace')}"
    if reply.fault:
        return f"status {reply.status}, then closed after {reply.seconds:.1f} s: {reply.fault}"
    return _fault_of_format(request, reply)


def _fault_of_format(request: FuzzRequest, reply: Reply) -> str:
    media = reply.headers.get("content-type", "").partition(";")[0]
    if reply.status >= 400:
        is_problem = request.method == "HEAD" or media == "application/problem+json"
        return "" if is_problem else f"status {reply.status} with {media!r} in place of a problem"
    if request.path != "/sparql" or request.method not in ("GET", "POST") or reply.status != 200:
        return ""
    asked = request.accept
    as_json = "application/ld+json" if choose(asked, ["application/json"]) else ""
    if media not in (*RESULTS, *RDF) or not (choose(asked, [media]) or media == as_json):
        return f"{media!r} came, and {asked[:100]!r} was asked for"
    return _malformed(media, reply.body) if reply.is_whole else ""


def _malformed(media: str, body: bytes) -> str:
    """Return how a body is not what its type says; "" where it is."""
    try:
        if media.endswith("json"):
            json.loads(body)
        elif media in ("text/csv", "text/tab-separated-values"):
            body.decode()
        elif media in RDF:
            for _ in ox.parse(body, ox.RdfFormat.from_media_type(media)):
                pass
        else:
            ElementTree.fromstring(body)
    except (ValueError, SyntaxError) as error:
        return f"the reply is no {media}: {error!s:.300}"
    return ""


def minimised(text: str, is_found: Callable[[str], bool], *, tries: int = _MOST_TRIES_TO_MINIMISE) -> str:
    """Return a part of a text with which something is still found, by leaving out ever smaller pieces."""
    size = max(1, len(text) // 2)
    while tries > 0:
        start = 0
        while start < len(text) and tries > 0:
            shorter = text[:start] + text[start + size :]
            tries -= 1
            if is_found(shorter):
                text = shorter
            else:
                start += size
        if size == 1:
            break
        size = max(1, min(size, len(text)) // 2)
    return text


class Fuzz:
    """Sends requests to a server, and keeps what is found.

    Args:
        url: of the server; its store is written to and emptied.
        key: may write to all graphs.
        limited: may write to ``urn:fuzz:*`` alone.
        seed: with the number of a request, what that is.
        stored: texts of others, by kind.

    Attributes:
        statuses: replies by path and status.
        findings: what is wrong.
    """

    def __init__(self, url: str, key: str, limited: str, *, seed: int, stored: dict[str, list[str]]) -> None:
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.findings: list[Finding] = []
        self._address = urlsplit(url).netloc
        self._keys = {False: key, True: limited}
        self._seed = seed
        self._stored = stored
        self._numbers = itertools.count()
        self._writing = threading.Lock()
        self._state: frozenset[str] = frozenset()
        self._own = threading.local()

    def run(self, *, clients: int, seconds: float = 0.0, requests: int = 0) -> None:
        """Send requests for as long, or as many, from a few threads."""
        self.fill()
        end = time.monotonic() + seconds
        is_over = (lambda number: number >= requests) if requests else (lambda _: time.monotonic() > end)
        threads = [threading.Thread(target=self._client, args=(is_over,)) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._check_plain_query(-1)

    def _client(self, is_over: Callable[[int], bool]) -> None:
        with closing(self):
            for number in self._numbers:
                if is_over(number):
                    return
                self.send_number(number)
                if number % _REQUESTS_BETWEEN_PLAIN_ONES == 0:
                    self._check_plain_query(number)

    def send_number(self, number: int) -> FuzzRequest:
        """Send the request of a number, look at what comes back, and return it."""
        request = made_request(self._seed, number, self._stored)
        self.check(number, request)
        return request

    def check(self, number: int, request: FuzzRequest) -> None:
        """Send a request, and keep what is wrong with what comes back, or with the store after it."""
        if request.writes:
            with self._writing:
                reply = self.send(request)
                self._check_state(number, request, reply)
        else:
            reply = self.send(request)
        self.statuses[request.path, reply.status] += 1
        fault = fault_of(request, reply)
        if fault:
            self._report(number, fault, request)

    def _report(self, number: int, what: str, request: FuzzRequest) -> None:
        kind = what[:20]

        def is_found(text: str) -> bool:
            smaller = replace(request, text=text)
            return fault_of(smaller, self.send(smaller))[:20] == kind

        if not any(found.what[:60] == what[:60] for found in self.findings):  # the first of its kind
            with self._writing:
                request = replace(request, text=minimised(request.text, is_found))
                self._state = self._statements()
        self.findings.append(Finding(number, what, request))
        print(self.findings[-1].shown(self._seed), file=sys.stderr, flush=True)

    # --- the store -----------------------------------------------------------------------------------------------

    def fill(self) -> None:
        """Put a few statements into an empty store."""
        for graph in ("urn:fuzz:a", "urn:fuzz:b", "urn:other:c"):
            self._update(f"DROP SILENT GRAPH <{graph}>")
        for graph in ("a", "b"):
            self._update(f"INSERT DATA {{ GRAPH <urn:fuzz:{graph}> {{ {_as_sparql(_DATA)} }} }}")
        self._update(f"INSERT DATA {{ GRAPH <urn:other:c> {{ {_as_sparql(_DATA)} }} }}")
        self._state = self._statements()

    def _update(self, text: str) -> None:
        headers = (("Content-Type", "application/sparql-update"),)
        reply = self.send(FuzzRequest("update", "/update", "direct", "POST", text, headers=headers))
        if reply.status != 204:
            raise RuntimeError(f"the store cannot be filled: {reply}")

    def _check_state(self, number: int, request: FuzzRequest, reply: Reply) -> None:
        before, self._state = self._state, self._statements()
        if reply.status >= 300 and self._state != before:
            self.findings.append(
                Finding(number, f"refused with {reply.status}, and yet: {_difference(before, self._state)}", request)
            )
        elsewhere = {
            line for line in before ^ self._state if not line.startswith(("<urn:fuzz:", "<urn:kgrag:graph/catalogue>"))
        }
        if reply.status < 300 and request.limited and elsewhere:
            what = f"a key for {_OWN_GRAPHS} changed another graph: {sorted(elsewhere)[:3]}"
            self.findings.append(Finding(number, what, request))
        if len(self._state) > _MOST_STATEMENTS or not self._state:
            self.fill()

    def _statements(self) -> frozenset[str]:
        """Return every statement of the store, as lines."""
        headers = (("Accept", "text/tab-separated-values"),)
        for _ in range(20):
            request = FuzzRequest("query", "/sparql", "get", "GET", _ALL_STATEMENTS, headers=headers)
            reply = self.send(request, most_bytes=1 << 30)
            if reply.status == 200 and not reply.fault:
                return frozenset(reply.body.decode().splitlines()[1:])
            time.sleep(0.5)
        raise RuntimeError(f"the server does not tell what is in the store: {reply}")

    def _check_plain_query(self, number: int) -> None:
        request = FuzzRequest("query", "/sparql", "get", "GET", "ASK {}")
        reply = Reply(0)
        for _ in range(5):
            reply = self.send(request)
            if reply.status != 503:
                break
            time.sleep(1)
        if reply.status != 200 or b"true" not in reply.body or reply.seconds > _SECONDS_FOR_A_PLAIN_QUERY:
            self.findings.append(
                Finding(
                    number,
                    f"a plain query has {reply.status} after {reply.seconds:.1f} s: {reply.body[:200]!r} {reply.fault}",
                )
            )

    # --- requests ------------------------------------------------------------------------------------------------

    def send(self, request: FuzzRequest, *, most_bytes: int = _MOST_BYTES_READ) -> Reply:
        """Send a request on the connection of this thread; on a new one where the server has closed that in between."""
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            reply = self._sent(connection, request, most_bytes)
            if reply.status:
                return reply
        self._own.connection = HTTPConnection(self._address, timeout=_SECONDS_FOR_A_REPLY)
        return self._sent(self._own.connection, request, most_bytes)

    def _sent(self, connection: HTTPConnection, request: FuzzRequest, most_bytes: int) -> Reply:
        begun = time.monotonic()
        try:
            with self._unbroken(connection):
                connection.putrequest(request.method, request.target, skip_accept_encoding=True)
                for name, value in request.headers:
                    connection.putheader(name, value)
                body = request.body
                if body is not None:
                    connection.putheader("Content-Length", str(len(body)))
                if request.path.startswith("/update"):
                    connection.putheader("Authorization", f"Bearer {self._keys[request.limited]}")
                connection.endheaders(body)
            response = connection.getresponse()
        except (OSError, HTTPException) as error:
            self._leave(connection)
            return Reply(0, fault=f"{type(error).__name__}: {error}", seconds=time.monotonic() - begun)
        headers = {name.lower(): value for name, value in response.getheaders()}
        fault = ""
        try:
            content = response.read(most_bytes)
        except (OSError, HTTPException) as error:
            content = error.partial if isinstance(error, IncompleteRead) else b""
            fault = f"{type(error).__name__}: {error}"
        is_whole = response.isclosed() and not fault and headers.get("content-encoding") is None
        if fault or not response.isclosed():
            self._leave(connection)
        return Reply(response.status, headers, content, fault, is_whole, time.monotonic() - begun)

    @contextmanager
    def _unbroken(self, connection: HTTPConnection) -> Iterator[None]:
        """Go on to the reply where the server has closed before it took the whole request."""
        try:
            yield
        except BrokenPipeError:
            if connection.sock is None:
                raise

    def close(self) -> None:
        """Close the connection of this thread."""
        if getattr(self._own, "connection", None) is not None:
            self._leave(self._own.connection)

    def _leave(self, connection: HTTPConnection) -> None:
        connection.close()
        self._own.connection = None


def _as_sparql(turtle: str) -> str:
    return " ".join(
        f"{triple.subject} {triple.predicate} {triple.object} ." for triple in ox.parse(turtle, ox.RdfFormat.TURTLE)
    )


def _difference(before: frozenset[str], after: frozenset[str]) -> str:
    more, fewer = sorted(after - before), sorted(before - after)
    return f"{len(more)} more {more[:2]}, {len(fewer)} fewer {fewer[:2]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzz; return 1 when something was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="folders of more texts")
    parser.add_argument("--only", type=int, help="send the request of this number alone")
    options = parser.parse_args(arguments)
    stored = stored_texts(folder("queries"), *options.texts)
    with tempfile.TemporaryDirectory(prefix="kgrag-fuzz-") as name:
        make_chunks(Path(name, "kb"), 10)
        limited = "limited-key-of-the-fuzz"
        keys = Path(name, "keys.toml")
        keys.write_text(f'[[keys]]\nname = "some"\nkey = "{limited}"\ngraphs = ["{_OWN_GRAPHS}"]\n', encoding="utf-8")
        keys.chmod(0o600)
        with (
            serving(Path(name, "kb"), "--keys", str(keys)) as served,
            closing(Fuzz(served.url, served.key, limited, seed=options.seed, stored=stored)) as fuzz,
        ):
            if options.only is None:
                fuzz.run(clients=options.clients, seconds=options.minutes * 60)
            else:
                fuzz.fill()
                print(fuzz.send(fuzz.send_number(options.only)))
    for (path, status), count in sorted(fuzz.statuses.items()):
        print(f"{path} {status}: {count:,}")
    for finding in fuzz.findings:
        print(finding.shown(options.seed))
    print(f"{fuzz.statuses.total():,} requests, seed {options.seed}: {len(fuzz.findings)} found")
    return int(bool(fuzz.findings))


if __name__ == "__main__":
    sys.exit(main())
