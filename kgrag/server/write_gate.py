"""The gate for writes: ontologies may not get worse by a profile of the audit.

A write is judged before its turn, on the state at that time, by a process of its own that can be killed
(``kgrag.server.gate_program``). When its turn comes and somebody wrote meanwhile, it is judged again, within its turn.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

import kgrag
from kgrag.errors import KgragError
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_pool import Limits, ReaderPool
from kgrag.server.readers.reader_request import Request
from kgrag.server.readers.snapshot_pool import Snapshots
from kgrag.server.served_data import Dataset
from kgrag.server.streaming import collected
from kgrag.store.rdf_files import is_ontology

__all__ = ["Gate", "Update", "Upload"]

_TOLD = 5
_WARM = 60.0
_Verdict = tuple[int, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Upload:
    """Triples that are to take the place of a graph, or to join it."""

    graph: str
    triples: Sequence[ox.Triple]
    add: bool


@dataclass(frozen=True, slots=True)
class Update:
    """An update, and what goes with it: base and prefixes, the graphs that it may write to (None: any)."""

    text: str
    header: Mapping[str, Any]
    graphs: Collection[str] | None
    searches: bool
    """Whether what it writes depends on what is stored."""
    seconds: float | None


class Gate:
    """Judges writes by a profile.

    Args:
        profile: its name, or the path of a TOML file.
        dataset: what is written to.
        snapshots: of its store.
        limits: of the server; a write may be judged for as long as a query may work.
    """

    def __init__(self, profile: str, dataset: Dataset, snapshots: Snapshots, limits: Limits) -> None:
        self.profile = str(Path(profile).resolve()) if profile.endswith(".toml") else profile
        self._dataset = dataset
        self._seconds = limits.seconds
        self._pool = ReaderPool(snapshots, replace(limits, readers=1, seconds=max(limits.seconds, _WARM), rows=0))
        self._warming = asyncio.get_running_loop().create_task(self._warm())

    async def _warm(self) -> None:
        """Start the process that judges, so that the first write need not wait for it."""
        with suppress(KgragError, Problem):
            await collected(self._pool, self._request("warm", {}, b"", _WARM))

    async def update(self, update: Update) -> Callable[[], Awaitable[None]]:
        """Judge an update, and give what is to be called once its turn has come: it judges again if need be.

        An update that does not search, and neither touches nor declares an ontology, is not tried on a copy.

        Raises:
            Problem: 422: ontologies would get worse; nothing is written.
            InvalidSPARQL: it cannot be run.
            ServiceUnavailable: judging took too long.
        """
        text, seconds = update.text.encode(), update.seconds or self._seconds
        named = None if update.graphs is None else sorted(update.graphs)
        declares = update.searches or named is None

        async def judge() -> list[dict[str, Any]]:
            nonlocal declares
            if not declares and not await self._names_ontology(named):
                task = self._request("declares", update.header, text, seconds)
                declares = json.loads(await collected(self._pool, replace(task, of_store=False)))["declares"]
            if not declares and not await self._names_ontology(named):
                return []
            async with self._pool.trial() as copy:
                told = {**update.header, "graphs": named, "copy": str(copy)}
                return await self._refused(self._request("judge", told, text, seconds))

        return await self._judged(judge)

    async def _names_ontology(self, graphs: Collection[str] | None) -> bool:
        return await asyncio.to_thread(lambda: any(map(self._dataset.is_ontology, graphs or ())))

    async def upload(self, read: Callable[[], Upload]) -> Callable[[], Awaitable[None]]:
        """Judge an upload, as ``update`` does; ``read`` says what it would do as things are."""

        async def judge() -> list[dict[str, Any]]:
            upload = read()
            if not is_ontology(upload.triples) and not await self._names_ontology([upload.graph]):
                return []
            told = {"graphs": [upload.graph], "copy": None, "add": upload.add}
            lines = ox.serialize(upload.triples, format=ox.RdfFormat.N_TRIPLES) or b""
            return await self._refused(self._request("judge", told, lines, self._seconds))

        return await self._judged(judge)

    async def _judged(self, judge: Callable[[], Awaitable[list[dict[str, Any]]]]) -> Callable[[], Awaitable[None]]:
        revision = self._dataset.revision  # first: what is judged may be newer, never older
        self._check(await judge())

        async def again() -> None:
            if self._dataset.revision != revision:
                self._check(await judge())

        return again

    def _request(self, function: str, header: Mapping[str, Any], body: bytes, seconds: float) -> Request:
        own = {
            "root": str(Path(kgrag.__file__).parents[1]),
            "function": f"kgrag.server.gate_program:{function}",
            "profile": self.profile,
            "names": self._dataset.names.base,
        }
        return Request("call", {**own, **header}, body, seconds)

    async def _refused(self, request: Request) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(await collected(self._pool, request))["refused"]
        return found

    def _check(self, refused: Sequence[Mapping[str, Any]]) -> None:
        if not refused:
            return
        new = sum(each["new"] for each in refused)
        graphs = ", ".join(f"<{each['graph']}>" for each in refused[:_TOLD])
        first = [finding for each in refused for finding in each["findings"]][:_TOLD]
        told = "; ".join(f"{finding['check']} <{finding['focus']}>: {finding['message']}" for finding in first)
        raise Problem(
            422,
            f"the write would bring {new} {'violation' if new == 1 else 'violations'} of the profile '{self.profile}' "
            f"that {graphs} did not have before: {told}{'' if new <= _TOLD else ' …'} Nothing was written.",
            more={"profile": Path(self.profile).stem, "graphs": list(refused)},
        )

    async def close(self) -> None:
        """End the process that judges."""
        await self._pool.end()
        await self._warming
