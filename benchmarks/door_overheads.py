"""What the doors cost beside the addresses behind them: ``/v1`` beside ``/ask``, MCP's ``sparql`` beside ``/sparql``.

    python -m benchmarks.door_overheads
    python -m benchmarks.door_overheads --rounds 15 --calls 100

Needs ``pip install '.[mcp]'`` and Linux. One server with the demonstration is asked the same over kept connections, a
kind of request after the other and all of them again in each round, by plain HTTP, so that no client library is
counted. A figure is the processor time of all processes of the server for one request, in ms: the median over the
rounds; the ratio to the request behind the door is the median of the ratios within the rounds. Questions go to
``passages:signal=bm25``, which is the quickest method, so that what a door costs is most of what is seen.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import Settings

__all__ = ["main"]

_TICK = os.sysconf("SC_CLK_TCK")
_QUESTION = "When is chickpea sown in the Hill Zone?"
_METHOD = "passages:signal=bm25"
_QUERY = """PREFIX crops: <https://w3id.org/kgrag/examples/crops#>
SELECT ?name WHERE { ?zone a crops:GrowingZone ; crops:name ?name } ORDER BY ?name"""
_TEXTS = Path(__file__).parents[1] / "kgrag" / "demo"
_MCP_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
_BEHIND = {"/v1 chat": "/ask", "/v1 stream": "/ask stream", "/v1 responses": "/ask", "mcp ask": "/ask"}
_BEHIND |= {"mcp sparql": "/sparql"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per kind of request."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--calls", type=int, default=60, help="requests of a kind in each round")
    options = parser.parse_args(arguments)
    with (
        tempfile.TemporaryDirectory() as name,
        _served(Path(name) / "kb") as (url, pid),
        httpx.Client(base_url=url, timeout=600, trust_env=False) as client,
    ):
        kinds = _kinds(client)
        for call in kinds.values():
            for _ in range(5):  # everything is loaded
                call()
        rounds = [_round(kinds, options.calls, pid) for _ in range(options.rounds)]
    print(f"{'request':16}{'CPU ms':>9}{'lowest':>9}{'highest':>9}   ratio")
    for kind in kinds:
        figures = sorted(each[kind] for each in rounds)
        behind = _BEHIND.get(kind)
        ratio = f"{statistics.median(each[kind] / each[behind] for each in rounds):.2f} of {behind}" if behind else ""
        print(f"{kind:16}{statistics.median(figures):9.2f}{figures[0]:9.2f}{figures[-1]:9.2f}   {ratio}")


@contextmanager
def _served(path: Path) -> Iterator[tuple[str, int]]:
    with KnowledgeBase(path, settings=Settings(model="extractive", completions="off")) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(_TEXTS / "texts", embed=False)
        kb.build("og_rag", mapped=_TEXTS / "mapped")
    command = [sys.executable, "-m", "kgrag", "serve", "--kb", str(path), "--port", "0", "--log", "none"]
    server = subprocess.Popen([*command, "--readers", "1"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().split()[1].removesuffix("/sparql"), server.pid
    finally:
        server.terminate()
        server.wait()


def _kinds(client: httpx.Client) -> dict[str, Callable[[], object]]:
    """Return a call for each kind of request; it fails where the answer is not the expected one."""
    asked = {"question": _QUESTION, "method": _METHOD}
    chat = {"model": f"kgrag-{_METHOD}", "messages": [{"role": "user", "content": _QUESTION}]}
    response = {"model": f"kgrag-{_METHOD}", "input": _QUESTION}

    def post(path: str, body: object, expected: str, **headers: str) -> Callable[[], object]:
        def call() -> None:
            reply = client.post(path, json=body, headers=headers)
            assert reply.status_code == 200, reply.text
            assert expected in reply.text, reply.text

        return call

    def tool(name: str, arguments: object, expected: str) -> Callable[[], object]:
        parameters = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters}
        return post("/mcp", body, expected, **_MCP_HEADERS)

    def query() -> None:
        headers = {"Content-Type": "application/sparql-query", "Accept": "text/tab-separated-values"}
        reply = client.post("/sparql", content=_QUERY, headers=headers)
        assert "Hill Zone" in reply.text, reply.text

    said = "10 March"
    return {
        "/ask": post("/ask", asked, said),
        "/ask stream": post("/ask", asked, said, Accept="text/event-stream"),
        "/v1 chat": post("/v1/chat/completions", chat, said),
        "/v1 stream": post("/v1/chat/completions", {**chat, "stream": True}, said),
        "/v1 responses": post("/v1/responses", response, said),
        "mcp ask": tool("ask", asked, said),
        "/sparql": query,
        "mcp sparql": tool("sparql", {"query": _QUERY}, "Hill Zone"),
    }


def _round(kinds: dict[str, Callable[[], object]], calls: int, pid: int) -> dict[str, float]:
    found = {}
    for kind, call in kinds.items():
        before = _cpu(pid)
        for _ in range(calls):
            call()
        found[kind] = 1000 * (_cpu(pid) - before) / calls
    return found


def _cpu(pid: int) -> float:
    """Return the processor seconds of a process and all below it."""
    total, waiting = 0.0, [pid]
    for one in waiting:
        try:
            fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
            waiting += [
                int(child)
                for task in Path(f"/proc/{one}/task").iterdir()
                for child in (task / "children").read_text().split()
            ]
        except OSError:  # it has just ended
            continue
        total += sum(map(int, fields[11:13])) / _TICK
    return total


if __name__ == "__main__":
    main()
