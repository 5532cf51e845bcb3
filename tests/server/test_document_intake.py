"""A server that dies inside an upload leaves one document per place, whatever is done next."""

import json
from pathlib import Path
from typing import Any

import pytest

from kgrag import Document
from kgrag.server.document_intake import DocumentIntake, IntakeOptions
from kgrag.text.documents import document_text
from kgrag.text.json_documents import document_json
from tests.cut_short import killed_after, killed_at
from tests.final_states import opened
from tests.server.inside import KEY, served

WRITER = {"Authorization": f"Bearer {KEY}"}
RECORDS = range(12)


def _records(day: str, count: int = len(RECORDS)) -> str:
    rows = ({"id": str(number), "text": f"Barn {number} was seen on {day}."} for number in range(count))
    return "\n".join(json.dumps(row) for row in rows)


def _upload(path: Path, lines: Path, options: dict[str, Any]) -> None:
    """Take in an upload as a job does; what the killed process does."""
    with opened(path) as kb:
        taking = DocumentIntake(kb, lines, IntakeOptions(**options))
        for batch, last in taking.batches():
            taking.add(batch, last)


def _write(lines: Path, file: str, day: str, names: range = RECORDS) -> None:
    documents = (
        Document(f"Barn {name} was seen on {day}.", location=f"{file}#{name}", source=file, id=str(name))
        for name in names
    )
    lines.write_text("\n".join(json.dumps(document_json(one)) for one in documents))


def _days(path: Path) -> list[tuple[int, str]]:
    """The barns and days of all documents, after something else than the upload was done."""
    with opened(path) as kb:
        kb.add(Document("Rye is sown in October.", id="rye"), feed="other")
        kb.remove("rye", feed="other")
        assert [finding.message for finding in kb.doctor() if finding.fault] == []
        words = [document_text(kb.store, one.iri).split() for one in kb.documents()]
    return sorted((int(each[1]), each[-1]) for each in words)


@pytest.mark.parametrize("replaces", ["files", "folder"])
def test_an_upload_killed_anywhere_leaves_one_document_per_place(tmp_path: Path, replaces: str) -> None:
    lines, folder = tmp_path / "lines.jsonl", tmp_path / "docs"
    file = f"{folder}/barns.jsonl"
    options = {"replaces": replaces, "folder": str(folder), "embed": False}
    path = tmp_path / "kb"
    _write(lines, file, "monday.", range(14))
    _upload(path, lines, options)
    before = [(name, "monday..") for name in range(14)]
    assert _days(path) == before
    passed, point = 0, 1_000_000
    for number in range(3):
        path = tmp_path / f"kb{number}"
        _write(lines, file, "monday.", range(14))
        _upload(path, lines, options)
        _write(lines, file, "tuesday.")
        passed = killed_at(point, _upload, path, lines, options)
        days = _days(path)
        if number == 0:
            total = passed
            assert days == [(name, "tuesday..") for name in RECORDS]
        assert sorted({name for name, _ in days}) == [name for name, _ in days], (point, passed)
        point = 1 + total * (2 * number + 1) // 5


def test_an_upload_that_broke_off_is_finished_by_the_next_request(tmp_path: Path) -> None:
    with opened(tmp_path / "kb") as kb, served(kb) as live:

        def uploaded(day: str) -> dict[str, Any]:
            accepted = live.client.post(
                "/documents", params={"name": "barns.jsonl"}, content=_records(day), headers=WRITER
            )
            with live.client.stream(
                "GET", accepted.headers["Location"], headers={"Accept": "text/event-stream"}
            ) as events:
                list(events.iter_lines())
            found: dict[str, Any] = live.client.get(accepted.headers["Location"]).json()
            return found

        assert uploaded("monday")["state"] == "done"
        with killed_after(3):
            assert uploaded("tuesday")["state"] == "failed"
        live.client.put("/documents/rye", json={"text": "Rye is sown in October."}, headers=WRITER)
        places = [place for one in kb.documents() for place in one.locations]
        assert len(places) == len(RECORDS) + 1
        assert sorted(places) == sorted(set(places))
