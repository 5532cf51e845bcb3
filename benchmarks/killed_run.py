"""A process that is killed where it reports to be, and counts of what is found behind it: shared by benchmarks."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

__all__ = ["Found", "KilledRun", "State", "Tally", "Trace", "compare"]

_SECONDS_TO_END = 20.0
_REPEATED = ("publishing", "published", "asking")  # places at which a process is several times
_LONG = ("starting", "working")

State = Mapping[str, object]
"""What there is, by name -> a hash of it."""


@dataclass
class Tally:
    """Counts that are kept in a file, so that another process goes on with them."""

    @classmethod
    def read(cls, file: Path) -> Self:
        """Return what was kept; nothing found where there is no file."""
        kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return cls(**kept | {name: Counter(each) for name, each in kept.items() if isinstance(each, dict)})

    def keep(self, file: Path) -> None:
        """Replace the file in one step, since this process may be ended too."""
        new = file.with_name(f"{file.name}-new")
        new.write_text(json.dumps(vars(self)), encoding="utf-8")
        new.replace(file)


@dataclass
class Found(Tally):
    """Counts behind the kills of one kind, and the places at which they happened."""

    kills: int = 0
    lost: int = 0
    torn: int = 0
    doubled: int = 0
    left: int = 0
    failed: int = 0
    paid_twice: int = 0
    paid: int = 0
    paid_again: int = 0
    places: Counter[str] = field(default_factory=Counter)
    rounds: int = 0
    seconds: float = 0.0

    def line(self, kind: str, paid: str, why_again: str) -> str:
        """Return all of it in words; ``paid``: what costs, ``why_again``: why some of that may be done again."""
        places = ", ".join(f"{place} {count}" for place, count in self.places.items())
        return (
            f"{kind}: {self.kills} kills ({places}), {self.seconds / max(self.kills, 1):.1f} s each: {self.lost} lost, "
            f"{self.torn} torn, {self.doubled} doubled, {self.left} left, {self.failed} runs failed, "
            f"{self.paid_twice} of {self.paid} {paid} paid twice, {self.paid_again} again {why_again}"
        )

    def faults(self) -> int:
        """Return how much there is that must not be."""
        return self.lost + self.torn + self.doubled + self.left + self.failed + self.paid_twice


def compare(expected: State, there: State, found: Found) -> None:
    """Count what is missing, what differs and what is there besides."""
    found.lost += len(expected.keys() - there.keys())
    found.doubled += len(there.keys() - expected.keys())
    found.torn += sum(there[name] != each for name, each in expected.items() if name in there)


@dataclass
class Trace:
    """What processes reported, in its order."""

    path: Path
    _read: int = 0

    def new(self) -> list[tuple[int, str]]:
        """Return what was reported since the last call: numbers of processes, each with a place or texts."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            file.seek(self._read)
            whole = file.read().rpartition(b"\n")[0]
            self._read += len(whole) + bool(whole)
            return [(int(pid), what) for pid, _, what in (line.partition(" ") for line in whole.decode().splitlines())]
        return []


class KilledRun:
    """A program of the benchmarks in a process of its own, with workers."""

    def __init__(self, program: str, places: Sequence[str], trace: Path, chance: random.Random) -> None:
        trace.unlink(missing_ok=True)
        self._trace, self._chance = Trace(trace), chance
        self._at: dict[int, str] = {}  # process -> the last place that it reported
        self.embedded: list[tuple[bool, str]] = []  # whether a worker did it, and the SHA-256 of the text
        self._errors = trace.with_name("errors")
        with self._errors.open("wb") as errors:
            command = [sys.executable, "-m", program, *places, str(trace)]
            self._process = subprocess.Popen(command, stderr=errors)
        self._workers: set[int] = set()

    @property
    def failed(self) -> bool:
        """Whether the process ended with an error; what it said is printed."""
        if self._process.returncode:
            print(self._errors.read_text(encoding="utf-8", errors="replace"), file=sys.stderr)
        return self._process.returncode != 0

    def kill(self, place: str) -> str:
        """Kill the process a while after it reported a place; return where it was, "" if it had ended by then."""
        wanted = self._chance.choice((1, 1, 2, 3)) if place in _REPEATED else 1
        while wanted > 0 and self._process.poll() is None:
            wanted -= sum(pid == self._process.pid and what == place for pid, what in self._follow())
            time.sleep(0.002)
        time.sleep(self._chance.uniform(0, 1.5 if place in _LONG else 0.03))
        return self._killed(self._process.pid)

    def kill_worker(self, place: str) -> str:
        """Kill a worker a while after it reported a place; return where it was, "" if none did."""
        skipped = self._chance.randrange(4) if place != "starting" else 0
        while self._process.poll() is None:
            reached = [pid for pid, what in self._follow() if pid in self._workers and what == place]
            fresh = sorted(self._workers - self._at.keys())
            if place == "starting" and fresh:
                time.sleep(self._chance.uniform(0, 1.0))
                return self._killed(fresh[0])
            if skipped < len(reached):
                time.sleep(self._chance.uniform(0, 0.01))
                return self._killed(reached[skipped])
            skipped -= len(reached)
            time.sleep(0.002)
        return ""

    def _killed(self, pid: int) -> str:
        self._follow()
        if self._process.poll() is not None or (pid != self._process.pid and pid not in _workers_of(self._process.pid)):
            return ""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            if pid == self._process.pid:
                self._process.wait()
            self._follow()
            return self._at.get(pid, "starting")
        return ""

    def _follow(self) -> list[tuple[int, str]]:
        """Take in what was reported; return it but for the texts."""
        self._workers |= set(_workers_of(self._process.pid))
        places = []
        for pid, what in self._trace.new():
            if what.startswith("embedded "):
                self.embedded += [(pid != self._process.pid, text) for text in what.split()[1:]]
            else:
                self._at[pid] = what
                places.append((pid, what))
        return places

    def ended(self) -> int:
        """Wait for the process; return how many of its workers are still there some time after it."""
        self._process.wait()
        latest = time.monotonic() + _SECONDS_TO_END
        while (there := [pid for pid in self._workers if _is_worker(pid)]) and time.monotonic() < latest:
            time.sleep(0.01)
        self._follow()
        return len(there)


def _workers_of(process: int) -> list[int]:
    with suppress(OSError):
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
        return [int(pid) for pid in children if _is_worker(int(pid))]
    return []


def _is_worker(pid: int) -> bool:
    with suppress(OSError):
        return "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    return False
