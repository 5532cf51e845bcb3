import json
from pathlib import Path

import pytest

from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.server.write_log import WriteEntry, WriteLog
from tests.server.conftest import Server


def _entry(number: int) -> WriteEntry:
    return WriteEntry(f"r{number}", "loader", "update", {"urn:b", "urn:a"}, number, number + 1, 10, 204)


def test_lines_are_appended_to_what_another_server_wrote(tmp_path: Path) -> None:
    for number in range(2):
        log = WriteLog(tmp_path / "writes.jsonl")
        log.add(_entry(number))
        log.close()
    rows = [json.loads(line) for line in (tmp_path / "writes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["before"] for row in rows] == [0, 1]
    assert rows[0]["graphs"] == ["urn:a", "urn:b"]


def test_a_line_that_was_cut_off_does_not_spoil_the_next(tmp_path: Path) -> None:
    (tmp_path / "writes.jsonl").write_text('{"time": "20', encoding="utf-8")
    log = WriteLog(tmp_path / "writes.jsonl")
    log.add(_entry(1))
    assert [json.loads(line)["before"] for line in log.last(1).splitlines()] == [1]
    log.close()


def test_others_cannot_read_it(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "new" / "writes.jsonl")
    log.close()
    assert (tmp_path / "new" / "writes.jsonl").stat().st_mode & 0o077 == 0


def test_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot be written"):
        WriteLog(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_stops_the_writes_that_follow() -> None:
    log = WriteLog(Path("/dev/full"))
    log.check()
    log.add(_entry(1))
    with pytest.raises(StorageFailed, match="Make room"):
        log.check()
    log.close()


def test_a_line_names_the_documents_and_has_the_status_of_the_answer(server: Server) -> None:
    said: list[int] = []
    for text in ("The lamp is green.", "The lamp is red."):
        said.append(server.writer.put("/documents/lamp", json={"text": text}).status_code)
    (stored,) = server.writer.get("/documents").json()["documents"]
    said.append(server.writer.delete("/documents/lamp").status_code)
    job = server.writer.post("/documents", files={"a": ("a.txt", b"The lamp is blue.")})
    said.append(job.status_code)
    with server.writer.stream("GET", job.headers["Location"], headers={"Accept": "text/event-stream"}) as events:
        list(events.iter_lines())
    lines = [json.loads(line) for line in (server.folder / "writes.jsonl").read_text(encoding="utf-8").splitlines()]
    assert said == [201, 200, 200, 202]
    assert [line["status"] for line in lines] == said
    assert [len(line["documents"]) for line in lines] == [1, 1, 1, 1]
    assert lines[1]["documents"] == lines[2]["documents"] != lines[0]["documents"]
    assert stored["iri"] in lines[1]["documents"]
