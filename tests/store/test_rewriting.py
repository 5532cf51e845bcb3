"""A store's folder is written anew only when nobody is at a result of it."""

import threading
from pathlib import Path

from kgrag.store.oxigraph import OxigraphStore
from tests.store.oxigraph_drafts import edge, listed


def test_whoever_reads_is_waited_for(tmp_path: Path) -> None:
    with OxigraphStore.open(tmp_path / "kb") as store:
        store.publish([edge(), listed("a", 2)])
        graph = edge().iri
        expected = list(store.triples(graph))
        reading = store.triples(graph)
        first = next(reading)
        rewriting = threading.Thread(target=store.rewrite)
        rewriting.start()
        rewriting.join(0.3)
        assert rewriting.is_alive()  # else the engine of this reader would go on to delete files by their old paths
        assert [first, *reading] == expected
        del reading
        rewriting.join(30)
        assert not rewriting.is_alive()
        store.rewrite()
        assert list(store.triples(graph)) == expected
    with OxigraphStore.open(tmp_path / "kb") as store:
        assert list(store.triples(graph)) == expected
