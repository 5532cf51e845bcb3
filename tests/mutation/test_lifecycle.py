"""What a knowledge base says of itself comes out so after every step of its life, on disk."""

from pathlib import Path

import pytest

from benchmarks.audit_mutations import everything
from kgrag import KnowledgeBase
from kgrag.audit.recomputation import recomputed
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder


@pytest.fixture
def lived(tmp_path: Path) -> KnowledgeBase:
    kb = KnowledgeBase(tmp_path / "a.kb", settings=Settings(), embedder=HashEmbedder())
    everything(kb, tmp_path)
    return kb


def test_updates_ingests_rebuilds_forgetting_and_an_import_leave_nothing_to_be_found(
    lived: KnowledgeBase, tmp_path: Path
) -> None:
    (tmp_path / "rye.md").write_text("# Rye\n\nRye is sown in October, 3 cm deep.\n", encoding="utf-8")

    def rebuild() -> None:
        for name in ("sire_rag", "poly_rag", "cg_rag"):
            lived.build(name)

    with lived:
        for step in (
            lambda: lived.update("INSERT DATA { GRAPH <urn:x> { <urn:a> <urn:b> 1 } }"),
            lambda: lived.update("DELETE { GRAPH ?g { ?s ?p 1 } } WHERE { GRAPH ?g { ?s ?p 1 FILTER(?s = <urn:a>) } }"),
            lambda: lived.ingest(tmp_path / "rye.md"),
            rebuild,
            lambda: lived.forget("Rye"),
            rebuild,
            lambda: lived.export(tmp_path / "whole.nq"),
        ):
            step()
            assert list(recomputed(lived.store)) == []
    with KnowledgeBase(tmp_path / "b.kb", settings=Settings(), embedder=HashEmbedder()) as copy:
        copy.store.load(tmp_path / "whole.nq")
        assert list(recomputed(copy.store)) == []
    with KnowledgeBase(tmp_path / "a.kb", settings=Settings(), embedder=HashEmbedder()) as again:
        again.backup(tmp_path / "kept")
    with KnowledgeBase(tmp_path / "kept", settings=Settings(), embedder=HashEmbedder()) as restored:
        restored.build("sire_rag")
        assert list(recomputed(restored.store)) == []
