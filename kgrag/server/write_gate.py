"""The gate for writes: ontologies may not get worse by a profile of the audit, or data by SHACL shapes.

A write is judged before its turn, on the state at that time, by a process of its own that can be killed
(``kgrag.server.gate_program``). If somebody else wrote before its turn came, it is judged again, within its turn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import kgrag
from kgrag.errors import KgragError
from kgrag.server.data_gate_program import are_shapes
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import ReaderRequest, ServerLimits
from kgrag.server.readers.snapshot_pool import SnapshotPool
from kgrag.server.served_data import ServedDataset
from kgrag.server.streaming import collect_result
from kgrag.store.rdf_files import is_ontology

__all__ = ["PlannedUpdate", "PlannedUpload", "Recheck", "WriteGate", "changing_functions"]

_MAX_FINDINGS_IN_MESSAGE = 5
_WARM_UP_SECONDS = 60.0
"""A process that audits imports much before its first verdict."""
_CHANGING_FUNCTIONS = ("NOW", "RAND", "STRUUID", "UUID")
"""Functions that return another value each time that an update is run."""
_Refused = list[dict[str, Any]]
"""Ontologies that a write would make worse, as ``gate_program.judge`` returns them."""

Recheck = Callable[[], Awaitable[None]]
"""Called within the turn of a write; judges it again if the store has changed since, and raises Problem 422."""


@dataclass(frozen=True, slots=True)
class PlannedUpload:
    """Triples that are to replace the content of a graph, or to be added to it."""

    graph: str
    triples: Sequence[ox.Triple]
    add: bool


@dataclass(frozen=True, slots=True)
class PlannedUpdate:
    """An update that is to be run.

    Attributes:
        text: the update.
        header: its ``base`` and ``prefixes``.
        graphs: those that it may write to; None: any.
        searches: whether what it writes depends on what is stored.
        seconds: how long it may be judged; None: as long as a query may work.
        words: those of its text, in capitals.
    """

    text: str
    header: Mapping[str, object]
    graphs: Collection[str] | None
    searches: bool
    seconds: float | None
    words: Collection[str] = ()


def changing_functions(words: Collection[str]) -> list[str]:
    """Return the functions with another value in each run among the words of an update, which need no blank between.

    >>> changing_functions({"SELECT", "BYRAND", "STRUUID"})
    ['RAND', 'STRUUID']
    """
    ends = {next((name for name in _CHANGING_FUNCTIONS if word.endswith(name)), "") for word in words}
    return sorted(ends - {""})


class WriteGate:
    """Judges writes by a profile.

    Args:
        profile: its name, or the path of a TOML file; or of a file of SHACL shapes, by which data are judged.
        dataset: what is written to.
        snapshots: of its store.
        limits: of the server; a write may be judged for as long as a query may work.
    """

    def __init__(self, profile: str, dataset: ServedDataset, snapshots: SnapshotPool, limits: ServerLimits) -> None:
        self._judges_data = are_shapes(profile)
        is_file = profile.endswith(".toml") or self._judges_data
        self.profile = str(Path(profile).resolve()) if is_file else profile
        self._dataset = dataset
        self._seconds = limits.seconds
        own_limits = replace(
            limits,
            readers=1,
            seconds=max(limits.seconds, _WARM_UP_SECONDS),
            waiting=max(limits.waiting, _WARM_UP_SECONDS),  # the first write may come before the process is ready
            rows=0,
        )
        self._pool = ReaderPool(snapshots, own_limits)
        self._warming = asyncio.get_running_loop().create_task(self._warm())

    async def _warm(self) -> None:
        """Start the process that judges, so that the first write need not wait for it."""
        with suppress(KgragError, Problem):
            await collect_result(self._pool, self._request("warm", {}, b"", _WARM_UP_SECONDS))

    async def update(self, update: PlannedUpdate) -> Recheck:
        """Judge an update, and return what is to be called once its turn has come.

        By a profile, an update that does not search, and neither touches nor declares an ontology, is not tried on a
        copy.

        Raises:
            Problem: 422: ontologies would get worse; nothing is written.
            InvalidSPARQL: it cannot be run.
            ServiceUnavailable: judging took too long.
        """
        text, seconds = update.text.encode(), update.seconds or self._seconds
        graphs = None if update.graphs is None else sorted(update.graphs)
        may_declare = update.searches or graphs is None or self._judges_data

        async def judge() -> _Refused:
            nonlocal may_declare
            if not may_declare and not await self._has_ontology(graphs):
                task = self._request("declares", update.header, text, seconds)
                may_declare = json.loads(await collect_result(self._pool, replace(task, reads_store=False)))["declares"]
            # asked again: meanwhile somebody else may have turned one of the graphs into an ontology
            if not may_declare and not await self._has_ontology(graphs):
                return []
            # the writer runs the update again: it must not do otherwise than what was judged
            if changing := changing_functions(update.words):
                raise Problem(
                    422,
                    f"{', '.join(changing)}: run again, the update may write something else "
                    "than what was judged. Write the values themselves. Nothing was written.",
                )
            async with self._pool.trial_copy() as copy:
                header = {**update.header, "graphs": graphs, "copy": str(copy)}
                return await self._refused(self._request("judge", header, text, seconds))

        return await self._judge(judge)

    async def _has_ontology(self, graphs: Collection[str] | None) -> bool:
        return await asyncio.to_thread(lambda: any(map(self._dataset.is_ontology, graphs or ())))

    async def upload(self, plan: Callable[[], PlannedUpload]) -> Recheck:
        """Judge an upload, as ``update`` does; ``plan`` returns what it would do in the present state.

        To delete a graph is to replace its content by nothing, which makes no ontology worse.
        """

        async def judge() -> _Refused:
            upload = plan()
            header = {"graphs": [upload.graph], "copy": None, "add": upload.add}
            lines = ox.serialize(upload.triples, format=ox.RdfFormat.N_TRIPLES) or b""
            if self._judges_data:
                async with self._pool.trial_copy() as copy:
                    return await self._refused(
                        self._request("judge", {**header, "copy": str(copy)}, lines, self._seconds)
                    )
            if not upload.triples or not (is_ontology(upload.triples) or await self._has_ontology([upload.graph])):
                return []
            return await self._refused(self._request("judge", header, lines, self._seconds))

        return await self._judge(judge)

    async def _judge(self, judge: Callable[[], Awaitable[_Refused]]) -> Recheck:
        revision = self._dataset.revision  # read first: what is judged may be newer, never older
        self._check(await judge())

        async def recheck() -> None:
            if self._dataset.revision != revision:
                self._check(await judge())

        return recheck

    def _request(self, function: str, header: Mapping[str, object], body: bytes, seconds: float) -> ReaderRequest:
        own = {
            "root": str(Path(kgrag.__file__).parents[1]),
            "function": f"kgrag.server.gate_program:{function}",
            "profile": self.profile,
            "names": self._dataset.names.base,
        }
        return ReaderRequest("call", {**own, **header}, body, seconds)

    async def _refused(self, request: ReaderRequest) -> _Refused:
        refused: _Refused = json.loads(await collect_result(self._pool, request))["refused"]
        return refused

    def _check(self, refused: _Refused) -> None:
        if not refused:
            return
        new = sum(graph["new"] for graph in refused)
        graphs = ", ".join(f"<{graph['graph']}>" for graph in refused[:_MAX_FINDINGS_IN_MESSAGE])
        findings = [finding for graph in refused for finding in graph["findings"]][:_MAX_FINDINGS_IN_MESSAGE]
        told = (f"{finding['check']} <{finding['focus']}>: {finding['message'].rstrip('.')}" for finding in findings)
        listed = "; ".join(told)
        rules = f"the {'shapes' if self._judges_data else 'profile'} '{Path(self.profile).name}'"
        raise Problem(
            422,
            f"the write would bring {new} {'violation' if new == 1 else 'violations'} of {rules} "
            f"that {graphs} did not have before: {listed}{'.' if new <= _MAX_FINDINGS_IN_MESSAGE else ' …'} "
            "Nothing was written.",
            more={"profile": Path(self.profile).stem, "graphs": refused},
        )

    def at_rest(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which nothing is judged, and no process has a copy of the store open."""
        return self._pool.at_rest()

    async def close(self) -> None:
        """End the process that judges."""
        await self._pool.kill_readers()
        await self._warming
