"""What is lost when a SPARQL server is killed while a knowledge base is being written to.

Run ``python -m benchmarks.server_kills [KILLS]``. A thread kills an Oxigraph server of its own with ``kill -9`` at
a random moment, while graphs of random sizes are published and replaced; the server is started again, the store opened
again, and what was refused is published again. At the end every graph that was acknowledged must be there, with the
checksum that the catalogue states, and with the triples of an embedded store that went through the same changes without
a kill. A publication of which only some graphs entered is torn.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from pathlib import Path

import pyoxigraph as ox

from benchmarks.oxigraph_server import OxigraphServer
from kgrag.errors import KgragError
from kgrag.model import GraphDraft
from kgrag.store.checksums import checksum, read_account
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.sparql_server import ServerStore
from kgrag.vocab import KG

__all__ = ["main"]

_GRAPHS_PER_PUBLICATION = 4
_MAX_TRIPLES = 60
_SECONDS_BEFORE_A_KILL = (0.05, 0.8)


def main(kills: int = 20) -> int:
    """Print what became of the graphs; return how many were lost or torn."""
    chance = random.Random(20)
    acknowledged: dict[str, int] = {}
    publications = refused = entered_unacknowledged = 0
    torn: set[str] = set()
    with tempfile.TemporaryDirectory() as name, OxigraphServer(Path(name) / "server") as server:
        embedded = OxigraphStore.open(None)
        for _ in range(kills):
            store = ServerStore.open(server.address, None)
            timer = threading.Timer(chance.uniform(*_SECONDS_BEFORE_A_KILL), server.kill)
            timer.start()
            try:
                while True:
                    drafts = _drafts(chance)
                    store.publish(drafts)
                    publications += 1
                    embedded.publish(drafts)
                    acknowledged |= {draft.iri.value: len(draft.triples) for draft in drafts}
            except KgragError:
                refused += 1
            timer.join()
            store.close()
            server.start()
            with ServerStore.open(server.address, None) as again:
                entered = all(_is_there(again, draft) for draft in drafts)
                some = any(draft.iri.value in again.graphs() and _is_there(again, draft) for draft in drafts)
                torn |= {draft.iri.value for draft in drafts} if some and not entered else set()
                entered_unacknowledged += entered
                again.publish(drafts)
                embedded.publish(drafts)
                acknowledged |= {draft.iri.value: len(draft.triples) for draft in drafts}
        with ServerStore.open(server.address, None) as last:
            there = set(last.graphs())
            lost = acknowledged.keys() - there
            torn |= {graph for graph in acknowledged.keys() & there if not _is_accounted(last, graph)}
            differ = [g for g in acknowledged if _sum(last, g) != _sum(embedded, g)]
    print(
        f"{kills} kills, {publications} publications acknowledged, {refused} refused ({entered_unacknowledged} of them "
        f"had entered); {len(acknowledged)} graphs: {len(lost)} lost, {len(torn)} torn, "
        f"{len(differ)} unlike the embedded store's"
    )
    return len(lost) + len(torn) + len(differ)


def _drafts(chance: random.Random) -> list[GraphDraft]:
    graphs = chance.sample(range(400), _GRAPHS_PER_PUBLICATION)
    return [_draft(number, chance.randint(1, _MAX_TRIPLES), chance.random()) for number in graphs]


def _draft(number: int, size: int, salt: float) -> GraphDraft:
    graph = ox.NamedNode(f"urn:t:graph:{number}")
    values = [ox.Literal(f"{salt} {row}") for row in range(size)]
    return GraphDraft(graph, KG.DataGraph, [ox.Triple(graph, KG.value, value) for value in values], mode="replace")


def _is_there(store: ServerStore, draft: GraphDraft) -> bool:
    return set(store.triples(draft.iri)) == set(draft.triples)


def _is_accounted(store: ServerStore, graph: str) -> bool:
    entry = store.select(
        f"SELECT ?account WHERE {{ GRAPH {store.names.catalogue} {{ <{graph}> {KG.checksum} ?account }} }}"
    ).values()
    return [read_account(row[0])[1] for row in entry] == [_sum(store, graph)]


def _sum(store: ServerStore | OxigraphStore, graph: str) -> str:
    return checksum(store.triples(ox.NamedNode(graph)))


if __name__ == "__main__":
    sys.exit(1 if main(*map(int, sys.argv[1:2])) else 0)
