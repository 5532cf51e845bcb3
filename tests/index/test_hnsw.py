"""Vector spaces: ranking, files that are never half written, and damage that is survived."""

import json
import logging
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import EmbeddingMismatch, StorageFailed, UnknownName
from kgrag.index import hnsw
from kgrag.index.hnsw import HnswIndex, NeighbourGraph, ReadWriteLock
from kgrag.index.vector_folder import FolderSpaces
from kgrag.index.vector_table import SlotTable
from kgrag.ports import VectorIndex, Vectors, VectorSpaces

DIMENSION = 4
DIRECTIONS = [
    np.array(direction, np.float32) / np.float32(np.linalg.norm(direction))
    for direction in np.ndindex(3, 3, 3, 3)
    if any(direction)
]


def spaces(folder: Path | None, *, identity: str = "toy", dimension: int = DIMENSION, **more: bool) -> FolderSpaces:
    return FolderSpaces(folder, identity=identity, dimension=dimension, **more)


def random_rows(count: int, dimension: int = DIMENSION, seed: int = 1) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def names(count: int, start: int = 0) -> list[str]:
    return [f"urn:{number:05d}" for number in range(start, start + count)]


def brute_force(held: dict[str, Vectors], vector: Vectors, k: int) -> list[str]:
    cosines = {iri: sum(float(a) * float(b) for a, b in zip(row, vector, strict=True)) for iri, row in held.items()}
    return sorted(held, key=lambda iri: (-round(cosines[iri], 12), iri))[:k]


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A graph from the 40th row on, so that few rows show what many do."""
    monkeypatch.setattr(hnsw, "_MAX_ROWS_OUTSIDE_GRAPH", 40)
    monkeypatch.setattr(hnsw, "_MAX_KEYS_RANKED_EXACTLY", 10)
    monkeypatch.setattr(hnsw, "_MIN_CANDIDATES_WITHIN", 1)
    monkeypatch.setattr(hnsw, "_KEYS_PER_CANDIDATE", 1)
    monkeypatch.setattr(hnsw, "_MIN_DEAD_ROWS_TO_COMPACT", 8)
    monkeypatch.setattr(hnsw, "_MIN_SEARCH_BREADTH", 8)


@pytest.fixture
def saved(tmp_path: Path) -> dict[str, Vectors]:
    """Twenty vectors on disk in the space 'chunk', in two segments, at revision 7."""
    held = dict(zip(names(20), random_rows(20), strict=True))
    space = spaces(tmp_path).space("chunk")
    space.upsert(names(15), random_rows(20)[:15])
    space.save(6)
    space.upsert(names(5, 15), random_rows(20)[15:])
    space.save(7)
    return held


def test_adapter_is_what_the_ports_ask_for() -> None:
    made: VectorSpaces = spaces(None)
    space: VectorIndex = made.space("chunk")
    assert (space.revision, len(space), space.keys()) == (-1, 0, [])


def test_empty_space_finds_nothing() -> None:
    assert spaces(None).space("chunk").search(DIRECTIONS[0], 5) == []


@pytest.mark.parametrize("k", [0, -1])
def test_k_below_one_finds_nothing(k: int) -> None:
    space = spaces(None).space("chunk")
    space.upsert(["urn:a"], DIRECTIONS[0][None, :])
    assert space.search(DIRECTIONS[0], k) == []


def test_fewer_vectors_than_k_are_all_found() -> None:
    space = spaces(None).space("chunk")
    space.upsert(names(3), random_rows(3))
    assert len(space.search(DIRECTIONS[0], 10)) == 3


def test_equal_vectors_rank_by_iri() -> None:
    space = spaces(None).space("chunk")
    space.upsert(["urn:c", "urn:a", "urn:b"], np.stack([DIRECTIONS[5]] * 3))
    assert [iri for iri, _ in space.search(DIRECTIONS[5], 2)] == ["urn:a", "urn:b"]


def test_one_row_matrix_and_longer_vector_ask_the_same_question() -> None:
    space = spaces(None).space("chunk")
    space.upsert(names(30), random_rows(30))
    assert space.search(DIRECTIONS[3], 5) == space.search(DIRECTIONS[3][None, :], 5)
    assert [iri for iri, _ in space.search(DIRECTIONS[3] * 9, 5)] == [iri for iri, _ in space.search(DIRECTIONS[3], 5)]


def test_unknown_allowed_keys_are_ignored() -> None:
    space = spaces(None).space("chunk")
    space.upsert(names(3), random_rows(3))
    assert [iri for iri, _ in space.search(DIRECTIONS[0], 5, within=["urn:00002", "urn:x", "urn:00002"])] == [
        "urn:00002"
    ]


def test_last_vector_of_a_repeated_key_stays() -> None:
    space = spaces(None).space("chunk")
    space.upsert(["urn:a"], DIRECTIONS[2][None, :])
    space.upsert(["urn:a", "urn:a"], np.stack([DIRECTIONS[1], DIRECTIONS[2]]))
    assert np.array_equal(space.vectors(["urn:a"])[0], DIRECTIONS[2])
    assert len(space) == 1


def test_vectors_come_back_as_given_and_in_order() -> None:
    space = spaces(None).space("chunk")
    space.upsert(names(9), random_rows(9))
    assert np.array_equal(space.vectors(["urn:00007", "urn:00002"]), random_rows(9)[[7, 2]])
    assert space.vectors([]).shape == (0, DIMENSION)
    with pytest.raises(KeyError):
        space.vectors(["urn:x"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.ones((1, 3), np.float32), "shape"),
        (np.ones((2, DIMENSION), np.float32), "one each"),
        (np.full((1, DIMENSION), np.nan, np.float32), "NaN"),
    ],
)
def test_rows_that_are_no_vectors_are_refused(rows: Vectors, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        spaces(None).space("chunk").upsert(["urn:a"], rows)


@pytest.mark.parametrize("name", ["", "../chunk", "Chunk", "a/b", "a" * 65])
def test_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnknownName, match="no name of a vector space"):
        spaces(tmp_path).space(name)


EVEN = frozenset(f"urn:{number}" for number in range(0, 90, 2))

steps = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "delete", "search", "within", "kept", "kept", "save", "reopen"]),
        st.lists(st.tuples(st.integers(0, 90), st.integers(0, len(DIRECTIONS) - 1)), min_size=1, max_size=40),
    ),
    max_size=14,
)


@pytest.mark.usefixtures("small_limits")
@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_index_equals_brute_force(tmp_path_factory: pytest.TempPathFactory, steps: list) -> None:
    folder = tmp_path_factory.mktemp("spaces")
    space, held = spaces(folder).space("chunk"), {}
    for revision, (step, pairs) in enumerate(steps):
        iris = [f"urn:{number}" for number, _ in pairs]
        rows = np.stack([DIRECTIONS[number] for _, number in pairs])
        if step == "upsert":
            space.upsert(iris, rows)
            held |= dict(zip(iris, rows, strict=True))
        elif step == "delete":
            space.delete(iris)
            held = {iri: row for iri, row in held.items() if iri not in iris}
        elif step in ("save", "reopen"):
            space.save(revision)
            space = spaces(folder).space("chunk") if step == "reopen" else space
            assert space.revision == revision
        elif step == "kept":  # nearly the same keys each time, as of a filter that documents come to and leave
            check_search(space, held, rows[0], EVEN ^ set(iris[:1]))
        else:
            check_search(space, held, rows[0], set(iris) if step == "within" else None)
        assert sorted(space.keys()) == sorted(held)


def test_of_a_set_of_keys_that_changed_a_little_only_what_changed_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    space, allowed = spaces(None).space("chunk"), frozenset(names(200))
    space.upsert(names(300), random_rows(300))
    space.search(random_rows(1)[0], 5, allowed)
    looked_up: list[int] = []
    slots_of = SlotTable.slots_of
    monkeypatch.setattr(SlotTable, "slots_of", lambda self, iris: looked_up.append(len(iris)) or slots_of(self, iris))
    space.upsert(["urn:new", *names(1), *names(1, 250)], DIRECTIONS[:3])
    space.delete(names(1, 1))
    space.save(1)
    found = space.search(random_rows(1)[0], 500, allowed - {"urn:00002"} | {"urn:new"})
    assert {iri for iri, _ in found} == {"urn:new", *names(1), *names(197, 3)}
    assert sum(looked_up) <= 4


def check_search(space: HnswIndex, held: dict[str, Vectors], vector: Vectors, within: set[str] | None) -> None:
    """Exact where search is exact; of the graph's answers only what any answer must have."""
    allowed = {iri: row for iri, row in held.items() if within is None or iri in within}
    found = space.search(vector, 5, within)
    assert len(found) == min(5, len(allowed))
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))
    assert all(cosine == pytest.approx(float(np.dot(allowed[iri], vector)), abs=1e-6) for iri, cosine in found)
    if space._graph is None or (within is not None and len(allowed) <= 10):
        assert [iri for iri, _ in found] == brute_force(allowed, vector, 5)


@pytest.mark.usefixtures("small_limits")
class TestGraph:
    """Spaces long enough to have a neighbour graph."""

    def filled(self, folder: Path | None, count: int = 400) -> HnswIndex:
        space = spaces(folder, dimension=16).space("chunk")
        space.upsert(names(count), random_rows(count, 16))
        space.save(1)
        return space

    def exact(self, vector: Vectors, k: int, slots: range) -> list[str]:
        rows = random_rows(400, 16)
        return [names(400)[slot] for slot in sorted(slots, key=lambda slot: -float(rows[slot] @ vector))[:k]]

    def test_recall_is_high(self) -> None:
        space, questions = self.filled(None), random_rows(50, 16, seed=2)
        found = [{iri for iri, _ in space.search(vector, 10)} for vector in questions]
        wanted = [set(self.exact(vector, 10, range(400))) for vector in questions]
        assert np.mean([len(a & b) / 10 for a, b in zip(found, wanted, strict=True)]) > 0.95

    def test_rows_beyond_the_graph_are_found(self) -> None:
        space, late = self.filled(None), random_rows(20, 16, seed=3)
        space.upsert(names(20, 900), late)
        assert [space.search(row, 1)[0][0] for row in late] == names(20, 900)

    def test_deleted_rows_are_not_found(self) -> None:
        space, rows = self.filled(None), random_rows(400, 16)
        space.delete(names(200))
        assert all(iri >= "urn:00200" for row in rows[:50] for iri, _ in space.search(row, 10))

    def test_rare_allowed_keys_are_found_exactly(self) -> None:
        space, vector = self.filled(None), random_rows(1, 16, seed=4)[0]
        found = space.search(vector, 12, within=names(12, 100))
        assert [iri for iri, _ in found] == self.exact(vector, 12, range(100, 112))

    def test_half_the_keys_allowed_are_searched_by_the_graph(self) -> None:
        space, vector = self.filled(None), random_rows(1, 16, seed=4)[0]
        found = [iri for iri, _ in space.search(vector, 5, within=names(200))]
        assert len(set(found) & set(self.exact(vector, 5, range(200)))) >= 4

    def test_graph_comes_back_from_its_file(self, tmp_path: Path) -> None:
        space, vector = self.filled(tmp_path), random_rows(1, 16, seed=4)[0]
        again = spaces(tmp_path, dimension=16).space("chunk")
        assert again.search(vector, 10) == space.search(vector, 10)
        assert again._graph is not None

    @pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
    def test_cut_graph_is_made_again_from_the_rows(self, tmp_path: Path, share: float) -> None:
        space, vector = self.filled(tmp_path), random_rows(1, 16, seed=4)[0]
        path = next(tmp_path.rglob("*.hnsw"))
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
        again = spaces(tmp_path, dimension=16).space("chunk")
        assert again.search(vector, 10) == space.search(vector, 10)
        again.upsert(["urn:new"], vector[None, :])
        again.save(2)
        assert spaces(tmp_path, dimension=16).space("chunk").search(vector, 1)[0][0] == "urn:new"

    def test_flipped_byte_in_the_graph_is_noticed(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        space, vector = self.filled(tmp_path), random_rows(1, 16, seed=4)[0]
        flip(next(tmp_path.rglob("*.hnsw")), 60)
        assert spaces(tmp_path, dimension=16).space("chunk").search(vector, 10) == space.search(vector, 10)
        assert "The neighbour graph is made again" in caplog.text

    def test_same_calls_give_the_same_graph(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            self.filled(tmp_path / name)
        first, second = (next((tmp_path / name).rglob("*.hnsw")).read_bytes() for name in ("a", "b"))
        assert first == second

    def test_compaction_gives_back_the_space_of_what_was_deleted(self, tmp_path: Path) -> None:
        space, vector = self.filled(tmp_path), random_rows(1, 16, seed=4)[0]
        before = sum(path.stat().st_size for path in tmp_path.rglob("*.f32"))
        space.delete(names(300))
        space.save(2)
        assert sum(path.stat().st_size for path in tmp_path.rglob("*.f32")) == before // 4
        again = spaces(tmp_path, dimension=16).space("chunk")
        assert again.search(vector, 5) == space.search(vector, 5)
        assert sorted(again.keys()) == names(100, 300)

    def test_compaction_in_memory_keeps_every_live_row(self) -> None:
        space = self.filled(None)
        space.delete(names(300))
        space.save(2)
        assert np.array_equal(space.vectors(names(100, 300)), random_rows(400, 16)[300:])

    def test_searching_while_adding_is_safe(self) -> None:
        space, errors = self.filled(None), []

        def ask() -> None:
            try:
                for vector in random_rows(150, 16, seed=5):
                    assert len(space.search(vector, 10)) == 10
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for start in range(400, 1400, 50):
            space.upsert(names(50, start), random_rows(50, 16, seed=start))
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(space) == 1400

    def test_graph_with_fewer_slots_than_asked_gives_all(self) -> None:
        made = NeighbourGraph(2)
        made.extend([np.array([[1, 0]], np.float32)], total=1)
        assert list(made.nearest(np.array([1, 0], np.float32), 5)) == [0]


def test_saved_space_comes_back(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    space = spaces(tmp_path).space("chunk")
    assert space.revision == 7
    assert np.array_equal(space.vectors(list(saved)), np.stack(list(saved.values())))


def test_space_that_was_not_saved_is_gone(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    space = spaces(tmp_path).space("chunk")
    space.upsert(["urn:new"], DIRECTIONS[0][None, :])
    assert not {"urn:new"} & set(spaces(tmp_path).space("chunk").keys())


def test_saving_often_leaves_few_files(tmp_path: Path) -> None:
    space = spaces(tmp_path).space("chunk")
    for number in range(40):
        space.upsert([f"urn:{number}"], random_rows(1, seed=number))
        space.save(number)
    assert len(list(tmp_path.rglob("*.f32"))) <= 6
    assert len(spaces(tmp_path).space("chunk")) == 40


def test_saving_nothing_new_writes_nothing(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    spaces(tmp_path).space("chunk").save(7)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_saving_the_revision_alone_keeps_the_rows(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    spaces(tmp_path).space("chunk").save(9)
    space = spaces(tmp_path).space("chunk")
    assert (space.revision, len(space)) == (9, 20)


def test_deletion_is_remembered(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    space = spaces(tmp_path).space("chunk")
    space.delete(["urn:00003", "urn:unknown"])
    space.save(8)
    assert not {"urn:00003"} & set(spaces(tmp_path).space("chunk").keys())


def test_emptied_space_stays_empty(tmp_path: Path, saved: dict[str, Vectors], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnsw, "_MIN_DEAD_ROWS_TO_COMPACT", 8)
    space = spaces(tmp_path).space("chunk")
    space.delete(names(20))
    space.save(8)
    again = spaces(tmp_path).space("chunk")
    assert (again.revision, len(again), again.search(DIRECTIONS[0], 3)) == (8, 0, [])


def test_read_only_space_changes_in_memory_alone(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    space = spaces(tmp_path, read_only=True).space("chunk")
    space.upsert(["urn:new"], DIRECTIONS[0][None, :])
    space.save(9)
    assert (space.revision, len(space)) == (9, 21)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_space_is_opened_once_and_named(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    opened = spaces(tmp_path)
    assert opened.names() == ["chunk"]
    assert opened.space("hypernode-key") is opened.space("hypernode-key")
    assert opened.names() == ["chunk", "hypernode-key"]


def test_dropped_space_is_empty_and_its_files_are_gone(tmp_path: Path, saved: dict[str, Vectors]) -> None:
    opened = spaces(tmp_path)
    opened.drop("chunk")
    assert not (tmp_path / "chunk").exists()
    assert opened.space("chunk").revision == -1


@pytest.mark.parametrize(("identity", "dimension"), [("other", DIMENSION), ("toy", 5)])
def test_space_of_another_embedder_is_refused(
    tmp_path: Path, saved: dict[str, Vectors], identity: str, dimension: int
) -> None:
    with pytest.raises(EmbeddingMismatch) as caught:
        spaces(tmp_path, identity=identity, dimension=dimension).space("chunk")
    assert str(caught.value) == (
        f"space 'chunk' was embedded with toy (4), but the embedder is {identity} ({dimension}). "
        "Run `kgrag doctor --repair` to embed it again, or go back to that embedder."
    )


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x10
    path.write_bytes(data)


def stored_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("which", range(5))
def test_file_cut_short_makes_the_space_empty(
    tmp_path: Path, saved: dict[str, Vectors], caplog: pytest.LogCaptureFixture, which: int, share: float
) -> None:
    path = stored_files(tmp_path)[which % len(stored_files(tmp_path))]
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    expect_empty_and_mendable(tmp_path, caplog)


@pytest.mark.parametrize("which", range(3))
def test_missing_file_makes_the_space_empty(
    tmp_path: Path, saved: dict[str, Vectors], caplog: pytest.LogCaptureFixture, which: int
) -> None:
    path = [path for path in stored_files(tmp_path) if path.name != "manifest.json"][which % 2]
    path.unlink()
    expect_empty_and_mendable(tmp_path, caplog)


def test_flipped_bit_anywhere_makes_the_space_empty(
    tmp_path: Path, saved: dict[str, Vectors], caplog: pytest.LogCaptureFixture
) -> None:
    for path in stored_files(tmp_path):
        whole = path.read_bytes()
        for place in range(0, len(whole), 1 + len(whole) // 40):
            flip(path, place)
            space = spaces(tmp_path).space("chunk")
            assert (space.revision, len(space)) == (-1, 0), (path, place)
            path.write_bytes(whole)
    assert len(spaces(tmp_path).space("chunk")) == 20


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"sha256": "", "space": {}}', "[" * 100_000, "\x00"])
def test_nonsense_for_a_manifest_makes_the_space_empty(
    tmp_path: Path, saved: dict[str, Vectors], caplog: pytest.LogCaptureFixture, text: str
) -> None:
    (tmp_path / "chunk" / "manifest.json").write_text(text)
    expect_empty_and_mendable(tmp_path, caplog)


def test_manifest_of_a_later_format_makes_the_space_empty(
    tmp_path: Path, saved: dict[str, Vectors], caplog: pytest.LogCaptureFixture
) -> None:
    from kgrag.index.vector_files import _checksum

    path = tmp_path / "chunk" / "manifest.json"
    space = json.loads(path.read_text())["space"] | {"format": 99}
    path.write_text(json.dumps({"sha256": _checksum(space), "space": space}))
    expect_empty_and_mendable(tmp_path, caplog)


def expect_empty_and_mendable(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    space = spaces(folder).space("chunk")
    assert (space.revision, len(space)) == (-1, 0)
    assert "Vector space 'chunk' is damaged and will be made again" in caplog.text
    space.upsert(["urn:new"], DIRECTIONS[0][None, :])
    space.save(8)
    assert spaces(folder).space("chunk").keys() == ["urn:new"]


@contextmanager
def disk_with(size: int) -> Iterator[None]:
    """Let this process write no file longer than ``size`` bytes: the nearest to a full disk without being root."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("size", [0, 100, 6_000])
def test_full_disk_leaves_the_last_save(tmp_path: Path, saved: dict[str, Vectors], size: int) -> None:
    space = spaces(tmp_path).space("chunk")
    space.upsert(names(600, 100), random_rows(600))
    with disk_with(size), pytest.raises(StorageFailed, match="saved at revision 7 are intact"):
        space.save(8)
    assert (spaces(tmp_path).space("chunk").revision, len(spaces(tmp_path).space("chunk"))) == (7, 20)
    space.save(8)
    assert (spaces(tmp_path).space("chunk").revision, len(spaces(tmp_path).space("chunk"))) == (8, 620)


@pytest.mark.usefixtures("small_limits")
def test_full_disk_while_the_graph_is_written_is_noticed(tmp_path: Path) -> None:
    space = spaces(tmp_path).space("chunk")
    space.upsert(names(600), random_rows(600))
    with disk_with(30_000), pytest.raises(StorageFailed):
        space.save(1)
    assert spaces(tmp_path).space("chunk").revision == -1
    space.save(1)
    assert len(spaces(tmp_path).space("chunk").search(DIRECTIONS[0], 10)) == 10


def test_folder_that_is_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "vectors").write_text("in the way")
    space = spaces(tmp_path / "vectors").space("chunk")
    with pytest.raises(StorageFailed, match="could not be written"):
        space.save(1)


KILLED = """
import os, sys
from pathlib import Path
import numpy as np
from kgrag.index import hnsw
from kgrag.index.vector_folder import FolderSpaces
from kgrag.index.vector_table import SlotTable
hnsw._MAX_ROWS_OUTSIDE_GRAPH = 40
space = FolderSpaces(Path(sys.argv[1]), identity="toy", dimension=4).space("chunk")
seen = 0
def audit(event, arguments):
    global seen
    if event in ("open", "os.rename", "os.remove") and str(sys.argv[1]) in str(arguments[0]):
        seen += 1
        if seen == int(sys.argv[2]):
            os._exit(9)
sys.addaudithook(audit)
rows = np.random.default_rng(3).normal(size=(100, 4)).astype("f4")
space.upsert([f"urn:new{number}" for number in range(100)], rows)
space.save(8)
os._exit(0)
"""


def test_kill_at_any_step_leaves_the_old_or_the_new_space(tmp_path: Path) -> None:
    outcomes = set()
    for step in range(1, 40):
        folder = tmp_path / str(step)
        space = spaces(folder).space("chunk")
        space.upsert(names(20), random_rows(20))
        space.save(7)
        ended = subprocess.run([sys.executable, "-c", KILLED, str(folder), str(step)], check=False).returncode
        again = spaces(folder).space("chunk")
        outcomes.add((again.revision, len(again)))
        again.upsert(["urn:after"], DIRECTIONS[0][None, :])
        again.save(9)
        assert spaces(folder).space("chunk").search(DIRECTIONS[0], 1)[0][0] == "urn:after"
        if ended == 0:
            break
    assert outcomes == {(7, 20), (8, 120)}
    assert ended == 0


def test_reader_beside_a_saving_process_sees_a_whole_space(tmp_path: Path) -> None:
    space = spaces(tmp_path).space("chunk")
    space.upsert(names(20), random_rows(20))
    space.save(0)
    sizes, done = [], threading.Event()

    def read() -> None:
        while not done.is_set():
            sizes.append(len(spaces(tmp_path, read_only=True).space("chunk")))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 60):
        space.upsert([f"urn:{number}"], random_rows(1, seed=number))
        space.save(number)
    done.set()
    reader.join()
    assert sizes == sorted(sizes)
    assert min(sizes) >= 20


def test_writer_waits_for_readers_and_readers_for_the_writer() -> None:
    lock, order = ReadWriteLock(), []
    with lock.reading(), lock.reading():
        writer = threading.Thread(target=lambda: write(lock, order))
        writer.start()
        while not lock._waiting:
            pass
        order.append("read")
    writer.join()
    with lock.reading():
        order.append("read again")
    assert order == ["read", "written", "read again"]


def write(lock: ReadWriteLock, order: list[str]) -> None:
    with lock.writing():
        order.append("written")
