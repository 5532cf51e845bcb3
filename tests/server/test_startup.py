"""A server that cannot start, and one that is asked to stop."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase
from kgrag.cli import app
from kgrag.errors import StoreLocked, UnknownName
from kgrag.server import Access, Address, serve
from tests.server.conftest import start
from tests.server.test_failures import VALUES, _busy, _until

LONG_ENOUGH = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"VALUES ?{name} {{ {VALUES} }}" for name in "abc") + " }"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_a_server_that_cannot_start_leaves_no_log_open(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb") as kb, pytest.raises(UnknownName, match="publish"):
        serve(kb, Address(port=0), access=Access(gate="pubish"))
    opened = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    assert str(tmp_path / "kb" / "writes.jsonl") not in opened


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_query_under_way_ends_before_the_server_does(tmp_path: Path, number: int) -> None:
    server = start(tmp_path / "kb", fresh=True)
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(server.query, LONG_ENOUGH)
        _until(lambda: _busy(server))
        server.process.send_signal(number)
        rows = answer.result(30).json()["results"]["bindings"]
    assert [row["n"]["value"] for row in rows] == ["8000000"]
    server.stop(number)
    assert server.process.returncode == 0
    assert not (tmp_path / "kb" / "store.server").exists()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_a_query_without_an_end_does_not_keep_the_server(tmp_path: Path) -> None:
    from tests.server.test_failures import ENDLESS

    server = start(tmp_path / "kb", "--timeout", "2")
    done = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        answer = threads.submit(server.query, ENDLESS)
        answer.add_done_callback(lambda _: done.set())
        _until(lambda: _busy(server))
        server.stop()
        assert done.wait(20)
    assert server.process.returncode == 0


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
def test_readers_end_with_a_server_that_is_killed_in_mid_query_too(tmp_path: Path) -> None:
    from tests.server.test_failures import ENDLESS, ONE

    server = start(tmp_path / "kb")
    with ThreadPoolExecutor(1) as threads:
        threads.submit(server.query, ENDLESS)
        _until(lambda: _busy(server))
        assert server.query(ONE).status_code == 200
        readers = server.readers()
        assert len(readers) >= 2  # the one at work, and those for others
        server.stop(signal.SIGKILL)
    _until(lambda: not [number for number in readers if _alive(number)])


def _alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize("option", [(), ("--read-only",)])
def test_a_second_server_of_a_folder_says_that_it_cannot_be_whatever_its_options(
    tmp_path: Path, option: tuple[str, ...]
) -> None:
    with KnowledgeBase(tmp_path / "kb"):
        run = CliRunner().invoke(app, ["serve", "--kb", str(tmp_path / "kb"), "--port", "0", *option])
    assert isinstance(run.exception, StoreLocked)
    assert "with --read-only too: serve a copy (kgrag backup)" in str(run.exception)
