"""The endpoints ``/sparql``, ``/update`` and ``/update/effect``: SPARQL 1.1 Protocol, and what an update would do.

Texts pass the gate of ``kgrag.sparql`` before anything else. Searches in a query (``kgv:near`` …) are run by worker
threads of the knowledge base, before a reader gets the query and within its time (``query_searches``).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

import kgrag
from kgrag.audit.profiles import catalogue_of, load_profile
from kgrag.errors import InvalidSPARQL, ServiceUnavailable
from kgrag.http_api.write_schemas import EffectParameters
from kgrag.querying.searches import names_search, refuse_in_update
from kgrag.server import service_description
from kgrag.server.access_keys import Key, Rights
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.media_types import RDF, RESULTS, choose
from kgrag.server.problems import Problem
from kgrag.server.protocol_requests import DOWNLOADS, MAX_GRAPHS, SparqlOperation, read_query, read_update
from kgrag.server.query_searches import run_searches
from kgrag.server.readers.reader_request import ReaderRequest
from kgrag.server.request_log import record_of
from kgrag.server.server_state import ServerState, address, state_of, writer_of
from kgrag.server.streaming import collect_result, stream_result
from kgrag.server.update_rewriting import with_dataset, without_silent_calls
from kgrag.server.write_gate import PlannedUpdate, Recheck, changing_functions
from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.constant_lists import with_values_for_lists
from kgrag.sparql.gate import AdmittedText, check_query, check_update, harmless
from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.sparql.query_help import helped
from kgrag.sparql.total_orders import with_total_orders
from kgrag.sparql.update_chances import chance_in_graphs
from kgrag.sparql.update_targets import written

__all__ = ["effect", "query", "reader_request", "update"]

_Value = TypeVar("_Value")
_MAX_CHARACTERS_ON_LOOP = 20_000
"""Longer texts keep the gate busy for more than a few milliseconds, and are read in a thread."""
_MAX_CACHED_BASE_CHARACTERS = 300
_MIN_SECONDS_AFTER_SEARCHES = 0.1
_MAX_TRIES_FOR_EFFECT = 3
_SEARCHING_WORDS = frozenset({"WHERE", "COPY", "MOVE", "ADD"})
"""Words of updates whose work has no bound in their own length."""
_UNDECIDED_TARGETS = (
    "It cannot be told which graphs the update writes to, and this key may write to some graphs only. Name each graph "
    "by its IRI, or use a key that may write to all of them."
)
_CHANCE_IN_GRAPHS = (
    "It is run on a copy first, to see that it changes no graph that kgrag makes itself, and because of {chance} "
    "it may change others when it is run again. Leave that out, or name each graph by its IRI."
)
_UNDECIDED_SHARED = (
    "It cannot be told which graphs the update writes to, and those that tenants share are read-only here. Name each "
    "graph by its IRI."
)


async def query(request: HttpRequest) -> Response:
    """Answer a query, or describe the service to a bare GET.

    Raises:
        Problem: 400, 406, 413 or 415, as the protocol says; 401 or 403: a search costs money here.
        InvalidSPARQL: the gate or the engine refuses the query.
        ServiceUnavailable: no reader was free, or it was stopped.
    """
    accept = request.headers.get("accept", "")
    operation = await read_query(request)
    if operation is None:
        return service_description.service(request)
    headers = {"Vary": "Accept"}
    if operation.download:  # a link or form of a page cannot choose by Accept
        accept = DOWNLOADS[operation.download]
        headers["Content-Disposition"] = f'attachment; filename="result.{operation.download}"'
    results, rdf = choose(accept, RESULTS), choose(accept, RDF)
    if not rdf and choose(accept, ("application/json",)):  # of a client that has one Accept header for all forms
        rdf = "application/ld+json"
    if not results and not rdf:
        raise Problem(406, f"no result has a format of Accept: {accept[:200]}. Known: {', '.join((*RESULTS, *RDF))}.")
    state = state_of(request)
    limit = state.pool.limits.seconds
    with _telling_mistakes(operation.text, state):
        prepared = await _prepared(request, operation.text, min(operation.seconds or limit, limit))
    text, reading, similar = prepared.text, prepared.reading, prepared.similar
    graphs = _graphs_of(operation)
    union = state.dataset.union if operation.union is None else operation.union
    union = union and graphs is None and not reading.chooses_dataset
    several = union if graphs is None else len(graphs["default"]) > 1
    text = await _read(text, lambda text: _merged(text, state, several=several, is_chosen=graphs is not None))
    form = _QueryForm(address(request, "/sparql"), results, rdf, union, _known_names(state))
    header: Mapping[str, object] | bytes
    if similar is None and graphs is None and len(form.base) < _MAX_CACHED_BASE_CHARACTERS:
        header = _packed_header(form, tuple(state.dataset.prefixes.items()))
    else:
        header = {**_header(form, state.dataset.prefixes), "similar": similar, "dataset": graphs}
    task = ReaderRequest(
        "query",
        header,
        text.encode(),
        prepared.seconds_left,
        client=_client_of(request),
        written=operation.text,
        newest=False,
    )
    with _telling_mistakes(operation.text, state):
        return await stream_result(request, state.pool, task, headers)


@contextmanager
def _telling_mistakes(text: str, state: ServerState, *, update: bool = False) -> Iterator[None]:
    """Raise the errors of a text that does not parse with what is wrong with it."""
    try:
        yield
    except InvalidSPARQL as error:
        prefixes, known = state.dataset.prefixes, state.dataset.known_prefixes
        raise helped(error, text, prefixes=prefixes, known=known, update=update) from error


async def reader_request(
    request: HttpRequest, text: str, *, results: str, rdf: str, seconds: float | None = None
) -> ReaderRequest:
    """Return what a reader is asked for a query that came by another door, under the rules of ``/sparql``.

    Args:
        request: brought the query.
        text: the query.
        results: media type of a table.
        rdf: media type of triples.
        seconds: how long it may work; None and more than the server's limit: that.

    Raises:
        Problem: 401, 403: a search costs money here.
        InvalidSPARQL: the gate refuses the query.
    """
    state = state_of(request)
    limit = state.pool.limits.seconds
    prepared = await _prepared(request, text, min(seconds or limit, limit))
    union = state.dataset.union and not prepared.reading.chooses_dataset
    sent = await _read(prepared.text, lambda text: _merged(text, state, several=union))
    form = _QueryForm(address(request, "/sparql"), results, rdf, union, _known_names(state))
    header = {**_header(form, state.dataset.prefixes), "similar": prepared.similar}
    who = _client_of(request)
    return ReaderRequest("query", header, sent.encode(), prepared.seconds_left, client=who, written=text)


def _client_of(request: HttpRequest) -> str:
    """Return who asks, for fair shares: the name of the key, else the address."""
    client = request.scope.get("client")
    return record_of(request).key or (client[0] if client else "")


class _Prepared(NamedTuple):
    """A query as a reader gets it: past the gate, its searches run, which took part of its seconds."""

    text: str
    reading: AdmittedText
    similar: dict[str, object] | None
    seconds_left: float


async def _prepared(request: HttpRequest, text: str, seconds: float) -> _Prepared:
    record_of(request).query = text
    state = state_of(request)
    prefixes = state.dataset.prefixes
    text, reading = await _read(text, lambda text: _checked_query(text, prefixes))
    if state.workers is None or not names_search(text):
        return _Prepared(text, reading, None, seconds)
    started = time.monotonic()
    text, similar = await run_searches(request, state.workers, text, seconds=seconds)
    seconds_left = max(seconds - (time.monotonic() - started), _MIN_SECONDS_AFTER_SEARCHES)
    return _Prepared(text, reading, similar, seconds_left)


async def _read(text: str, read: Callable[[str], _Value]) -> _Value:
    return read(text) if len(text) < _MAX_CHARACTERS_ON_LOOP else await asyncio.to_thread(read, text)


def _checked_query(text: str, prefixes: Mapping[str, str]) -> tuple[str, AdmittedText]:
    if harmless(text):
        return with_total_orders(text), AdmittedText()
    text = without_silent_calls(text)
    reading = check_query(text)
    if reading.named_graphs > MAX_GRAPHS:
        raise Problem(
            400,
            f"the query names {reading.named_graphs} graphs by FROM; at most {MAX_GRAPHS} are allowed. Leave it "
            "out, and limit the graphs by GRAPH ?g and VALUES ?g.",
        )
    return with_total_orders(with_values_for_lists(text, prefixes)), reading


def _merged(text: str, state: ServerState, *, several: bool, is_chosen: bool = False) -> str:
    return with_merged_graphs(text, prefixes=state.dataset.prefixes, several=several, is_chosen=is_chosen)


def _graphs_of(operation: SparqlOperation) -> dict[str, list[str]] | None:
    """Return the graphs that a request names; None where they are those of FROM, or the default of the server."""
    if not operation.default and not operation.named:
        return None
    return {
        "default": [graph.value for graph in operation.default],
        "named": [graph.value for graph in operation.named],
    }


class _QueryForm(NamedTuple):
    """What many queries have in common: base IRI, media types for tables and for graphs, default graph.

    ``names`` is the base of the IRIs of the knowledge base, "" for a plain dataset.
    """

    base: str
    results: str
    rdf: str
    union: bool
    names: str


def _known_names(state: ServerState) -> str:
    return state.dataset.names.base if state.dataset.union else ""


def _header(form: _QueryForm, prefixes: Mapping[str, str]) -> dict[str, object]:
    root = str(Path(kgrag.__file__).parents[1])
    return {**form._asdict(), "prefixes": dict(prefixes), "similar": None, "dataset": None, "root": root}


@lru_cache(maxsize=256)
def _packed_header(form: _QueryForm, prefixes: tuple[tuple[str, str], ...]) -> bytes:
    return json.dumps(_header(form, dict(prefixes))).encode()


async def update(request: HttpRequest) -> Response:
    """Run an update; 204 means that it is done and survives the death of the server.

    An update that searches (WHERE, COPY, MOVE, ADD) is first run by a reader on a copy of the store that is thrown
    away: whatever takes too long or too much memory is stopped there, and never begins to hold up the writer. Only a
    key with the right 'admin' is trusted to know what it asks for, and saves that time where its update names the
    graphs that it writes to.

    With If-Match it is run only while the store is as it was when ``/update/effect`` returned this ETag.

    Raises:
        Problem: 400, 401, 403, 412, 413, 415 or, where ontologies may not get worse, 422.
        InvalidSPARQL: the gate or the engine refuses the update.
        ServiceUnavailable: no reader was free to try it, or it used up its time there.
    """
    state, record = state_of(request), record_of(request)
    record.operation = "update"
    operation, checked = await _posted_update(request)
    record.graphs = checked.graphs
    base = address(request, "/update")
    header = {"base": base, "prefixes": dict(state.dataset.prefixes)}
    rechecks: list[Recheck] = []
    with _telling_mistakes(operation.text, state, update=True):
        if checked.may_write_own:
            rechecks.append(await _judge_own_graphs(state, checked, header, operation.seconds))
        elif state.gate is None:
            await _try_update(state, checked, header, operation.seconds)
        if state.gate is not None:
            planned = PlannedUpdate(
                with_total_orders(checked.text),
                header,
                checked.graphs,
                checked.searches,
                operation.seconds,
                checked.words,
            )
            rechecks.append(await state.gate.update(planned))
    async with state.turn_to_write():
        if request.headers.get("if-match", "*").strip() not in ("*", _store_etag(state)):
            raise Problem(412, "the store has changed since the effect was shown. Look at it again.")
        for recheck in rechecks:
            await recheck()
        await state.write(record, lambda: state.dataset.update(checked.text, base))
    return Response(status_code=204)


async def effect(request: HttpRequest) -> Response:
    """Report what an update would do: triples that come and go by graph, and what the gate would refuse.

    It is run on a copy that is thrown away. The ETag of the answer makes sure that it is still so: send it to
    ``/update`` as If-Match.

    Raises:
        Problem: as of ``update``.
        InvalidSPARQL: the gate or the engine refuses the update.
        UnknownName: there is no such profile.
        ServiceUnavailable: no reader was free, it used up its time, or others write all the time.
    """
    state = state_of(request)
    operation, checked = await _posted_update(request)
    profile = read_parameters(request, EffectParameters).profile
    if profile:
        await asyncio.to_thread(lambda: catalogue_of(load_profile(profile)))
    header = {
        "root": str(Path(kgrag.__file__).parents[1]),
        "function": "kgrag.server.update_program:effect",
        "profile": profile or ("" if state.gate is None else state.gate.profile),
        "names": state.dataset.names.base,
        "graphs": None if checked.graphs is None else sorted(checked.graphs),
        "base": address(request, "/update"),
        "prefixes": dict(state.dataset.prefixes),
    }
    for _ in range(_MAX_TRIES_FOR_EFFECT):
        etag, revision = _store_etag(state), state.dataset.revision
        async with state.pool.trial_copy() as copy:
            seconds = operation.seconds or state.pool.limits.seconds
            text = with_total_orders(checked.text).encode()
            task = ReaderRequest("call", {**header, "copy": str(copy)}, text, seconds)
            with _telling_mistakes(operation.text, state, update=True):
                found = json.loads(await collect_result(state.pool, task))
        own = found.pop("own")
        if checked.may_write_own:
            state.dataset.refuse_own(own)
        if state.dataset.revision == revision:  # else it may have what somebody else wrote meanwhile
            changing = changing_functions(checked.words)
            reply = {**found, "profile": Path(str(header["profile"])).stem, "changing": changing, "revision": revision}
            return JSONResponse(reply, headers={"ETag": etag, "Cache-Control": "no-store"})
    raise ServiceUnavailable("others write to the store all the time. Ask again later.")


def _store_etag(state: ServerState) -> str:
    return f'"{state.dataset.epoch}-{state.dataset.revision}"'


async def _posted_update(request: HttpRequest) -> tuple[SparqlOperation, _CheckedUpdate]:
    """Return the update that a request brings, checked for its key."""
    state, record = state_of(request), record_of(request)
    key = writer_of(request, every_graph=False)
    operation = await read_update(request)
    record.query = operation.text
    with _telling_mistakes(operation.text, state, update=True):
        try:
            return operation, await _read(operation.text, lambda text: _checked_update(text, operation, key, state))
        except Problem:  # which graphs it writes to is no question where it does not parse
            header = {"base": address(request, "/update"), "prefixes": dict(state.dataset.prefixes)}
            with suppress(ServiceUnavailable):
                await _parse(state, without_silent_calls(operation.text), header, operation.seconds)
            raise


@dataclass(frozen=True)
class _CheckedUpdate:
    """An update as it is run.

    Attributes:
        text: the update; whatever runs it sees to its sorts.
        graphs: those that it may write to; None: any.
        searches: whether its work has no bound in its own length.
        is_tried: whether it is run on a copy first.
        may_write_own: whether it can write to graphs of kgrag's own making without naming them.
        words: those of its text, in capitals.
    """

    text: str
    graphs: frozenset[str] | None
    searches: bool
    is_tried: bool
    may_write_own: bool
    words: Collection[str]


def _checked_update(text: str, operation: SparqlOperation, key: Key, state: ServerState) -> _CheckedUpdate:
    """Check that an update may be run with a key.

    Raises:
        Problem: 403: the key may not do that.
        InvalidSPARQL: the gate refuses it.
    """
    dataset = state.dataset
    text = without_silent_calls(text)
    reading = check_update(text)
    refuse_in_update(text)
    if operation.default or operation.named:
        text = with_dataset(text, operation.default, operation.named)
    text = with_readable_terms(text)
    targets = written(text, dataset.prefixes)
    stored = None if targets.graphs is None else frozenset(dataset.stored_as(graph) for graph in targets.graphs)
    if key.is_limited:
        if stored is None:
            raise Problem(
                403, f"{targets.reason} {_UNDECIDED_TARGETS if key.graphs is not None else _UNDECIDED_SHARED}"
            )
        key.check_graphs(sorted(stored))
        text = targets.text
    is_trusted = key.rights >= Rights.ADMIN
    may_write_own = stored is None and dataset.union  # who may write to those has to name them
    if not is_trusted:
        dataset.refuse_own(sorted(stored or ()))
    dataset.refuse_catalogue(stored or ())
    if may_write_own:
        if reading.words & {"CLEAR", "DROP"} and reading.words & {"ALL", "NAMED"}:
            dataset.refuse_own([dataset.names.catalogue.value])
        if chance := chance_in_graphs(text):
            raise Problem(403, f"{targets.reason} {_CHANCE_IN_GRAPHS.format(chance=chance)}")
    searches = bool(reading.words & _SEARCHING_WORDS)
    is_tried = searches and not is_trusted
    return _CheckedUpdate(text, stored, searches, is_tried=is_tried, may_write_own=may_write_own, words=reading.words)


async def _judge_own_graphs(
    state: ServerState, update: _CheckedUpdate, header: Mapping[str, object], seconds: float | None
) -> Recheck:
    """Refuse an update that changes graphs of kgrag's own making on a copy; return what to call within its turn.

    Raises:
        Problem: 403: it does.
        InvalidSPARQL: it cannot be run.
    """
    own = {
        "root": str(Path(kgrag.__file__).parents[1]),
        "function": "kgrag.server.update_program:own_graphs",
        "names": state.dataset.names.base,
    }

    async def judge() -> None:
        async with state.pool.trial_copy() as copy:
            text = with_total_orders(update.text).encode()
            whole = {**header, **own, "copy": str(copy)}
            task = ReaderRequest("call", whole, text, seconds or state.pool.limits.seconds)
            state.dataset.refuse_own(json.loads(await collect_result(state.pool, task))["own"])

    revision = state.dataset.revision  # read first: what is judged may be newer, never older
    await judge()

    async def recheck() -> None:
        if state.dataset.revision != revision:
            await judge()

    return recheck


async def _try_update(
    state: ServerState, update: _CheckedUpdate, header: Mapping[str, object], seconds: float | None
) -> None:
    """Parse an update in a reader, or run it there on a copy of the store."""
    text, seconds = with_total_orders(update.text), seconds or state.pool.limits.seconds
    if not update.is_tried:
        await _parse(state, text, header, seconds)
        return
    async with state.pool.trial_copy() as copy:
        task = ReaderRequest("try_update", {**header, "copy": str(copy)}, text.encode(), seconds, reads_store=False)
        await collect_result(state.pool, task)


async def _parse(state: ServerState, text: str, header: Mapping[str, object], seconds: float | None) -> None:
    """Raise InvalidSPARQL where an update does not parse, as a reader finds."""
    limit = seconds or state.pool.limits.seconds
    task = ReaderRequest("check_update", header, text.encode(), limit, reads_store=False)
    await collect_result(state.pool, task)
