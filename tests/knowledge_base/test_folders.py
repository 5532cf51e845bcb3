"""``kgrag sync``: a folder and the knowledge base in step."""

import time
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InputError, UnreadableDocument
from kgrag.index import vector_spaces
from kgrag.model import Document
from kgrag.text import documents, ingestion
from kgrag.text.readers import accepted_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "manuals"
    path.mkdir()
    for name in ("filters", "pumps", "valves"):
        (path / f"{name}.txt").write_text(f"The {name} of the X200 are changed every year.")
    return path


def titles(kb: KnowledgeBase) -> dict[str, int]:
    return {Path(one.locations[0]).name: len(one.locations) for one in documents.listing(kb.store)}


def locations(kb: KnowledgeBase) -> list[str]:
    return [location for one in documents.listing(kb.store) for location in one.locations]


def record(kb: KnowledgeBase, file: Path, location: str) -> None:
    """Ingest a file under the location that an earlier version gave it."""
    ingestion.ingest([Document(file.read_text(), title=file.stem, location=location)], store=kb.store)


def test_what_changed_or_was_renamed_is_not_only_forgotten(kb: KnowledgeBase, folder: Path) -> None:
    kb.sync(folder)
    (folder / "filters.txt").write_text("The filters of the X200 are changed every month.")
    (folder / "pumps.txt").rename(folder / "spare.txt")
    (folder / "valves.txt").unlink()
    done = kb.sync(folder)
    names = {one.document: one.title for one in done.forgotten}
    told = {names[document]: what for document, what in done.continued.items()}
    assert told.pop("pumps", "moved") == "moved"  # under its own name it stays one document
    assert (told, "valves" in names.values()) == ({"filters": "changed"}, True)
    assert [Path(new).name for _, new in done.moved] == ["spare.txt"]


def test_a_second_pass_changes_nothing(kb: KnowledgeBase, folder: Path) -> None:
    assert kb.sync(folder).ingested.documents == 3
    revision = kb.store.revision
    time.sleep(1.1)  # a time that is written has seconds
    done = kb.sync(folder)
    assert (done.ingested.unchanged, done.forgotten, kb.store.revision) == (3, (), revision)


def test_new_changed_and_deleted_files_are_followed_in_one_pass(kb: KnowledgeBase, folder: Path) -> None:
    kb.sync(folder)
    (folder / "pumps.txt").write_text("Pumps last for ever.")
    (folder / "valves.txt").unlink()
    (folder / "seals.txt").write_text("Seals are new.")
    done = kb.sync(folder)
    assert (done.ingested.documents, len(done.forgotten)) == (2, 2)
    assert set(titles(kb)) == {"filters.txt", "pumps.txt", "seals.txt"}
    assert kb.retrieve("pumps", k=9)[0].text == "Pumps last for ever."


def test_files_with_one_text_are_named_whether_they_are_one_document_or_two(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "more").mkdir()
    for copy in (folder / "more" / "filters.txt", folder / "copy.txt"):
        copy.write_text((folder / "filters.txt").read_text())
    done = kb.sync(folder)
    assert done.ingested.duplicates == 1
    first = str(folder / "copy.txt")
    assert set(done.same) == {(str(folder / name), first) for name in ("filters.txt", "more/filters.txt")}
    (folder / "copy.txt").unlink()
    assert kb.sync(folder).moved == ()


def test_a_renamed_folder_or_file_is_said_to_have_moved_and_lost_nothing(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "old").mkdir()
    (folder / "pumps.txt").rename(folder / "old" / "pumps.txt")
    kb.sync(folder)
    (folder / "old").rename(folder / "new")
    (folder / "valves.txt").rename(folder / "taps.txt")
    done = kb.sync(folder)
    moves = [("old/pumps.txt", "new/pumps.txt"), ("valves.txt", "taps.txt")]
    assert set(done.moved) == {(str(folder / before), str(folder / after)) for before, after in moves}
    assert (done.misplaced, [one.title for one in done.forgotten]) == (0, ["valves"])
    assert kb.sync(folder).moved == ()


def test_a_source_whose_folder_was_renamed_is_named_and_can_be_moved_onto_the_other(
    kb: KnowledgeBase, folder: Path
) -> None:
    kb.sync(folder)
    other = folder.rename(folder.with_name("handbooks"))
    with pytest.raises(UnreadableDocument, match="kgrag sources --move manuals --to FOLDER"):
        kb.sync(folder)
    assert kb.sync(other).absent == (("manuals", str(folder)),)
    assert kb.move_source("manuals", other) == 3
    assert [(one.name, one.root) for one in kb.sources()] == [("manuals", str(other))]
    assert all(location.startswith(str(other)) for location in locations(kb))


def test_a_copy_that_is_deleted_only_takes_its_place_along(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "filters.txt").write_text((folder / "filters.txt").read_text())
    kb.sync(folder)
    assert titles(kb)["filters.txt"] == 2
    (folder / "more" / "filters.txt").unlink()
    since = kb.store.revision
    done = kb.sync(folder)
    assert (done.misplaced, done.forgotten, titles(kb)["filters.txt"]) == (1, (), 1)
    assert not any(vector_spaces.changed(space, store=kb.store, since=since) for space in vector_spaces.spaces())


def test_a_file_that_cannot_be_read_now_is_not_forgotten(kb: KnowledgeBase, folder: Path) -> None:
    kb.sync(folder)
    (folder / "pumps.txt").write_bytes(b"")
    done = kb.sync(folder)
    assert len(done.ingested.broken) == 1
    assert set(titles(kb)) == {"filters.txt", "pumps.txt", "valves.txt"}


def test_what_came_from_elsewhere_stays(kb: KnowledgeBase, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "manuals-2"
    other.mkdir()
    (other / "tanks.txt").write_text("Tanks are large.")
    kb.ingest(other)
    kb.sync(folder)
    assert "tanks.txt" in titles(kb)


def test_what_was_mapped_from_a_file_of_the_folder_stays(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "parts.jsonld").write_text('{"@graph": [{"@type": "Part", "name": "Seal 7", "size": "9 mm"}]}')
    kb.build("og_rag", mapped=folder)
    assert kb.sync(folder).forgotten == ()
    assert "parts.jsonld" in titles(kb)


def test_an_empty_folder_deletes_nothing(kb: KnowledgeBase, folder: Path) -> None:
    kb.sync(folder)
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(UnreadableDocument, match="no files"):
        kb.sync(folder)
    assert len(titles(kb)) == 3


def test_folders_of_one_relative_name_in_two_places_both_stay(
    kb: KnowledgeBase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for project in ("north", "south"):
        (tmp_path / project / "docs").mkdir(parents=True)
        (tmp_path / project / "docs" / f"{project}.txt").write_text(f"Rye grows in the {project}.")
        monkeypatch.chdir(tmp_path / project)
        assert kb.sync("docs").forgotten == ()
    assert set(titles(kb)) == {"north.txt", "south.txt"}


@pytest.mark.parametrize("spelling", ["manuals", "link", "link/../manuals", "{}/manuals", "{}/link/"])
def test_a_deleted_file_is_forgotten_however_its_folder_was_and_is_written(
    kb: KnowledgeBase, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    (tmp_path / "link").symlink_to(folder)
    monkeypatch.chdir(tmp_path)
    kb.ingest("manuals")
    (folder / "pumps.txt").unlink()
    assert [one.title for one in kb.sync(spelling.format(tmp_path)).forgotten] == ["pumps"]
    kb.ingest(spelling.format(tmp_path))
    assert locations(kb) == [str(folder / "filters.txt"), str(folder / "valves.txt")]


def test_a_link_that_is_deleted_takes_its_document_along(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "tanks.txt").symlink_to(folder / "pumps.txt")
    kb.sync(folder)
    (folder / "tanks.txt").unlink()
    assert [one.title for one in kb.sync(folder).forgotten] == ["tanks"]


def test_a_file_that_cannot_be_read_now_stays_when_its_folder_is_written_otherwise(
    kb: KnowledgeBase, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.sync(folder)
    (folder / "pumps.txt").write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    done = kb.sync("manuals")
    assert done.forgotten == ()
    assert done.ingested.broken[0].startswith("manuals/pumps.txt: is empty")


@pytest.mark.parametrize("typed", ["manuals/pumps.txt", "../x/manuals/pumps.txt", "pumps.txt"])
def test_a_relative_place_gives_way_to_the_place_of_the_same_document(
    kb: KnowledgeBase, folder: Path, typed: str
) -> None:
    kb.sync(folder)
    record(kb, folder / "pumps.txt", typed.replace("x/", ""))
    assert (kb.sync(folder).misplaced, str(folder / "pumps.txt") in locations(kb), len(locations(kb))) == (1, True, 3)
    (folder / "pumps.txt").unlink()
    assert [one.title for one in kb.sync(folder).forgotten] == ["pumps"]


def test_no_document_is_forgotten_for_a_relative_place(
    kb: KnowledgeBase, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tanks.txt").write_text("Tanks are large.")
    record(kb, tmp_path / "tanks.txt", "manuals/tanks.txt")
    monkeypatch.chdir(tmp_path)
    done = kb.sync("manuals")
    assert (done.forgotten, done.undecided) == ((), ("manuals/tanks.txt",))
    assert "tanks.txt" in titles(kb)


def test_a_relative_place_with_another_ending_is_another_place(kb: KnowledgeBase, folder: Path) -> None:
    record(kb, folder / "pumps.txt", "archive/pumps.txt")
    kb.sync(folder)
    (folder / "pumps.txt").unlink()
    assert kb.sync(folder).forgotten == ()
    assert "archive/pumps.txt" in locations(kb)


def test_an_absolute_place_that_was_recorded_through_a_link_is_followed(
    kb: KnowledgeBase, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(folder)
    for file in folder.iterdir():
        record(kb, file, f"{tmp_path}/link/{file.name}")
    (folder / "pumps.txt").unlink()
    done = kb.sync(folder)
    assert ([one.title for one in done.forgotten], done.misplaced) == (["pumps"], 2)
    assert locations(kb) == [str(folder / "filters.txt"), str(folder / "valves.txt")]


@pytest.mark.parametrize("name", ["a#b", "#b", "a#/b"])
def test_a_folder_with_a_number_sign_in_its_path_is_followed(kb: KnowledgeBase, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir(parents=True)
    for file in ("x.txt", "#y.txt"):
        (tmp_path / name / file).write_text(f"This is {file}.")
    kb.sync(tmp_path / name)
    (tmp_path / name / "#y.txt").unlink()
    assert len(kb.sync(tmp_path / name).forgotten) == 1
    assert locations(kb) == [str(tmp_path / name / "x.txt")]


def test_the_name_of_a_record_leads_into_no_other_folder(kb: KnowledgeBase, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "/../manuals/tanks", "text": "Tanks are large."}')
    kb.ingest(tmp_path / "a.jsonl")
    assert kb.sync(folder).forgotten == ()


def test_a_document_is_forgotten_by_its_path_in_any_spelling(
    kb: KnowledgeBase, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.ingest(folder)
    monkeypatch.chdir(folder)
    assert [one.title for one in kb.forget("../manuals/pumps.txt")] == ["pumps"]


def test_a_changed_record_of_a_file_with_a_bad_line_replaces_the_old_one_and_no_other_is_lost(
    kb: KnowledgeBase, folder: Path
) -> None:
    lines = ['{"id": "1", "text": "The pump is red."}', '{"id": "2", "text": "The valve is old."}']
    (folder / "records.jsonl").write_text("\n".join(lines))
    kb.sync(folder)
    (folder / "records.jsonl").write_text("\n".join([lines[0].replace("red", "blue"), '{"id": "2", "text": ']))
    assert kb.sync(folder).ingested.broken
    texts = {hit.text for hit in kb.retrieve("pump valve", k=9)}
    assert {"The pump is blue.", "The valve is old."} <= texts
    assert "The pump is red." not in texts


def test_a_changed_file_whose_document_is_in_quarantine_is_reported_and_loses_nothing(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.sync(folder)
    changed = [
        Document("Pumps last for ever.", title=file.stem, location=str(file), media_type="none")
        if file.stem == "pumps"
        else Document(file.read_text(), title=file.stem, location=str(file))
        for file in sorted(folder.glob("*.txt"))
    ]
    monkeypatch.setattr("kgrag.text.readers.read_paths", lambda *_paths, **_options: iter(changed))
    done = kb.sync(folder)
    assert done.ingested.violations
    assert done.forgotten == ()
    assert set(titles(kb)) == {"filters.txt", "pumps.txt", "valves.txt"}


def test_a_broken_file_that_is_accepted_is_none_until_it_changes(kb: KnowledgeBase, folder: Path) -> None:
    torn = folder / "torn.jsonl"
    torn.write_text('{"text": "Sown in June."}\n{"text": \n')
    assert len(kb.sync(folder).ingested.broken) == 1
    with pytest.raises(InputError, match="is not in"):
        kb.sync(folder, accept=[folder.parent / "elsewhere.txt"])
    for done in (kb.sync(folder, accept=[torn]), kb.sync(folder)):
        assert (len(done.ingested.broken), len(done.ingested.accepted), done.forgotten) == (0, 1, ())
    assert accepted_files.listed(folder) == [str(torn)]
    torn.write_text('{"text": "Sown in June."}\n{"text": }\n')
    assert accepted_files.listed(folder) == [f"{torn} (changed or gone since)"]
    again = kb.sync(folder).ingested
    assert (len(again.broken), again.accepted) == (1, ())
    other = folder / "other.txt"
    other.write_text("Rye is sown in October.", encoding="utf-8")
    accepted_files.accept(folder, [other])
    assert accepted_files.listed(folder) == [str(other)]
