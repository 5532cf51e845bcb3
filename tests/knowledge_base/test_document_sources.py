"""Sources: what documents come from has a name and a root, and no place belongs to two."""

import shutil
from pathlib import Path

import pytest

from kgrag import Document, KnowledgeBase, queries
from kgrag.errors import InputError, UnknownName, UnreadableDocument
from tests.final_states import opened


def write(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"The lamp of {folder.name} {name} is green.")
    return folder


def known(kb: KnowledgeBase) -> list[tuple[str, str, str, int]]:
    return [(one.name, one.kind, Path(one.root).name, one.documents) for one in kb.sources()]


def test_a_folder_a_file_and_a_feed_are_sources(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.sync(write(tmp_path / "docs", "a.txt", "b/c.txt"))
    kb.ingest(write(tmp_path / "single", "x.txt", "y.txt") / "x.txt")
    kb.add(Document("Rye is sown in October.", id="1"), feed="crm")
    kb.add(Document("Oats are sown in May.", url="https://example.org/oats"))
    assert known(kb) == [
        ("api", "feed", "api", 0),
        ("crm", "feed", "crm", 1),
        ("docs", "folder", "docs", 2),
        ("single", "files", "single", 1),
    ]
    docs = kb.sources()[2]
    assert docs.created <= docs.synced
    assert kb.sources()[3].synced == ""
    assert [finding.message for finding in kb.doctor() if finding.fault] == []


def test_a_source_is_synced_by_its_name(kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = write(tmp_path / "p1" / "docs", "a.txt", "b.txt")
    kb.sync(docs, name="handbook")
    monkeypatch.chdir(tmp_path)
    (docs / "a.txt").unlink()
    assert len(kb.sync("handbook").forgotten) == 1
    assert known(kb) == [("handbook", "folder", "docs", 1)]
    kb.sync(docs, name="manual")
    assert known(kb) == [("manual", "folder", "docs", 1)]
    with pytest.raises(UnreadableDocument):
        kb.sync("handbook")


def test_folders_of_one_name_are_two_sources_and_a_path_comes_before_a_name(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for parent in ("p1", "p2"):
        write(tmp_path / parent / "docs", f"{parent}.txt")
        monkeypatch.chdir(tmp_path / parent)
        assert kb.sync("docs").forgotten == ()
    assert known(kb) == [("docs", "folder", "docs", 1), ("docs-2", "folder", "docs", 1)]
    with pytest.raises(InputError, match="another source"):
        kb.sync("docs", name="docs")


def test_two_sources_never_have_one_place(kb: KnowledgeBase, tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", "a.txt", "inner/b.txt")
    kb.sync(docs / "inner")
    assert known(kb) == [("inner", "folder", "inner", 1)]
    kb.sync(docs)
    assert known(kb) == [("docs", "folder", "docs", 2)]
    kb.sync(docs / "inner")  # a part of it
    kb.ingest(docs / "a.txt")
    assert known(kb) == [("docs", "folder", "docs", 2)]
    with pytest.raises(InputError, match="part of the source 'docs'"):
        kb.sync(docs / "inner", name="inner")


def test_a_moved_root_is_a_rename(kb: KnowledgeBase, tmp_path: Path) -> None:
    old = write(tmp_path / "docs", "a.txt", "b/c.txt")
    (old / "r.jsonl").write_text('{"id": "1", "text": "The first record."}\n')
    kb.sync(old)
    before = {one.iri for one in kb.documents()}
    where = {"location": f"{old}/a.txt"}
    assert kb.retrieve("lamp", where=where)
    shutil.move(old, tmp_path / "elsewhere")
    assert kb.move_source("docs", tmp_path / "elsewhere") == 3
    assert known(kb) == [("docs", "folder", "elsewhere", 3)]
    assert not kb.retrieve("lamp", where=where)
    assert kb.retrieve("lamp", where={"location": f"{tmp_path}/elsewhere/a.txt"})
    done = kb.sync("docs")
    assert (done.ingested.documents, done.forgotten, done.misplaced) == (0, (), 0)
    assert {one.iri for one in kb.documents()} == before
    (tmp_path / "elsewhere" / "r.jsonl").write_text('{"id": "2", "text": "The second record."}\n')
    assert len(kb.sync("docs").forgotten) == 1
    assert [finding.message for finding in kb.doctor() if finding.fault] == []


def test_a_move_that_makes_no_sense_is_refused(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.sync(write(tmp_path / "docs", "a.txt"))
    kb.sync(write(tmp_path / "other", "a.txt"))
    kb.add(Document("Rye is sown in October.", id="1"))
    for name, root, error, message in (
        ("nothing", tmp_path / "docs", UnknownName, "no source 'nothing'"),
        ("api", tmp_path / "docs", InputError, "is a feed"),
        ("docs", tmp_path / "missing", InputError, "is no folder"),
        ("docs", tmp_path / "other", InputError, "crosses the source 'other'"),
        ("docs", tmp_path, InputError, "crosses the source 'other'"),
    ):
        with pytest.raises(error, match=message):
            kb.move_source(name, root)
    with pytest.raises(InputError, match="is a feed"):
        kb.sync("api")


def test_the_sources_of_an_earlier_knowledge_base_are_registered_at_its_next_opening(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    docs = write(tmp_path / "docs", "a.txt", "b/c.txt")
    with opened(tmp_path / "kb") as kb:
        kb.sync(docs)
        kb.add(Document("Rye is sown in October.", id="1"))
        catalogue = kb.store.names.catalogue
        of_before = f"DELETE WHERE {{ GRAPH {catalogue} {{ ?s a kg:Source ; ?p ?o }} }}"
        kb.store.update(f"PREFIX kg: <https://w3id.org/kgrag/ns#> {of_before}", graphs=[])
        assert kb.sources() == []
        assert "kg:Source" in queries.bind("sources/registered", catalogue=catalogue)
    with opened(tmp_path / "kb") as kb:
        assert known(kb) == [("api", "feed", "api", 1), ("docs", "files", "docs", 2)]
        (line,) = [record.message for record in caplog.records if "had none yet" in record.message]
        assert "docs" in line
    caplog.clear()
    with opened(tmp_path / "kb") as kb:
        kb.sync(docs)
        assert known(kb) == [("api", "feed", "api", 1), ("docs", "folder", "docs", 2)]
    assert not [record for record in caplog.records if "had none yet" in record.message]


def test_a_document_with_an_id_and_a_location_is_in_its_feed(kb: KnowledgeBase) -> None:
    kb.add(Document("The lamp is green.", id="7", location="/lamps/seven.txt"), feed="crm")
    assert known(kb) == [("crm", "feed", "crm", 1)]
    assert kb.documents()[0].locations == ("/lamps/seven.txt", "crm#7")
    (hit,) = kb.retrieve("lamp", where={"location": {"prefix": "/lamps/"}})
    assert hit.sources[0].place is not None
    assert hit.sources[0].place.address == "/lamps/seven.txt"
    for text, location in (("The lamp is blue.", "/lamps/7.txt"), ("The lamp is blue.", "/7.txt"), ("It is red.", "")):
        kb.add(Document(text, id="7", location=location), feed="crm")
        assert [one.locations for one in kb.documents()] == [(location, "crm#7") if location else ("crm#7",)]
    assert kb.remove("7", feed="crm").remains == ()
    assert kb.documents() == []
    assert [finding.message for finding in kb.doctor() if finding.fault] == []


def test_a_location_in_a_folder_that_is_synced_is_of_that_folder_too(kb: KnowledgeBase, tmp_path: Path) -> None:
    docs = write(tmp_path / "docs", "a.txt")
    kb.sync(docs)
    kb.add(Document("The lamp is green.", id="7", location=f"{docs}/gone.txt"), feed="crm")
    assert known(kb) == [("crm", "feed", "crm", 1), ("docs", "folder", "docs", 2)]
    assert kb.sync(docs).misplaced == 1
    assert known(kb) == [("crm", "feed", "crm", 1), ("docs", "folder", "docs", 1)]


def test_of_two_documents_of_one_id_and_two_locations_the_later_stays(kb: KnowledgeBase) -> None:
    kb.add_many(Document(f"Lamp {n} is green.", id="7", location=f"/{n}.txt") for n in range(2))
    assert [one.locations for one in kb.documents()] == [("/1.txt", "api#7")]
