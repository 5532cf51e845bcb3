"""One place holds one document: files read again, records by their ids, and the Python API without files."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kgrag import Document, KnowledgeBase
from kgrag.errors import InputError, StorageFailed, UnknownName
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.cut_short import killed_after

OLD, NEW = "The pump runs at 3 bar.", "The pump runs at 5 bar."


def texts(kb: KnowledgeBase) -> list[str]:
    return sorted(hit.text for hit in kb.retrieve("pump valve seal bar", k=50))


def write(file: Path, *records: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def test_a_changed_file_that_is_ingested_again_leaves_no_older_version(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "pump.txt"
    for text in (OLD, NEW):
        file.write_text(text)
        report = kb.ingest(file)
    assert (report.superseded, texts(kb)) == (1, [NEW])


def test_a_folder_that_is_ingested_again_replaces_changed_files_and_leaves_deleted_ones(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "pump.txt").write_text(OLD)
    (tmp_path / "valve.txt").write_text("The valve is red.")
    kb.ingest(tmp_path)
    (tmp_path / "pump.txt").write_text(NEW)
    (tmp_path / "valve.txt").unlink()
    kb.ingest(tmp_path)
    assert texts(kb) == [NEW, "The valve is red."]


def test_a_record_that_changed_or_left_its_file_is_replaced(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    kb.ingest(write(file, {"id": "T-7", "text": OLD}, {"id": "T-8", "text": "The seal is old."}))
    report = kb.ingest(write(file, {"id": "T-7", "text": NEW}))
    assert (report.superseded, texts(kb)) == (2, [NEW])


def test_a_changed_field_is_a_change(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    kb.ingest(write(file, {"id": "T-7", "text": OLD, "cites": ["A"]}))
    kb.ingest(write(file, {"id": "T-7", "text": OLD, "cites": ["B"]}))
    cited = kb.query("SELECT ?c { GRAPH ?g { ?d kg:cites ?c } }")
    assert cited.values() == [("B",)]  # type: ignore[union-attr]


def test_two_records_with_one_text_keep_their_ids(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.ingest(write(tmp_path / "records.jsonl", {"id": "T-7", "text": OLD}, {"id": "T-8", "text": OLD}))
    assert sorted(one.id for one in kb.documents()) == ["T-7", "T-8"]


def test_records_of_one_id_in_two_files_are_two_documents(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name, text in (("a", OLD), ("b", NEW)):
        kb.ingest(write(tmp_path / f"{name}.jsonl", {"id": "1", "text": text}))
    assert texts(kb) == [OLD, NEW]


def test_two_records_of_one_id_in_one_file_both_stay(kb: KnowledgeBase, tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", {"id": "1", "text": OLD}, {"id": "1", "text": NEW})
    for _ in range(2):
        kb.ingest(file)
    assert texts(kb) == [OLD, NEW]


def test_a_copy_elsewhere_keeps_the_document_when_one_place_changes(kb: KnowledgeBase, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{OLD}")
    kb.ingest(tmp_path)
    (tmp_path / "a.txt").write_text(NEW)
    kb.ingest(tmp_path / "a.txt")
    assert {Path(one.locations[0]).name for one in kb.documents()} == {"a.txt", "b.txt"}


def test_a_document_is_added_found_replaced_and_removed_without_a_file(kb: KnowledgeBase) -> None:
    kb.add(Document(OLD, id="T-7", title="Pump", url="https://example.org/7", metadata={"tenant": "a", "year": 2026}))
    (stored,) = kb.documents()
    assert (stored.id, stored.title, stored.url, stored.locations) == (
        "T-7",
        "Pump",
        "https://example.org/7",
        ("api#T-7",),
    )
    assert stored.metadata == {"tenant": "a", "year": 2026}
    assert kb.add(Document(NEW, id="T-7")).superseded == 1
    assert texts(kb) == [NEW]
    assert kb.remove("T-7").remains == ()
    assert kb.documents() == []
    with pytest.raises(UnknownName):
        kb.remove("T-7")


def test_many_documents_stream_in_and_of_two_with_one_id_the_later_stays(kb: KnowledgeBase) -> None:
    seen: list[int] = []

    def endless() -> Any:
        for number in range(2500):
            seen.append(number)
            yield Document(f"Seal {number} is new.", id=str(number % 2400))

    counted: list[int] = []
    report = kb.add_many(endless(), feed="crm", progress=lambda _what, done, _of: counted.append(done), embed=False)
    assert (report.documents, report.superseded, len(kb.documents())) == (2500, 100, 2400)
    assert counted[0] <= 1000 < counted[-1]


def test_ids_of_two_feeds_do_not_meet(kb: KnowledgeBase) -> None:
    kb.add(Document(OLD, id="7"), feed="crm")
    kb.add(Document(NEW, id="7"), feed="wiki")
    assert texts(kb) == [OLD, NEW]
    with pytest.raises(InputError, match=r"2 documents are named '7'.*crm#7; wiki#7"):
        kb.forget("7")
    kb.remove("7", feed="crm")
    assert texts(kb) == [NEW]
    kb.forget("7")
    assert kb.documents() == []


def test_a_title_that_two_documents_have_deletes_none_unasked(kb: KnowledgeBase) -> None:
    kb.add_many([Document(OLD, "Pump", id="1"), Document(NEW, "Pump", id="2")])
    with pytest.raises(InputError, match="--all"):
        kb.forget("Pump")
    assert len(kb.documents()) == 2
    assert len(kb.forget("Pump", every=True)) == 2


@pytest.mark.parametrize("wrong", ["a text", b"bytes", {"text": "a"}, 7, None])
def test_what_is_no_document_is_refused_by_name_of_its_type(kb: KnowledgeBase, wrong: Any) -> None:
    with pytest.raises(InputError, match=rf"item 1 is a {type(wrong).__name__}.*kgrag\.Document"):
        kb.add(wrong)


@pytest.mark.parametrize("feed", ["", "a/b", "a#b", " a"])
def test_a_feed_has_a_plain_name(kb: KnowledgeBase, feed: str) -> None:
    with pytest.raises(InputError, match="feed"):
        kb.add(Document(OLD), feed=feed)


def test_an_empty_document_and_odd_metadata_are_refused(kb: KnowledgeBase) -> None:
    with pytest.raises(InputError, match=r"document 1 \(T-1\) has no text"):
        kb.add(Document(" \n", id="T-1"))
    with pytest.raises(InputError, match="metadata field 'a' is a object"):
        kb.add(Document("x", metadata={"a": object()}))


@pytest.mark.parametrize("wrong", [(), (["a.txt"],), (Document("x"),), (7,)])
def test_ingest_says_what_it_takes(kb: KnowledgeBase, wrong: Any) -> None:
    with pytest.raises(InputError):
        kb.ingest(*wrong)


def test_a_document_of_a_citation_graph_is_listed_once_with_its_own_fields_and_forgotten_by_its_iri(
    kb: KnowledgeBase,
) -> None:
    kb.add_many([Document(OLD, "Pump", id="1", cites=("2",)), Document(NEW, "Valve", id="2", metadata={"bar": 5})])
    before = kb.documents()
    kb.build("cg_rag")
    assert kb.documents() == before
    kb.forget(before[0].iri)
    assert kb.documents() == before[1:]


def test_documents_are_listed_by_their_fields(kb: KnowledgeBase) -> None:
    kb.add_many(Document(f"Seal {year}.", id=str(year), metadata={"year": year}) for year in (2024, 2025, 2026))
    assert sorted(one.id for one in kb.documents(where={"year": {"from": 2025}})) == ["2025", "2026"]
    assert [one.id for one in kb.documents(where="?document kgm:year 2024")] == ["2024"]


@pytest.mark.parametrize("commits", [1, 2])
@pytest.mark.parametrize("feed", [True, False])
def test_a_replacement_that_dies_behind_any_change_is_finished_by_the_next_opening(
    tmp_path: Path, feed: bool, commits: int
) -> None:
    file = tmp_path / "pump.txt"

    def replace_by(kb: KnowledgeBase, text: str) -> None:
        file.write_text(text)
        if feed:
            kb.add(Document(text, id="7"))
        else:
            kb.ingest(file)

    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        replace_by(kb, OLD)
        with killed_after(commits), suppress(StorageFailed):
            replace_by(kb, NEW)
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        assert texts(kb) == [NEW]


def test_a_document_whose_replacement_is_in_quarantine_stays(kb: KnowledgeBase) -> None:
    kb.add(Document(OLD, id="7"))
    assert kb.add(Document(NEW, id="7", media_type="none")).violations
    assert texts(kb) == [OLD]
    assert not kb.store.ask("ASK { GRAPH ?g { ?kb <https://w3id.org/kgrag/ns#forgets> ?document } }")
