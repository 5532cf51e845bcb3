"""Whoever reads beside a writer keeps the files of the moment of opening, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.store import reading_views
from kgrag.store.engine import release
from kgrag.store.identity import open_folder
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.reading_views import ReadingView, link_copy
from tests.store.oxigraph_drafts import EDGE, edge

GRAPH = ox.NamedNode("urn:g")
ROOT = Path(__file__).parents[2]
FLUSHES = 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a closed store of many files, which had a writer."""
    folder = tmp_path / "store"
    folder.with_name("store.lock").touch()
    store = ox.Store(str(folder))
    for flush in range(FLUSHES):
        store.bulk_extend(
            ox.Quad(ox.NamedNode(f"urn:s:{flush}:{n}"), ox.NamedNode("urn:p"), ox.Literal(f"{flush} {n}"), GRAPH)
            for n in range(50)
        )
        store.flush()
    del store
    return folder


def views(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.with_name("store.views").glob("*") if path.is_dir())


def test_a_reader_opened_while_files_are_merged_reads_them_all(folder: Path) -> None:
    """The engine takes it in silence that a file went while it was opening them: most readers failed at a question."""
    writer = ox.Store(str(folder))

    def merge() -> None:
        for step in range(1, 41):
            writer.bulk_extend(ox.Quad(ox.BlankNode(), ox.NamedNode("urn:p"), ox.BlankNode(), GRAPH) for _ in range(50))
            writer.add(ox.Quad(ox.BlankNode(), ox.NamedNode("urn:q"), ox.BlankNode(), GRAPH))
            writer.flush()
            if step % 5 == 0:
                writer.optimize()

    merging = threading.Thread(target=merge)
    merging.start()
    try:
        while merging.is_alive():
            reader = open_folder(folder, read_only=True)
            assert sum(isinstance(quad.object, ox.Literal) for quad in reader) == FLUSHES * 50
            assert len(list(reader.quads_for_pattern(None, None, ox.Literal("0 7"), None))) == 1
            assert len(list(reader.quads_for_pattern(ox.NamedNode("urn:s:0:7"), None, None, None))) == 1
            release(reader)
    finally:
        merging.join()
    assert views(folder) == []


def test_a_closed_reader_leaves_nothing(folder: Path) -> None:
    with OxigraphStore.open(folder) as writer:
        writer.publish([edge()])
        reader = OxigraphStore.open(folder, read_only=True)
        assert len(views(folder)) == 1
        assert reader.described(EDGE)
        reader.close()
        assert views(folder) == []


def test_a_view_is_taken_again_when_a_log_was_written_out_meanwhile(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, link, linked = ox.Store(str(folder)), os.link, []

    def beside_a_writer(source: Path, target: Path) -> None:
        if not linked:
            writer.add(ox.Quad(ox.NamedNode("urn:late"), ox.NamedNode("urn:p"), ox.Literal("late"), GRAPH))
            writer.flush()
        linked.append(source)
        link(source, target)

    monkeypatch.setattr(os, "link", beside_a_writer)
    view = ReadingView(folder)
    assert len(list(ox.Store.read_only(str(view.folder)).quads_for_pattern(None, None, None, None))) == FLUSHES * 50 + 1
    view.release()


def test_what_a_killed_reader_left_is_deleted_by_the_next_one(folder: Path) -> None:
    code = "import sys; from pathlib import Path; from kgrag.store.reading_views import ReadingView\n"
    code += "view = ReadingView(Path(sys.argv[1])); print('open', flush=True); sys.stdin.readline()"
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        (left,) = views(folder)
        another = ReadingView(folder)
        assert left in views(folder)
        another.release()
        child.send_signal(signal.SIGKILL)
    assert views(folder) == [left]
    OxigraphStore.open(folder).close()
    assert views(folder) == []


def test_a_folder_that_no_writer_opened_is_read_as_it_is(folder: Path) -> None:
    folder.with_name("store.lock").unlink()
    assert ReadingView(folder).folder == folder
    assert not folder.with_name("store.views").exists()


def test_a_file_system_without_links_is_read_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert ReadingView(folder).folder == folder
    assert views(folder) == []


@pytest.mark.parametrize("refused", ["", "a long log", "links"])
def test_a_copy_has_what_is_written_and_nothing_is_flushed_for_it(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(1, "no links here")

    writer, copy = ox.Store(str(folder)), tmp_path / "copy"
    writer.add(ox.Quad(ox.NamedNode("urn:late"), ox.NamedNode("urn:p"), ox.Literal("late"), GRAPH))
    logged = [log.read_bytes() for log in folder.glob("*.log")]
    if refused:
        monkeypatch.setattr(
            *((reading_views, "_MAX_LOG_BYTES", 0) if refused == "a long log" else (os, "link", refuse))
        )
    assert link_copy(folder, copy) == (not refused)
    assert [log.read_bytes() for log in folder.glob("*.log")] == logged
    if refused:
        assert not copy.exists()
        return
    writer.add(ox.Quad(ox.NamedNode("urn:later"), ox.NamedNode("urn:p"), ox.Literal("later"), GRAPH))
    assert len(ox.Store.read_only(str(copy))) == FLUSHES * 50 + 1
    written = ox.Store(str(copy))
    written.clear()
    assert len(writer) == FLUSHES * 50 + 2
