"""Commands that work through a running ``kgrag serve``, by the client (``kgrag.client``).

The key of the server comes from the environment variable ``KGRAG_SERVER_KEY`` only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kgrag.cli.options import Format
from kgrag.cli.printing import note
from kgrag.errors import InputError, StoreLocked

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from kgrag.client import Client
    from kgrag.knowledge_base.erasure import Erasure
    from kgrag.model import BuildReport, Document, GraphDraft
    from kgrag.ports import Progress
    from kgrag.vocab import Names

__all__ = [
    "ServerOption",
    "build_through",
    "documents_through",
    "erase_through",
    "erasure_of",
    "forget_through",
    "graph_iri",
    "listed_through",
    "load_through",
    "names_of",
    "query_through",
    "read_through",
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

_Value = TypeVar("_Value")
_DOCUMENTS_PER_PAGE = 500
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


def through(server: str | None, local: Callable[[], None], remote: Callable[[Client], None]) -> None:
    """Work through the server that is named, or else locally, or else through the server that holds the lock.

    Raises:
        StoreLocked: another process holds the knowledge base, and it is no server.
        ServiceRefused: that server serves tenants, and the key is of another one than the knowledge base.
    """
    tenant = ""
    if server is None:
        try:
            local()
            return
        except StoreLocked as error:
            if not error.url:
                raise
            note(f"through {error.url}, which serves this knowledge base")
            server, tenant = error.url, error.tenant
    from kgrag.client import Client

    with Client(server, tenant=tenant) as client:
        remote(client)


def read_through(server: str | None, here: Callable[[], _Value], there: Callable[[Client], _Value]) -> _Value:
    """Return what is read through the server that is named, else here, which works beside a server too."""
    if server is None:
        return here()
    from kgrag.client import Client

    with Client(server) as client:
        return there(client)


def query_through(server: str, sparql: str, format_: Format) -> None:
    """Print what a server answers to a query."""
    from kgrag.client import Client

    with Client(server) as client, client.open_query(sparql, _ACCEPTED[format_]) as answer:
        if format_ is Format.TABLE and answer.headers["content-type"].startswith(_TABLE):
            _print_table(answer.read())
            return
        for block in answer.iter_bytes():
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()


def explained_by(sparql: str, client: Client) -> list[dict[str, Any]]:
    """Return what a server counts for each pattern of a query.

    Raises:
        InvalidSPARQL: the query cannot be read.
    """
    from kgrag.errors import InvalidSPARQL

    reply = client.check(sparql, explain=True)
    syntax = next((found for found in reply.findings if found.get("rule") == "syntax"), None)
    if not reply.patterns and syntax:
        raise InvalidSPARQL(str(syntax["message"]))
    return [each.model_dump() for each in reply.patterns or ()]


def _print_table(data: bytes) -> None:
    import pyoxigraph as ox

    from kgrag.cli.query_results import write_results

    write_results(ox.parse_query_results(data, ox.QueryResultsFormat.JSON), Format.TABLE)


def update_through(client: Client, sparql: str) -> None:
    """Run an update by a server."""
    client.update(sparql)
    typer.echo(f"done by {client.url}, revision {client.health().revision}")


def names_of(client: Client) -> Names:
    """Return the IRIs of the knowledge base of a server."""
    from kgrag.vocab import Names

    return Names(client.health().base)


def graph_iri(graph: str | None) -> NamedNode | None:
    """Return the IRI that ``--graph`` names.

    Raises:
        InputError: it is none.
    """
    import pyoxigraph as ox

    try:
        return None if graph is None else ox.NamedNode(graph)
    except ValueError as error:
        raise InputError(
            f"--graph {graph!r} is no absolute IRI: {error}. Use e.g. https://example.org/graph."
        ) from None


def load_through(client: Client, drafts: Sequence[GraphDraft]) -> None:
    """Put graphs to a server, one after the other."""
    for draft in drafts:
        client.put_graph(draft.iri.value, draft.triples)
        typer.echo(f"loaded {draft.iri.value}")


def documents_through(
    client: Client, source: Iterable[Document], broken: Collection[Path], options: Mapping[str, Any], progress: Progress
) -> dict[str, Any]:
    """Send documents to a server, and return what became of them once it is done with them.

    Args:
        client: of the server.
        source: the documents as they are read.
        broken: files of which parts could not be read, filled on the way.
        options: parameters of ``/documents``.
        progress: called with what is being counted, how many are done, and of how many.
    """
    from kgrag.http_api.json_schemas import AddParameters
    from kgrag.text.json_documents import document_json
    from kgrag.text.readers.sources import place

    lines = []
    for count, document in enumerate(source, 1):
        lines.append(json.dumps(document_json(document)))
        progress("read", count, 0)
    lines += [json.dumps({"unread": place(file)}) for file in broken]
    job = client.upload("\n".join(lines).encode(), AddParameters(**options))
    return client.end_of_job(job.id, progress)


def listed_through(client: Client, where: Sequence[str]) -> list[dict[str, Any]]:
    """Return the documents of a server that meet conditions, by title, as `kgrag documents` prints them."""
    found: list[dict[str, Any]] = []
    page = client.documents(where=list(where), limit=_DOCUMENTS_PER_PAGE)
    found += [each.model_dump() for each in page.documents]
    while page.next:
        page = client.documents(where=list(where), after=page.next, limit=_DOCUMENTS_PER_PAGE)
        found += [each.model_dump() for each in page.documents]
    for each in found:
        each["metadata"] = {name: _plain_value(value) for name, value in each["metadata"].items()}
    return sorted(found, key=lambda each: (each["title"], each["iri"]))


def _plain_value(value: Any) -> Any:
    """Return a value of metadata without what JSON-LD adds to it."""
    if isinstance(value, list):
        return [_plain_value(item) for item in value]
    if not isinstance(value, dict):
        return value
    text = value.get("@id") or value["@value"]
    return float(text) if value.get("@type", "").endswith(("#decimal", "#double")) else text


def source_folder_through(client: Client, name: Path) -> Path:
    """Return the folder of the source of this name at a server; the name itself where there is none."""
    roots = {each.name: each.root for each in client.sources().sources if each.kind != "feed"}
    return Path(roots.get(str(name), name))


def forget_through(client: Client, name: str, *, every: bool) -> list[dict[str, Any]]:
    """Delete a document by a server, and return what went: one at the place that the name has here, else as it is."""
    from kgrag.client import NotThere
    from kgrag.http_api.json_schemas import ForgottenReply
    from kgrag.text.readers.sources import place

    try:
        done = client.forget(place(Path(name)), every=every)
    except NotThere:
        done = client.forget(name, every=every)
    assert isinstance(done, ForgottenReply)  # a job is what an erasure becomes
    return [each.model_dump() for each in done.root]


def erase_through(client: Client, name: str, *, every: bool) -> Erasure:
    """Erase a document by a server, and return what it did and found."""
    from kgrag.client import NotThere
    from kgrag.http_api.write_schemas import JobReply
    from kgrag.text.readers.sources import place

    try:
        job = client.forget(place(Path(name)), every=every, erase=True)
    except NotThere:
        job = client.forget(name, every=every, erase=True)
    assert isinstance(job, JobReply)
    return erasure_of(client.end_of_job(job.id))


def erasure_of(done: Mapping[str, Any]) -> Erasure:
    """Return an erasure that a server did, from the result of its job."""
    from kgrag.knowledge_base.erasure import Erasure

    read: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in done.items()}
    return Erasure(**read)


def build_through(
    client: Client, method: str, sent: Mapping[str, Any], progress: Progress
) -> tuple[BuildReport, tuple[float, float] | None]:
    """Build a method by a server, and return its report, and the price of its model where the server knows one."""
    from kgrag.model import BuildReport, Usage

    done = client.end_of_job(client.build(method, **sent).id, progress)
    usage = Usage(**done["usage"])
    price = done.get("price")
    report = BuildReport(done["method"], done["counts"], usage, tuple(done["notes"]), tuple(done["pending"]))
    return report, None if price is None else (price[0], price[1])
