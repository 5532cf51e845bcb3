"""Memory of a server of tenants, by how many knowledge bases are open and what was asked of them.

    python -m benchmarks.tenant_memory                       1, 10 and 50 tenants
    python -m benchmarks.tenant_memory --tenants 4 --documents 100

Each tenant has documents of its own, and was asked one question and one query. Memory is the proportional share (PSS)
of the processes of the server: what several share is counted once. The embedding model is one process for all. Printed
are the seconds, too, that a request waits for a knowledge base that is opened for it.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped,unused-ignore]

__all__ = ["main"]

_COLUMNS = "tenants  MB server  MB readers (processes)  MB model  threads  s to open (median)"
_PROGRAMS = {"readers": "reader_program", "model": "embedding_program"}
_SECONDS_TO_START = 120.0


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each number of tenants that are open."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tenants", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--documents", type=int, default=20, help="of each tenant")
    parser.add_argument("--readers", type=int, default=1, help="of each tenant, as of kgrag serve")
    given = parser.parse_args(arguments)
    most = max(given.tenants)
    print(_COLUMNS)
    with (
        tempfile.TemporaryDirectory(prefix="kgrag-tenants-") as name,
        _server(Path(name), most, given.readers) as served,
    ):
        url, process = served
        waits: list[float] = []
        for number in range(most):
            waits.append(_use(url, number, given.documents))
            if number + 1 in given.tenants:
                print(_line(number + 1, psutil.Process(process.pid), waits), flush=True)


@contextmanager
def _server(folder: Path, count: int, readers: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    tables = [f"open = {count}"]
    for number in range(count):
        digest = hashlib.sha256(_key(number).encode()).hexdigest()
        tables.append(f'[[tenants]]\nname = "t{number}"')
        tables.append(f'[[tenants.keys]]\nname = "app"\nsha256 = "{digest}"\nrights = "write"')
    (folder / "tenants.toml").write_text("\n".join(tables), encoding="utf-8")
    options = ["--tenants", str(folder / "tenants.toml"), "--port", "0", "--readers", str(readers), "--log", "none"]
    process = subprocess.Popen([sys.executable, "-m", "kgrag", "serve", *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
        if found is None:
            raise SystemExit("the server does not start")
        yield found[0], process
    finally:
        process.terminate()
        process.wait(_SECONDS_TO_START)


def _key(number: int) -> str:
    return f"key of tenant {number}, for a measurement"


def _use(url: str, number: int, documents: int) -> float:
    """Fill a tenant's knowledge base and ask it; return the seconds that its first request took."""
    headers = {"Authorization": f"Bearer {_key(number)}"}
    texts = [f"Tenant {number} wrote report {at}: field {at} grows crop {at * 7 % 31}." for at in range(documents)]
    with httpx.Client(base_url=url, headers=headers, timeout=_SECONDS_TO_START, trust_env=False) as client:
        started = time.perf_counter()
        client.get("/stats").raise_for_status()
        waited = time.perf_counter() - started
        for first in range(0, documents, 32):
            sent = [{"text": text, "id": str(first + at)} for at, text in enumerate(texts[first : first + 32])]
            client.post("/documents", json=sent).raise_for_status()
        client.post("/ask", json={"question": "Which crop does field 3 grow?"}).raise_for_status()
        client.get("/sparql", params={"query": "SELECT * { GRAPH ?g { ?s ?p ?o } }"}).raise_for_status()
    return waited


def _line(count: int, server: psutil.Process, waits: Sequence[float]) -> str:
    megabytes = dict.fromkeys(["server", *_PROGRAMS], 0.0)
    processes = dict.fromkeys(["server", *_PROGRAMS], 0)
    for process in [server, *server.children(recursive=True)]:
        line = " ".join(process.cmdline())
        kind = next((kind for kind, program in _PROGRAMS.items() if program in line), "server")
        megabytes[kind] += process.memory_full_info().pss / 1e6
        processes[kind] += 1
    readers = f"{megabytes['readers']:10.0f} ({processes['readers']})"
    wait = statistics.median(waits)
    sizes = f"{megabytes['server']:9.0f}  {readers:>22}  {megabytes['model']:8.0f}"
    return f"{count:7}  {sizes}  {server.num_threads():7}  {wait:.2f}"


if __name__ == "__main__":
    main()
