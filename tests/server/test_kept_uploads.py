"""An upload that was accepted is taken in, whatever becomes of the server that accepted it."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from kgrag.knowledge_base import waiting_uploads
from kgrag.knowledge_base.waiting_uploads import WaitingUpload
from tests.final_states import opened
from tests.server.conftest import start
from tests.server.inside import KEY, served

WRITER = {"Authorization": f"Bearer {KEY}"}


def _records(count: int) -> bytes:
    rows = ({"id": f"R{number}", "text": f"Barn {number} stands in the plain of Ostrel."} for number in range(count))
    return "\n".join(json.dumps(row) for row in rows).encode()


def _ended(client: httpx.Client, place: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        job: dict[str, Any] = client.get(place, headers=WRITER).raise_for_status().json()
        if job["state"] not in ("waiting", "running"):
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def _documents(path: Path) -> list[str]:
    with opened(path) as kb:
        return sorted(place for one in kb.documents() for place in one.locations)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_an_accepted_upload_is_taken_in_by_the_next_server(tmp_path: Path, ending: signal.Signals) -> None:
    path, count = tmp_path / "kb", 100
    first = start(path)
    accepted = first.writer.post("/documents", files={"file": ("up.jsonl", _records(count))})
    assert accepted.status_code == 202
    job = accepted.json()
    first.stop(ending)
    assert len(waiting_uploads.waiting(path)) == 1
    second = start(path)
    try:
        ended = _ended(second.writer, f"/jobs/{job['id']}")
        written = (path / "writes.jsonl").read_text(encoding="utf-8")
    finally:
        second.stop()
    assert (ended["state"], ended["about"]) == ("done", "up.jsonl")
    assert accepted.headers["X-Request-Id"] in written
    assert len(_documents(path)) == count
    assert waiting_uploads.waiting(path) == []


def _kept(path: Path, body: bytes, *, begun: int = 0) -> WaitingUpload:
    folder = waiting_uploads.new_folder(path)
    (folder / waiting_uploads.LINES).write_bytes(body)
    upload = WaitingUpload(folder, "0123abcd" * 4, "feed api", {"feed": "api", "embed": False}, "r1", "key-1", begun)
    waiting_uploads.keep(upload)
    return upload


def test_what_was_not_accepted_to_its_end_is_cleared_away(tmp_path: Path) -> None:
    (waiting_uploads.new_folder(tmp_path) / waiting_uploads.LINES).write_bytes(_records(1)[:20])
    upload = _kept(tmp_path, _records(2))
    assert waiting_uploads.waiting(tmp_path) == [upload]
    waiting_uploads.clear(tmp_path)
    assert [each.name for each in (tmp_path / "uploads").iterdir()] == [upload.folder.name]


def test_an_upload_that_ended_each_server_is_left_alone_and_named(tmp_path: Path) -> None:
    upload = _kept(tmp_path / "kb", _records(2), begun=3)
    with opened(tmp_path / "kb") as kb, served(kb) as live:
        ended = _ended(live.client, f"/jobs/{upload.id}")
        assert ended["state"] == "failed"
        assert f"uploads/{upload.folder.name}" in ended["problem"]["detail"]
        (finding,) = [each for each in kb.doctor() if each.check == "uploads"]
        assert (finding.fault, "1 upload" in finding.message) == (False, True)
        assert len(kb.documents()) == 0
    assert waiting_uploads.waiting(tmp_path / "kb") == [upload]


def test_who_opens_it_for_writing_is_told_what_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    _kept(tmp_path / "kb", _records(2))
    with opened(tmp_path / "kb"):
        assert "1 upload that a server accepted is not taken in yet" in caplog.text


def test_a_cancelled_upload_is_not_taken_in_later(tmp_path: Path) -> None:
    with opened(tmp_path / "kb") as kb, served(kb) as live:
        accepted = live.client.post(
            "/documents", content=_records(200), headers={**WRITER, "Content-Type": "application/jsonl"}
        )
        place = f"/jobs/{accepted.json()['id']}"
        live.client.delete(place, headers=WRITER)
        assert _ended(live.client, place)["state"] == "cancelled"
    assert waiting_uploads.waiting(tmp_path / "kb") == []
