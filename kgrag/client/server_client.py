"""``Client`` and ``AsyncClient``: the JSON API as typed methods, SPARQL, graphs, uploads, and jobs to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import pyoxigraph as ox
from pydantic import TypeAdapter

from kgrag.client.async_content_calls import AsyncContentOperations
from kgrag.client.async_operations import AsyncJsonOperations
from kgrag.client.content_calls import ContentOperations
from kgrag.client.json_operations import JsonOperations
from kgrag.client.server_connection import (
    Call,
    LatestRevision,
    ServerAddress,
    error_of_connection,
    failed,
    refusal,
)
from kgrag.errors import ServiceUnavailable
from kgrag.http_api.json_schemas import AddParameters
from kgrag.http_api.write_schemas import EffectReply, JobReply
from kgrag.ports import Progress

__all__ = ["AsyncClient", "Client", "SparqlResult"]

SparqlResult = ox.QuerySolutions | ox.QueryBoolean | list[ox.Triple]

_TABLE, _TRIPLES, _EVENTS = "application/sparql-results+json", "application/n-triples", "text/event-stream"
_ACCEPTED = f"{_TABLE}, {_TRIPLES};q=0.9"
_JOB, _EFFECT = TypeAdapter(JobReply), TypeAdapter(EffectReply)
_NOTHING, _TEXT = TypeAdapter(None), TypeAdapter(str)
_Reply = TypeVar("_Reply")


class Client(JsonOperations, ContentOperations):
    """A server, and calls of it that wait for the answer; a context manager.

    It finds what it wrote, whichever of several servers over the same store answers: each request names the latest
    revision of the answers before it.

    Args:
        url: e.g. ``http://127.0.0.1:8000``.
        key: None: that of the environment variable ``KGRAG_SERVER_KEY``.
        tenant: the only one whose knowledge base is meant, where a server has several: a key of another is refused.
        transport: sends the requests; without, httpx does.

    Every method raises:
        InputError: the server refuses what was sent; ``NotThere`` where it has nothing of that name.
        ServiceRefused: it wants another key, or forbids this.
        ServiceUnavailable: it cannot be reached, is overloaded, or broke off.

    Raises:
        InvalidSettings: the URL is none of HTTP.
    """

    def __init__(
        self, url: str, key: str | None = None, *, tenant: str = "", transport: httpx.BaseTransport | None = None
    ) -> None:
        address = ServerAddress(url, key, tenant=tenant)
        self.url = address.url
        self._http = httpx.Client(transport=transport, **address.options())
        self._latest = LatestRevision()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self._http.close()

    def _call(self, call: Call[_Reply]) -> _Reply:
        with self._opened(call) as response:
            response.read()
            return call.read(self.url, response)

    @contextmanager
    def _opened(self, call: Call[Any]) -> Iterator[httpx.Response]:
        try:
            with ExitStack() as ends:
                response = ends.enter_context(self._http.stream(**self._latest.arguments(call)))
                if self._latest.is_gone(self.url, response):
                    response = ends.enter_context(self._http.stream(**self._latest.arguments(call)))
                if not response.is_success:
                    response.read()
                    raise refusal(self.url, response)
                yield response
        except httpx.HTTPError as error:
            raise error_of_connection(self.url, error) from None

    def query(self, sparql: str) -> SparqlResult:
        """Return the result of a query: solutions, a truth value, or triples."""
        with self.open_query(sparql, _ACCEPTED) as response:
            response.read()
            return _result(response)

    @contextmanager
    def open_query(self, sparql: str, accept: str) -> Iterator[httpx.Response]:
        """Return the result of a query as the server sends it, in a form that ``accept`` allows."""
        with self._opened(_query(sparql, accept)) as response:
            yield response

    def written(self, path: str, media: str, *, json: object = None, **parameters: object) -> str:
        """Return what an address of the JSON API answers in another form: ``written("/profile", "text/turtle")``.

        With ``json``, which is the body then, it is posted.
        """
        return self._call(_written(path, media, json, parameters))

    def update(self, sparql: str) -> None:
        """Run an update; it is done and survives the death of the server when this returns."""
        self._call(_update(sparql))

    def update_effect(self, sparql: str, *, profile: str = "") -> EffectReply:
        """Return what an update would do; nothing is written."""
        return self._call(_effect(sparql, profile))

    def graph(self, iri: str) -> list[ox.Triple]:
        """Return the triples of a named graph."""
        return _triples(self._call(_graph("GET", iri, _TEXT)).encode())

    def put_graph(self, iri: str, triples: Iterable[ox.Triple]) -> None:
        """Replace a named graph."""
        self._call(_put(iri, triples))

    def delete_graph(self, iri: str) -> None:
        """Remove a named graph."""
        self._call(_graph("DELETE", iri, _NOTHING))

    def upload(self, lines: bytes, parameters: AddParameters | None = None) -> JobReply:
        """Send documents as JSON Lines, or with ``parameters.name`` a file; returns the job that takes them in."""
        return self._call(_upload(lines, parameters or AddParameters()))

    def end_of_job(self, job: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the result of a job when it is done; the next call finds what it wrote.

        Args:
            job: its id.
            progress: called with what is being done, how much is done, and of how much.

        Raises:
            InputError: it failed for what was sent.
            ServiceUnavailable: it failed for another reason, or the server ended.
        """
        with self._opened(_follow(job)) as response:
            for line in response.iter_lines():
                result = _ended(self.url, line, progress)
                if result is not None:
                    self.job(job)  # whose answer is after what the job wrote; this one began before it
                    return result
        raise _broke_off(self.url)


class AsyncClient(AsyncJsonOperations, AsyncContentOperations):
    """A server, and calls of it for asyncio; an asynchronous context manager. Arguments and errors as of ``Client``."""

    def __init__(
        self, url: str, key: str | None = None, *, tenant: str = "", transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        address = ServerAddress(url, key, tenant=tenant)
        self.url = address.url
        self._http = httpx.AsyncClient(transport=transport, **address.options())
        self._latest = LatestRevision()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()

    async def _call(self, call: Call[_Reply]) -> _Reply:
        async with self._opened(call) as response:
            await response.aread()
            return call.read(self.url, response)

    @asynccontextmanager
    async def _opened(self, call: Call[Any]) -> AsyncIterator[httpx.Response]:
        try:
            async with AsyncExitStack() as ends:
                response = await ends.enter_async_context(self._http.stream(**self._latest.arguments(call)))
                if self._latest.is_gone(self.url, response):
                    response = await ends.enter_async_context(self._http.stream(**self._latest.arguments(call)))
                if not response.is_success:
                    await response.aread()
                    raise refusal(self.url, response)
                yield response
        except httpx.HTTPError as error:
            raise error_of_connection(self.url, error) from None

    async def query(self, sparql: str) -> SparqlResult:
        """Return the result of a query: solutions, a truth value, or triples."""
        async with self._opened(_query(sparql, _ACCEPTED)) as response:
            await response.aread()
            return _result(response)

    async def written(self, path: str, media: str, *, json: object = None, **parameters: object) -> str:
        """Return what an address of the JSON API answers in another form; as ``Client.written``."""
        return await self._call(_written(path, media, json, parameters))

    async def update(self, sparql: str) -> None:
        """Run an update; it is done and survives the death of the server when this returns."""
        await self._call(_update(sparql))

    async def update_effect(self, sparql: str, *, profile: str = "") -> EffectReply:
        """Return what an update would do; nothing is written."""
        return await self._call(_effect(sparql, profile))

    async def graph(self, iri: str) -> list[ox.Triple]:
        """Return the triples of a named graph."""
        return _triples((await self._call(_graph("GET", iri, _TEXT))).encode())

    async def put_graph(self, iri: str, triples: Iterable[ox.Triple]) -> None:
        """Replace a named graph."""
        await self._call(_put(iri, triples))

    async def delete_graph(self, iri: str) -> None:
        """Remove a named graph."""
        await self._call(_graph("DELETE", iri, _NOTHING))

    async def upload(self, lines: bytes, parameters: AddParameters | None = None) -> JobReply:
        """Send documents as JSON Lines, or with ``parameters.name`` a file; returns the job that takes them in."""
        return await self._call(_upload(lines, parameters or AddParameters()))

    async def end_of_job(self, job: str, progress: Progress | None = None) -> dict[str, Any]:
        """Return the result of a job when it is done; as ``Client.end_of_job``."""
        async with self._opened(_follow(job)) as response:
            async for line in response.aiter_lines():
                result = _ended(self.url, line, progress)
                if result is not None:
                    await self.job(job)
                    return result
        raise _broke_off(self.url)


def _query(sparql: str, accept: str) -> Call[Any]:
    headers = {"Accept": accept, "Content-Type": "application/sparql-query"}
    return Call("POST", "/sparql", TypeAdapter(Any), body=sparql.encode(), headers=headers)


def _written(path: str, media: str, body: object, parameters: Mapping[str, object]) -> Call[str]:
    method = "GET" if body is None else "POST"
    return Call(method, path, _TEXT, parameters, json=body, headers={"Accept": media})


def _result(response: httpx.Response) -> SparqlResult:
    if response.headers["content-type"].startswith(_TABLE):
        return ox.parse_query_results(response.content, ox.QueryResultsFormat.JSON)
    return _triples(response.content)


def _triples(data: bytes) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(data, ox.RdfFormat.N_TRIPLES)]


def _update(sparql: str) -> Call[None]:
    headers = {"Content-Type": "application/sparql-update"}
    return Call("POST", "/update", _NOTHING, body=sparql.encode(), headers=headers)


def _effect(sparql: str, profile: str) -> Call[EffectReply]:
    headers = {"Content-Type": "application/sparql-update"}
    parameters = {"profile": profile} if profile else {}
    return Call("POST", "/update/effect", _EFFECT, parameters, body=sparql.encode(), headers=headers)


def _graph(method: str, iri: str, reply: TypeAdapter[_Reply]) -> Call[_Reply]:
    return Call(method, "/graphs", reply, {"graph": iri}, headers={"Accept": _TRIPLES})


def _put(iri: str, triples: Iterable[ox.Triple]) -> Call[None]:
    body = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    return Call("PUT", "/graphs", _NOTHING, {"graph": iri}, body=body, headers={"Content-Type": _TRIPLES})


def _upload(body: bytes, parameters: AddParameters) -> Call[JobReply]:
    media = "application/octet-stream" if parameters.name else "application/x-ndjson"
    sent: Mapping[str, object] = parameters.model_dump(exclude_unset=True)
    return Call("POST", "/documents", _JOB, sent, body=body, headers={"Content-Type": media})


def _follow(job: str) -> Call[JobReply]:
    return Call("GET", f"/jobs/{quote(job, safe='')}", _JOB, headers={"Accept": _EVENTS})


def _ended(url: str, line: str, progress: Progress | None) -> dict[str, Any] | None:
    """Return the result of a job whose last event this line is; None: it is not over."""
    if not line.startswith("data: "):
        return None
    state = JobReply.model_validate_json(line.removeprefix("data: "))
    if state.state == "cancelled":
        raise ServiceUnavailable("the job was cancelled. What is done by then is kept.")
    if state.state == "failed":
        raise failed(url, state.problem or {"status": 500, "detail": "the job failed."})
    if state.state == "done":
        return state.result or {}
    if progress is not None:
        now = state.progress
        progress(now["stage"] or state.state, now["done"], now["total"])
    return None


def _broke_off(url: str) -> ServiceUnavailable:
    return ServiceUnavailable(f"{url} broke off. What is done is kept; ask for the rest again.")
