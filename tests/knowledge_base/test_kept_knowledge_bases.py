"""Knowledge bases that earlier versions wrote still open, and answer as they did.

``tests/kept/schema_1.tar.xz`` was written by the version before modules were moved into rooms (schema version 1): the
demonstration with every method built, embedded by ``HashEmbedder``, and one kept answer. The JSON file beside it lists
the hits that version returned.
"""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

KEPT = Path(__file__).parents[1] / "kept"
EXPECTED = json.loads((KEPT / "schema_1.json").read_text(encoding="utf-8"))
QUESTION = "What is the seeding rate of lentil LT 7 in the River Zone?"
METHODS = sorted(EXPECTED.keys() - {"quads"})
AS_THEN = {
    "cg_rag": "cg_rag:aggregation=mean",
    "og_rag": "og_rag:cover=greedy",
    "sire_rag": "sire_rag:per_document=false",
}
"""How a method is asked that ranked in another way by default when the hits were listed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kept")
    with tarfile.open(KEPT / "schema_1.tar.xz") as archive:
        archive.extractall(path, filter="data")
    return path


@pytest.fixture
def kept(folder: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder()) as opened:
        yield opened


def test_a_kept_knowledge_base_opens_whole_and_healthy(kept: KnowledgeBase) -> None:
    assert len(kept.store) == EXPECTED["quads"]
    assert [finding for finding in kept.doctor() if finding.fault] == []


@pytest.mark.parametrize("method", METHODS)
def test_a_method_of_a_kept_knowledge_base_finds_what_it_found(kept: KnowledgeBase, method: str) -> None:
    assert [hit.iri for hit in kept.retrieve(QUESTION, method=AS_THEN.get(method, method), k=5)] == EXPECTED[method]


def test_a_kept_knowledge_base_takes_new_documents(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rye.md").write_text("# Rye\n\nRye is sown in October, 3 cm deep.\n", encoding="utf-8")
    with KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder()) as opened:
        opened.ingest(tmp_path / "rye.md")
        assert "October" in opened.ask("When is rye sown?").text
        opened.forget("Rye")
        assert [finding for finding in opened.doctor() if finding.fault] == []
