"""What is stored otherwise than it was sent is told, however it came."""

import json
from pathlib import Path

from typer.testing import CliRunner

from kgrag import Document, KnowledgeBase
from kgrag.cli import app
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.final_states import opened
from tests.server.inside import KEY, served

WRITER = {"Authorization": f"Bearer {KEY}"}


def _records(path: Path, *records: dict[str, str]) -> Path:
    path.write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return path


def test_characters_that_are_none_are_told_also_where_nothing_changed() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        first = kb.add(Document("Rye is\x00 sown.", id="a"))
        second = kb.add(Document("Rye is\ud800 sown.", id="a"))
    assert (first.documents, second.unchanged) == (1, 1)
    assert [report.notes[0].partition(" (")[0] for report in (first, second)] == [
        "api#a: 1 character that is none",
        "api#a: 1 character that is none",
    ]


def test_two_records_of_one_id_are_told_and_one_record_twice_is_not(tmp_path: Path) -> None:
    one, other = {"id": "1", "text": "Delta is black."}, {"id": "1", "text": "Delta is white."}
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        (note,) = kb.ingest(_records(tmp_path / "two.jsonl", one, other)).notes
        assert "two.jsonl#1: another text of this id came before it" in note
        assert kb.ingest(_records(tmp_path / "same.jsonl", one, one)).notes == ()


def test_the_command_prints_it(tmp_path: Path) -> None:
    one, other = {"id": "1", "text": "Delta is black."}, {"id": "1", "text": "Delta is white."}
    given = ["--kb", str(tmp_path / "kb"), "ingest", str(_records(tmp_path / "two.jsonl", one, other))]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 0
    assert "two.jsonl#1: another text of this id" in done.output


def test_an_upload_tells_it_over_all_of_its_batches(tmp_path: Path) -> None:
    records = [{"id": str(number % 20), "text": f"Barn {number} is\x00 red."} for number in range(40)]
    with opened(tmp_path / "kb") as kb, served(kb) as live:
        body = _records(tmp_path / "many.jsonl", *records).read_bytes()
        job = live.client.post("/documents", params={"name": "many.jsonl"}, content=body, headers=WRITER)
        with live.client.stream("GET", job.headers["Location"], headers={"Accept": "text/event-stream"}) as events:
            list(events.iter_lines())
        notes = live.client.get(job.headers["Location"]).json()["result"]["notes"]
    assert (len(notes), notes[-1]) == (21, "40 more of such notes")
