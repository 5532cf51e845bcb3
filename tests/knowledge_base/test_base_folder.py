"""A folder of something else gets no files of a knowledge base."""

from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidSettings
from tests.final_states import opened


def test_a_folder_of_documents_becomes_no_knowledge_base(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
        (tmp_path / name).write_text("The lamp is green.", encoding="utf-8")
    with pytest.raises(InvalidSettings, match=r"a folder of something else \(a\.txt, b\.txt, c\.txt and 1 more\)"):
        KnowledgeBase(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_becomes_no_knowledge_base(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("The lamp is green.", encoding="utf-8")
    with pytest.raises(InvalidSettings, match="is a file, and a knowledge base is a folder"):
        KnowledgeBase(tmp_path / "notes")
    assert [path.name for path in tmp_path.iterdir()] == ["notes"]


@pytest.mark.parametrize("names", [[], [".gitkeep", "lost+found"], ["models", "kgrag.toml", "writes.jsonl"]])
def test_a_folder_without_anything_else_becomes_one_and_may_get_files_later(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir()
    with opened(tmp_path) as kb:
        assert kb.store.revision == 0
    (tmp_path / "notes.txt").write_text("Mine.", encoding="utf-8")
    with opened(tmp_path) as kb:
        assert kb.store.revision == 0
