"""Commands that work through a running ``kgrag serve``, over HTTP.

Its key comes from the environment variable ``KGRAG_SERVER_KEY`` only. It is sent to the server that was named, or that
holds the knowledge base, and to nobody that this one redirects to.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast
from urllib.parse import quote, urlencode, urlsplit

import typer

from kgrag.cli.options import Format
from kgrag.cli.printing import note
from kgrag.errors import InputError, InvalidSettings, ServiceRefused, ServiceUnavailable, StoreLocked

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from kgrag.model import BuildReport, Document
    from kgrag.ports import Progress

__all__ = [
    "Remote",
    "ServerOption",
    "build_through",
    "documents_through",
    "forget_through",
    "load_through",
    "query_through",
    "source_folder_through",
    "through",
    "update_through",
]

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        help="URL of a `kgrag serve` to work through; key: KGRAG_SERVER_KEY.",
        show_default=False,
    ),
]

_TABLE = "application/sparql-results+json"
_ACCEPTED = {
    Format.TABLE: f"{_TABLE}, text/turtle;q=0.9",
    Format.JSON: f"{_TABLE}, application/ld+json;q=0.9",
    Format.XML: "application/sparql-results+xml, application/rdf+xml;q=0.9",
    Format.CSV: "text/csv",
    Format.TSV: "text/tab-separated-values",
    Format.TURTLE: "text/turtle",
    Format.NTRIPLES: "application/n-triples",
}
_SECONDS = 600


class NotThere(InputError):
    """A server has nothing at an address."""


class Remote:
    """A server.

    Raises:
        InvalidSettings: the URL is none of HTTP.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or not re.fullmatch(r".*?(:\d*)?", parts.netloc):
            raise InvalidSettings(f"--server {url!r} is no address of HTTP. Use e.g. http://127.0.0.1:8000.")
        self.url = url.rstrip("/").removesuffix("/sparql")
        self._key = os.environ.get("KGRAG_SERVER_KEY", "").strip()
        loopback = parts.hostname == "localhost" or parts.hostname.startswith("127.") or parts.hostname == "::1"
        handlers = [_WithoutRedirects(), *([urllib.request.ProxyHandler({})] if loopback else [])]
        self._opener = urllib.request.build_opener(*handlers)

    @contextmanager
    def call(self, method: str, path: str, *, body: bytes | None = None, **headers: str) -> Iterator[HTTPResponse]:
        """Send a request; the names of headers have ``_`` for ``-``.

        Raises:
            InputError: the server refuses what was sent.
            ServiceRefused: it wants another key, or forbids this.
            ServiceUnavailable: it cannot be reached, is overloaded, or broke off.
        """
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self._key:
            named["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(f"{self.url}{path}", body, named, method=method)  # noqa: S310 - HTTP, see above
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                yield answer
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(self.url, error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ServiceUnavailable(f"{self.url} broke off or cannot be reached: {reason}. Is it running?") from None

    def state(self) -> dict[str, Any]:
        """Return ``revision`` and ``base`` of its knowledge base."""
        with self.call("GET", "/health") as answer:
            return cast("dict[str, Any]", json.load(answer))


class _WithoutRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirection: the key would go along."""

    def redirect_request(self, *_: Any) -> None:
        """Follow nothing."""
        return


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    try:
        detail = str(json.loads(error.read(100_000))["detail"])
    except (ValueError, KeyError, TypeError, OSError):
        detail = f"HTTP status {error.code}."
    if error.code in (401, 403):
        return ServiceRefused(f"{url} refuses: {detail} The key is taken from KGRAG_SERVER_KEY.")
    if error.code == 404:
        return NotThere(f"{url}: {detail}")
    if 400 <= error.code < 500:
        return InputError(f"{url} refuses: {detail}")
    return ServiceUnavailable(f"{url}: {detail}")


def through(server: str | None, local: Callable[[], None], remote: Callable[[Remote], None]) -> None:
    """Work through the server that is named, or else locally, or else through the server that holds the lock.

    Raises:
        StoreLocked: another process holds the knowledge base, and it is no server.
    """
    if server is not None:
        remote(Remote(server))
        return
    try:
        local()
    except StoreLocked as error:
        if not error.url:
            raise
        note(f"through {error.url}, which serves this knowledge base")
        remote(Remote(error.url))


def query_through(remote: Remote, sparql: str, format_: Format) -> None:
    """Print what a server answers to a query."""
    headers = {"Accept": _ACCEPTED[format_], "Content_Type": "application/sparql-query"}
    with remote.call("POST", "/sparql", body=sparql.encode(), **headers) as answer:
        if format_ is Format.TABLE and answer.headers.get_content_type() == _TABLE:
            _print_table(answer.read())
        else:
            shutil.copyfileobj(answer, sys.stdout.buffer)
            sys.stdout.buffer.flush()


def _print_table(data: bytes) -> None:
    import pyoxigraph as ox

    from kgrag.cli.query_results import write_results

    write_results(ox.parse_query_results(data, ox.QueryResultsFormat.JSON), Format.TABLE)


def update_through(remote: Remote, sparql: str) -> None:
    """Run an update by a server."""
    with remote.call("POST", "/update", body=sparql.encode(), Content_Type="application/sparql-update"):
        pass
    typer.echo(f"done by {remote.url}, revision {remote.state()['revision']}")


def load_through(remote: Remote, files: Sequence[Path], *, graph: str | None, rdf_format: str | None) -> None:
    """Put the graphs of RDF files to a server, one after the other."""
    import pyoxigraph as ox

    from kgrag.store.rdf_files import read_rdf
    from kgrag.vocab import Names

    names, target = Names(remote.state()["base"]), None
    try:
        target = None if graph is None else ox.NamedNode(graph)
    except ValueError as error:
        raise InputError(
            f"--graph {graph!r} is no absolute IRI: {error}. Use e.g. https://example.org/graph."
        ) from None
    drafts = [draft for file in files for draft in read_rdf(file, rdf_format=rdf_format, graph=target, names=names)]
    for draft in drafts:
        body = ox.serialize(draft.triples, format=ox.RdfFormat.N_TRIPLES)
        path = f"/graphs?graph={quote(draft.iri.value, safe='')}"
        with remote.call("PUT", path, body=body, Content_Type="application/n-triples"):
            typer.echo(f"loaded {draft.iri.value}")


def documents_through(
    remote: Remote, source: Iterable[Document], broken: Collection[Path], options: Mapping[str, str], progress: Progress
) -> dict[str, Any]:
    """Send documents to a server, and return what became of them once it is done with them.

    Args:
        remote: the server.
        source: the documents as they are read.
        broken: files of which parts could not be read, filled on the way.
        options: parameters of ``/documents``.
        progress: called with what is being counted, how many are done, and of how many.
    """
    from kgrag.text.json_documents import document_json
    from kgrag.text.readers.sources import place

    lines = []
    for count, document in enumerate(source, 1):
        lines.append(json.dumps(document_json(document)))
        progress("read", count, 0)
    lines += [json.dumps({"unread": place(file)}) for file in broken]
    body, path = "\n".join(lines).encode(), f"/documents?{urlencode(options)}"
    with remote.call("POST", path, body=body, Content_Type="application/x-ndjson") as answer:
        return _end_of_job(remote, json.load(answer)["id"], progress)


def source_folder_through(remote: Remote, name: Path) -> Path:
    """Return the folder of the source of this name at a server; the name itself where there is none."""
    import pyoxigraph as ox

    from kgrag import queries
    from kgrag.vocab import Names

    query = queries.bind("sources/registered", catalogue=Names(remote.state()["base"]).catalogue)
    headers = {"Accept": _TABLE, "Content_Type": "application/sparql-query"}
    with remote.call("POST", "/sparql", body=query.encode(), **headers) as answer:
        rows = cast("ox.QuerySolutions", ox.parse_query_results(answer.read(), ox.QueryResultsFormat.JSON))
        roots = {row["name"].value: row["root"].value for row in rows if row["kind"].value != "feed"}
    return Path(roots.get(str(name), name))


def forget_through(remote: Remote, name: str, *, every: bool) -> list[dict[str, Any]]:
    """Delete a document by a server, and return what went: one at the place that the name has here, else as it is."""
    from kgrag.text.readers.sources import place

    sent = "all=true" if every else ""
    for known in (place(Path(name)), name):
        try:
            with remote.call("DELETE", f"/documents/{quote(known, safe='')}?{sent}") as answer:
                return cast("list[dict[str, Any]]", json.load(answer))
        except NotThere:
            if known == name:
                raise
    raise AssertionError


def build_through(remote: Remote, method: str, sent: Mapping[str, Any], progress: Progress) -> BuildReport:
    """Build a method by a server, and return its report."""
    from kgrag.model import BuildReport, Usage

    body = json.dumps(sent, default=str).encode()
    with remote.call("POST", f"/build/{quote(method, safe='')}", body=body, Content_Type="application/json") as answer:
        done = _end_of_job(remote, json.load(answer)["id"], progress)
    usage = Usage(**done["usage"])
    return BuildReport(done["method"], done["counts"], usage, tuple(done["notes"]), tuple(done["pending"]))


def _end_of_job(remote: Remote, job: str, progress: Progress) -> dict[str, Any]:
    """Return the result of a job.

    Raises:
        InputError: it failed for what was sent.
        ServiceUnavailable: it failed for another reason, or the server ended.
    """
    with remote.call("GET", f"/jobs/{job}", Accept="text/event-stream") as events:
        for line in events:
            if not line.startswith(b"data: "):
                continue
            state = json.loads(line[6:])
            if state["state"] == "done":
                return cast("dict[str, Any]", state["result"])
            if state["state"] == "failed":
                problem = state["problem"]
                kind = InputError if problem["status"] < 500 else ServiceUnavailable
                raise kind(f"{remote.url}: {problem['detail']}")
            progress(
                state["progress"]["stage"] or state["state"], state["progress"]["done"], state["progress"]["total"]
            )
    raise ServiceUnavailable(f"{remote.url} broke off. What is done is kept; run the command again.")
