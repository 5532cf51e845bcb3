"""What is lost when several processes write to one store on a SPARQL server at the same moment.

Run ``python -m benchmarks.server_writers [SECONDS] [PROCESSES]``. Each process, without a lock between them, publishes
graphs of its own and updates one that all share, as fast as it can; one that is refused opens the store again. At the
end every graph that was acknowledged must be there whole, none that was refused, and each change has one writer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyoxigraph as ox

from benchmarks.oxigraph_server import OxigraphServer
from kgrag.errors import StoreLocked
from kgrag.model import GraphDraft
from kgrag.store.sparql_server import ServerStore
from kgrag.vocab import KG

__all__ = ["main"]

_TRIPLES = 20
_DOUBLED = (
    "SELECT ?p { GRAPH ?g { ?p <https://w3id.org/kgrag/ns#lineage> ?one , ?two FILTER(?one < ?two) } } ORDER BY ?p"
)


def main(seconds: float = 20.0, processes: int = 3) -> int:
    """Print what became of the graphs; return how many were lost, torn, doubled or entered although refused."""
    with tempfile.TemporaryDirectory() as name, OxigraphServer(Path(name) / "server") as server:
        ServerStore.open(server.address, None).close()
        command = [sys.executable, "-m", "benchmarks.server_writers", "--write", server.address, str(seconds)]
        running = [
            subprocess.Popen([*command, f"w{number}"], stdout=subprocess.PIPE, text=True) for number in range(processes)
        ]
        told = [json.loads(process.communicate()[0]) for process in running]
        with ServerStore.open(server.address, None, read_only=True) as store:
            sizes = {graph: len(list(store.triples(ox.NamedNode(graph)))) for graph in store.graphs()}
            doubled = len(list(store.query(_DOUBLED)))  # type: ignore[arg-type]
    entered = [graph for one in told for graph in one["entered"]]
    refused = [graph for one in told for graph in one["refused"]]
    lost = [graph for graph in entered if graph not in sizes]
    torn = [graph for graph, size in sizes.items() if graph.startswith("urn:t:") and size != _TRIPLES]
    stayed = [graph for graph in refused if graph in sizes]
    print(
        f"{processes} writers, {seconds:g} s: {len(entered)} changes acknowledged, {len(refused)} refused; "
        f"{len(lost)} lost, {len(torn)} torn, {len(stayed)} entered although refused, {doubled} changes of two writers"
    )
    return len(lost) + len(torn) + len(stayed) + doubled


def _write(address: str, seconds: float, name: str) -> None:
    entered: list[str] = []
    refused: list[str] = []
    latest, number = time.monotonic() + seconds, 0
    store = None
    while time.monotonic() < latest:
        number += 1
        graph = f"urn:t:{name}:{number}"
        try:
            store = store or ServerStore.open(address, None)
            _change(store, graph, updates=number % 2 == 0)
            entered.append(graph)
        except StoreLocked:
            refused.append(graph)
            if store is not None:
                store.close()
            store = None
    print(json.dumps({"entered": entered, "refused": refused}))


def _change(store: ServerStore, graph: str, *, updates: bool) -> None:
    node = ox.NamedNode(graph)
    triples = [ox.Triple(node, KG.value, ox.Literal(str(row))) for row in range(_TRIPLES)]
    if not updates:
        store.publish([GraphDraft(node, KG.DataGraph, triples)])
        return
    text = " ".join(f"{triple} ." for triple in triples)
    shared = "DELETE { GRAPH <urn:shared> { ?s ?p ?o } } WHERE { GRAPH <urn:shared> { ?s ?p ?o } }"
    store.update(f"{shared} ; INSERT DATA {{ GRAPH {node} {{ {text} }} GRAPH <urn:shared> {{ {node} <urn:p> 1 }} }}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        _write(sys.argv[2], float(sys.argv[3]), sys.argv[4])
    else:
        given = [*sys.argv[1:3], *("20", "3")[len(sys.argv) - 1 :]]
        sys.exit(1 if main(float(given[0]), int(given[1])) else 0)
