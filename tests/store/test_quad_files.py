"""Whole stores as N-Quads files: what is dumped can be loaded, and what is no dump is refused whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.errors import InvalidRDF, SchemaMismatch, StateError, StorageFailed
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG
from tests.store.oxigraph_drafts import EDGE, N, content, edge, entry, listed, ontology


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a.kb" / "store"


@pytest.mark.parametrize("name", ["dump.nq", "dump.nq.gz"])
def test_a_dump_that_is_loaded_gives_an_equal_store(folder: Path, name: str, tmp_path: Path) -> None:
    with OxigraphStore.open(folder) as store:
        store.publish(
            [
                edge(),
                listed("a", 3),
                ontology(ox.Literal("é\n\"'\\\u2028"), ox.BlankNode("b"), ox.Literal("x", language="en-GB")),
            ]
        )
        store.update("INSERT DATA { <urn:t:a> <urn:t:b> <<( <urn:t:x> <urn:t:y> 1 )>> }")
        count = store.dump(tmp_path / name)
        before = content(store)
    with OxigraphStore.open(tmp_path / "copy") as copy:
        assert copy.load(tmp_path / name) == count == len(before)
        assert content(copy) == before
        assert copy.revision == 2
        assert copy.publish([edge()]).unchanged == (EDGE.value,)


def test_two_dumps_of_one_store_are_equal_to_the_byte(tmp_path: Path) -> None:
    store = OxigraphStore.open(None)
    store.publish([edge()])
    for name in ("a.nq.gz", "b.nq.gz"):
        store.dump(tmp_path / name)
    assert (tmp_path / "a.nq.gz").read_bytes() == (tmp_path / "b.nq.gz").read_bytes()


def test_a_dump_that_cannot_be_written_says_where(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="nowhere"):
        OxigraphStore.open(None).dump(tmp_path / "nowhere" / "dump.nq")


def test_plain_quads_are_loaded_and_listed(tmp_path: Path) -> None:
    path = tmp_path / "data.nq"
    path.write_text("<urn:t:a> <urn:t:b> '1' <urn:t:g> .\n".replace("'", '"'))
    store = OxigraphStore.open(None)
    assert store.load(path) == 1
    assert entry(store, N("urn:t:g"))["type"] == [KG.DataGraph.value]
    assert store.select(queries.bind("catalogue/uncatalogued", catalogue=store.names.catalogue)).rows == []


GOOD = '<urn:t:a> <urn:t:b> "x" <urn:t:g> .\n'
BROKEN = {
    "no graph": ("# note\n\n" + GOOD + '<urn:t:a> <urn:t:b> "y" .\n', "line 4.*names no graph"),
    "a blank graph": (GOOD + '<urn:t:a> <urn:t:b> "y" _:g .\n', "line 2.*blank node"),
    "no N-Quads": (GOOD + "nonsense\n", "line 2"),
}


@pytest.mark.parametrize(("text", "told"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("zipped", [False, True])
def test_a_file_that_is_no_dump_is_refused_whole(tmp_path: Path, text: str, told: str, zipped: bool) -> None:
    path = tmp_path / ("data.nq.gz" if zipped else "data.nq")
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    with OxigraphStore.open(tmp_path / "store") as store:
        before = len(store)
        with pytest.raises(InvalidRDF, match=told):
            store.load(path)
        assert (len(store), store.revision, store.graphs()) == (before, 0, [store.names.catalogue.value])


def test_a_missing_dump_and_a_torn_one_are_refused(tmp_path: Path) -> None:
    torn = tmp_path / "torn.nq.gz"
    torn.write_bytes(gzip.compress((GOOD * 2000).encode())[:-20])
    for path in (tmp_path / "none.nq", torn):
        with pytest.raises(InvalidRDF, match=path.name):
            OxigraphStore.open(None).load(path)


def test_a_dump_of_another_base_is_refused(tmp_path: Path) -> None:
    OxigraphStore.open(None, base="urn:mine:").dump(tmp_path / "dump.nq")
    with pytest.raises(SchemaMismatch, match="urn:mine:"):
        OxigraphStore.open(None).load(tmp_path / "dump.nq")


def test_a_store_that_holds_something_takes_no_dump(tmp_path: Path) -> None:
    store = OxigraphStore.open(None)
    store.dump(tmp_path / "dump.nq")
    store.publish([edge()])
    with pytest.raises(StateError, match="empty"):
        store.load(tmp_path / "dump.nq")
