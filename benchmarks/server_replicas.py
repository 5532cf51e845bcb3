"""Whether a client finds what it wrote, behind a proxy before one server that writes and others that only read.

Run ``python -m benchmarks.server_replicas [--nginx PROGRAM] [--readers N] [--rounds N]``. An Oxigraph server, ``kgrag
serve`` and N times ``kgrag serve --read-only`` over it, and nginx (of Debian) before all of them are started on free
ports of this machine: what reads goes to the readers in turn, what writes to the writer. A client puts a value into the
store and asks for all values, again and again, with and without the header ``Kgrag-Revision``. Printed are the answers
that lacked a value that was written, who answered, and the time from a write to the answer that has it.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

from benchmarks.oxigraph_server import OxigraphServer
from kgrag.server.revision_following import HEADER

__all__ = ["main"]

_KEY = "for-this-benchmark"
_SECONDS_TO_START = 60.0
_CONFIGURATION = """
daemon off;
worker_processes 1;
pid %(folder)s/nginx.pid;
error_log %(folder)s/error.log;
events { }
http {
  access_log off;
  client_body_temp_path %(folder)s/bodies;
  proxy_temp_path %(folder)s/proxy;
  fastcgi_temp_path %(folder)s/fastcgi;
  uwsgi_temp_path %(folder)s/uwsgi;
  scgi_temp_path %(folder)s/scgi;
  upstream writer { server %(writer)s; }
  upstream readers { %(readers)s }
  map "$request_method $uri" $kgrag {
    default writer;
    "~^(GET|HEAD) /(sparql|graphs|documents|resource|explore)" readers;
    "~^POST /(sparql|ask|retrieve)$" readers;
  }
  server {
    listen 127.0.0.1:%(port)d;
    location / {
      proxy_pass http://$kgrag;
      proxy_set_header Host $host;
      proxy_next_upstream error timeout http_503;
      add_header Answered-By $upstream_addr;
    }
  }
}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was found; return how many answers lacked what their client had written and named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--nginx", default="nginx", help="the program")
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=20)
    given = parser.parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        store = stack.enter_context(OxigraphServer(folder / "quads"))
        writer = stack.enter_context(_served(folder / "writer", store.address))
        readers = [
            stack.enter_context(_served(folder / f"reader-{number}", store.address, "--read-only"))
            for number in range(given.readers)
        ]
        proxy = stack.enter_context(_proxy(given.nginx, folder, writer, readers))
        client = stack.enter_context(httpx.Client(base_url=proxy, timeout=30.0, trust_env=False))
        lacking = [_rounds(client, given.rounds, named=named) for named in (False, True)]
    return lacking[1]


def _rounds(client: httpx.Client, rounds: int, *, named: bool) -> int:
    """Write and read; print and return how many answers lacked a value."""
    graph, lacking, answered = f"urn:g:{named}", 0, Counter[str]()
    seconds: list[float] = []
    for value in range(rounds):
        update = f"INSERT DATA {{ GRAPH <{graph}> {{ <urn:s> <urn:p> {value} }} }}"
        form = {"Content-Type": "application/sparql-update", "Authorization": f"Bearer {_KEY}"}
        written = client.post("/update", content=update, headers=form).raise_for_status()
        begun = time.monotonic()
        headers = {HEADER: written.headers[HEADER]} if named else {}
        asked = {"query": f"SELECT ?v {{ GRAPH <{graph}> {{ ?s ?p ?v }} }}"}
        reply = client.post("/sparql", data=asked, headers=headers).raise_for_status()
        seconds.append(time.monotonic() - begun)
        lacking += len(reply.json()["results"]["bindings"]) != value + 1
        answered[reply.headers["Answered-By"]] += 1
    print(
        f"{f'with {HEADER}' if named else 'without'}: {lacking} of {rounds} answers lack what was written; answered by "
        f"{len(answered)} readers ({', '.join(map(str, answered.values()))}); a question took "
        f"{1000 * statistics.median(seconds):.0f} ms, at most {1000 * max(seconds):.0f}"
    )
    return lacking


@contextmanager
def _served(folder: Path, store: str, *options: str) -> Iterator[str]:
    """Run ``kgrag serve``; return its host and port."""
    command = [
        sys.executable,
        "-m",
        "kgrag",
        "serve",
        "--kb",
        str(folder),
        "--port",
        "0",
        "--readers",
        "1",
        "--log",
        "none",
    ]
    command += options
    environment = {**os.environ, "KGRAG_STORE": store, "KGRAG_API_KEYS": _KEY}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip().removeprefix("serving http://").removesuffix("/sparql")
        finally:
            process.terminate()


@contextmanager
def _proxy(program: str, folder: Path, writer: str, readers: Sequence[str]) -> Iterator[str]:
    """Run nginx; return its address. Raises RuntimeError: it does not answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    servers = " ".join(f"server {reader};" for reader in readers)
    values = {"folder": folder, "writer": writer, "readers": servers, "port": port}
    file = folder / "nginx.conf"
    file.write_text(_CONFIGURATION % values, encoding="utf-8")
    with subprocess.Popen([program, "-c", str(file), "-e", str(folder / "error.log")]) as process:
        try:
            _wait_for(f"http://127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def _wait_for(address: str) -> None:
    latest = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < latest:
        try:
            if httpx.get(f"{address}/health", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    raise RuntimeError(f"nginx does not answer at {address}")


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
