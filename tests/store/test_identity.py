"""Folders, locks, snapshots: what another process sees, and what survives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.audit.recomputation import recomputed
from kgrag.errors import (
    InvalidSettings,
    InvalidSPARQL,
    SchemaMismatch,
    StateError,
    StorageFailed,
    StoreLocked,
)
from kgrag.store import identity, migrations
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.quad_store import QuadStore
from kgrag.vocab import KG, SCHEMA_VERSION, VOID, XSD, number
from tests.store.oxigraph_drafts import EDGE, N, content, edge, listed, ontology

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a.kb" / "store"


def child(code: str, *arguments: object, **options: object) -> subprocess.Popen[str]:
    """Run Python code in another process; it finds its arguments in sys.argv."""
    head = "import sys; from pathlib import Path; from kgrag.store.oxigraph import OxigraphStore\n"
    command = [sys.executable, "-c", head + code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]


HOLD = "store = OxigraphStore.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.readline()"


def test_a_store_whose_making_was_killed_says_so_and_is_whole_once_it_is_opened_for_writing(folder: Path) -> None:
    make = [sys.executable, "-c", "import sys, pyoxigraph; pyoxigraph.Store(sys.argv[1])"]
    for attempt in range(40):
        torn = folder.with_name(f"torn-{attempt}")
        torn.mkdir(parents=True)
        with subprocess.Popen([*make, str(torn)]) as making:
            while not (torn / "CURRENT").is_file() and making.poll() is None:
                pass
            making.kill()
        try:
            identity.open_folder(torn, read_only=True)
        except StorageFailed as error:
            assert "Its making was cut short" in str(error)
            break
    else:
        pytest.fail("no kill came before the store was whole")
    OxigraphStore.open(torn).close()
    OxigraphStore.open(torn, read_only=True).close()


def test_what_was_published_is_there_after_opening_again(folder: Path) -> None:
    with OxigraphStore.open(folder, base="urn:mine:") as store:
        store.publish([edge(), listed("a", 3)])
        before = content(store)
    with OxigraphStore.open(folder) as store:
        assert content(store) == before
        assert (store.revision, store.names.base) == (1, "urn:mine:")


@pytest.fixture
def earlier(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of a made-up version 0, in which documents were called papers; and the way from it to version 1."""
    paper = ox.NamedNode("urn:old:Paper")
    with OxigraphStore.open(folder) as store:
        names = store.names
        store.update(f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:d> a {paper} }} }}")
        version = f"GRAPH {names.catalogue} {{ {names.knowledge_base} {KG.schemaVersion} "
        store.update(f"DELETE DATA {{ {version} 1 }} }} ; INSERT DATA {{ {version} 0 }} }}")

    def rename(engine: QuadStore, names: object) -> tuple[list[ox.Quad], list[ox.Quad]]:
        old = list(engine.match((None, None, paper, None)))
        return old, [ox.Quad(quad.subject, quad.predicate, KG.Document, quad.graph_name) for quad in old]

    monkeypatch.setattr(migrations, "MIGRATIONS", {0: rename})
    return folder


def _is_of_the_present_version(store: OxigraphStore) -> bool:
    versions = [t for t in store.triples(store.names.catalogue) if t.predicate == KG.schemaVersion]
    renamed = store.ask("ASK { GRAPH <urn:g> { <urn:d> a <https://w3id.org/kgrag/ns#Document> } }")
    return renamed and [triple.object for triple in versions] == [number(SCHEMA_VERSION)]


def test_a_store_of_an_earlier_version_is_migrated_when_it_is_opened_for_writing(
    earlier: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with OxigraphStore.open(earlier) as store:
        assert _is_of_the_present_version(store)
        revision = store.revision
    assert caplog.text.count("was migrated from schema version 0 to 1") == 1
    with OxigraphStore.open(earlier) as store:
        assert store.revision == revision


def test_a_store_of_an_earlier_version_is_not_read_before_it_is_migrated(earlier: Path) -> None:
    with pytest.raises(SchemaMismatch, match="kgrag doctor"):
        OxigraphStore.open(earlier, read_only=True)
    OxigraphStore.open(earlier).close()
    OxigraphStore.open(earlier, read_only=True).close()


def test_an_import_of_an_earlier_version_has_the_present_one_only(earlier: Path, tmp_path: Path) -> None:
    engine = ox.Store(str(earlier))
    engine.dump(str(tmp_path / "all.nq"), ox.RdfFormat.N_QUADS)
    del engine
    with OxigraphStore.open(tmp_path / "b.kb" / "store") as store:
        store.load(tmp_path / "all.nq")
        assert _is_of_the_present_version(store)
        store.update("INSERT DATA { <urn:s> <urn:p> 1 }")


def test_a_version_without_a_migration_is_refused(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "MIGRATIONS", {})
    with pytest.raises(SchemaMismatch, match="earlier kgrag"):
        OxigraphStore.open(earlier)


FORK = """
import os
store = OxigraphStore.open(Path(sys.argv[1]))
store.update("INSERT DATA { <urn:s> <urn:p> 1 }")
waiting, telling = os.pipe()
child = os.fork()
if not child:
    os.read(waiting, 1)
    for action in (lambda: len(store), lambda: store.update("INSERT DATA { <urn:s> <urn:p> 2 }"), store.flush):
        try:
            action()
        except Exception as error:
            print(type(error).__name__, "inherited it by fork" in str(error), flush=True)
    store.close()
    del store, action
    print("gone", flush=True)
    sys.exit(3)
store.update("INSERT DATA { <urn:s> <urn:p> 3 }")
store.flush()  # a new file, of which the child knows nothing
os.write(telling, b"x")
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
store.flush()
try:
    OxigraphStore.open(Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__, flush=True)
store.close()
print(OxigraphStore.open(Path(sys.argv[1])).revision, flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_that_inherited_a_store_by_fork_is_refused_leaves_it_whole_and_ends_as_it_wants(folder: Path) -> None:
    with child(FORK, folder) as process:
        out, _ = process.communicate(timeout=60)
    assert out.splitlines() == ["StateError True"] * 3 + ["gone", "3", "StoreLocked", "2"]


def test_another_process_that_writes_is_named(folder: Path) -> None:
    with child(HOLD, folder) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(StoreLocked, match=f"process {holder.pid}"):
            OxigraphStore.open(folder)
        holder.kill()
    OxigraphStore.open(folder).close()


def test_a_second_store_of_this_process_is_refused(folder: Path) -> None:
    with OxigraphStore.open(folder), pytest.raises(StoreLocked):
        OxigraphStore.open(folder)
    OxigraphStore.open(folder).close()


def test_an_exception_that_somebody_keeps_does_not_keep_the_folder(folder: Path) -> None:
    kept = []
    for text in ("INSERT DATA { broken", "SELECT ?x WHERE { BIND(<urn:t:function>(1) AS ?x) }"):
        with OxigraphStore.open(folder) as store:
            for method in (store.update, store.select, store.construct, store.query):
                with pytest.raises(InvalidSPARQL) as caught:
                    method(text)
                kept.append(caught)
        with pytest.raises(SchemaMismatch) as caught:
            OxigraphStore.open(folder, base="urn:other:")
        kept.append(caught)
    OxigraphStore.open(folder).close()


def test_a_folder_that_results_keep_open_is_reported_so(folder: Path) -> None:
    with OxigraphStore.open(folder) as store:
        results = store.query("SELECT ?s WHERE { GRAPH ?g { ?s ?p ?o } }")
        next(iter(results))
    with pytest.raises(StoreLocked, match="results of a query"):
        OxigraphStore.open(folder)
    del results
    OxigraphStore.open(folder).close()


def test_a_reader_opens_beside_a_writer_and_sees_what_was_published(folder: Path) -> None:
    with OxigraphStore.open(folder) as writer:
        writer.publish([edge()])
        reader = OxigraphStore.open(folder, read_only=True)
        writer.publish([edge("later")])
        assert reader.described(EDGE)
        assert not reader.described(N("urn:t:later"))
        assert reader.revision == 1
        with OxigraphStore.open(folder, read_only=True) as again:
            assert again.described(N("urn:t:later"))
        with pytest.raises(StateError, match="reading only"):
            reader.publish([edge("third")])
        with pytest.raises(StateError, match="reading only"):
            reader.update("DROP ALL")
        reader.close()


def test_a_reader_in_another_process_opens_beside_a_writer(folder: Path) -> None:
    with OxigraphStore.open(folder) as writer:
        writer.publish([edge()])
        with child("print(OxigraphStore.open(Path(sys.argv[1]), read_only=True).revision)", folder) as reader:
            assert reader.communicate(timeout=60)[0].strip() == "1"


def test_a_folder_without_a_store_cannot_be_read(folder: Path) -> None:
    with pytest.raises(StorageFailed, match="no store"):
        OxigraphStore.open(folder, read_only=True)
    assert not folder.exists()


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(StorageFailed, match="is a file"):
        OxigraphStore.open(path)


def test_a_newer_schema_is_refused_with_both_versions(folder: Path) -> None:
    with OxigraphStore.open(folder) as store:
        store._store.add(
            ox.Quad(store.names.knowledge_base, KG.schemaVersion, number(SCHEMA_VERSION + 6), store.names.catalogue)
        )
    for read_only in (False, True):
        with pytest.raises(SchemaMismatch, match=f"version {SCHEMA_VERSION + 6}.*up to {SCHEMA_VERSION}.*Upgrade"):
            OxigraphStore.open(folder, read_only=read_only)


def test_another_base_iri_is_refused_with_both(folder: Path) -> None:
    OxigraphStore.open(folder, base="urn:mine:").close()
    with pytest.raises(SchemaMismatch, match=r"'urn:mine:'.*'urn:other:'"):
        OxigraphStore.open(folder, base="urn:other:")
    OxigraphStore.open(folder, base="urn:mine:").close()


def test_a_base_that_is_no_iri_is_refused_and_lets_go_of_the_lock(folder: Path) -> None:
    with pytest.raises(InvalidSettings):
        OxigraphStore.open(folder, base="not an iri")
    OxigraphStore.open(folder).close()


def test_a_snapshot_is_a_store_of_its_own(folder: Path, tmp_path: Path) -> None:
    for place in (folder, None):
        copy = tmp_path / f"copy-{place is None}"
        with OxigraphStore.open(place) as store:
            store.publish([edge(), ontology(ox.Literal("01", datatype=XSD.integer))])
            store.snapshot(copy)
            before = content(store)
            store.publish([edge("later")])
            with pytest.raises(StorageFailed, match="exists"):
                store.snapshot(copy)
        with OxigraphStore.open(copy) as opened:
            assert content(opened) == before
            opened.publish([edge("other")])


PUBLISH = """
from tests.store.oxigraph_drafts import edge, listed, ontology
import pyoxigraph as ox
store = OxigraphStore.open(Path(sys.argv[1]))
for batch in range(10_000):
    drafts = [edge(f"{batch}-{row}", str(row)) for row in range(300 if batch % 2 else 20)]
    values = [ox.Literal(f"{batch} {row}") for row in range(50)]
    revision = store.publish([*drafts, listed(f"{batch}-", 5), ontology(*values)]).revision
    print(batch, revision, flush=True)
"""


@pytest.mark.parametrize("acknowledged", [0, 1, 4, 7])
def test_a_killed_writer_leaves_whole_publications_only(folder: Path, acknowledged: int) -> None:
    with child(PUBLISH, folder) as writer:
        assert writer.stdout is not None
        said = [tuple(map(int, writer.stdout.readline().split())) for _ in range(acknowledged)]
        writer.send_signal(signal.SIGKILL)
        said += [tuple(map(int, line.split())) for line in writer.stdout.read().splitlines() if line.count(" ") == 1]
    with OxigraphStore.open(folder) as store:
        last_batch, last_revision = said[-1] if said else (-1, 0)
        assert store.revision >= last_revision
        sizes: dict[int, int] = {}
        for graph in store.graphs():
            name = graph.removeprefix("urn:t:").split("-")
            if len(name) == 2:
                sizes[int(name[0])] = sizes.get(int(name[0]), 0) + 1
                assert len(list(store.triples(N(graph)))) == 2
        assert set(sizes) >= set(range(last_batch + 1))
        assert all(size == (300 if batch % 2 else 20) for batch, size in sizes.items())
        ontology_now = {triple.object.value.split()[0] for triple in store.triples(N("urn:t:ontology"))}
        assert len(ontology_now) <= 1
        assert store.select(queries.bind("catalogue/uncatalogued", catalogue=store.names.catalogue)).rows == []
        accounts = {VOID.triples.value, KG.checksum.value}
        assert [row for row in recomputed(store) if row["path"] in accounts] == []
        assert store.default_graph_size() == 0
        store.publish([edge("after")])
