"""``kgrag sync``: a folder and the knowledge base in step."""

from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import UnreadableDocument
from kgrag.stages import documents


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "manuals"
    path.mkdir()
    for name in ("filters", "pumps", "valves"):
        (path / f"{name}.txt").write_text(f"The {name} of the X200 are changed every year.")
    return path


def titles(kb: KnowledgeBase) -> dict[str, int]:
    return {Path(one.locations[0]).name: len(one.locations) for one in documents.listing(kb.store)}


def test_a_second_pass_changes_nothing(kb: KnowledgeBase, folder: Path) -> None:
    assert kb.sync(folder).ingested.documents == 3
    revision = kb.store.revision
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


def test_a_copy_that_is_deleted_only_takes_its_place_along(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "more").mkdir()
    (folder / "more" / "filters.txt").write_text((folder / "filters.txt").read_text())
    kb.sync(folder)
    assert titles(kb)["filters.txt"] == 2
    (folder / "more" / "filters.txt").unlink()
    done = kb.sync(folder)
    assert (done.misplaced, done.forgotten, titles(kb)["filters.txt"]) == (1, (), 1)


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
