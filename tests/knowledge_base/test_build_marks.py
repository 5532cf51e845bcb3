"""A build that was cut short is known as one, by every way of asking, until a build of the method returns."""

import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase, plugins, shacl
from kgrag.cli import app
from kgrag.errors import NotBuilt, StorageFailed
from kgrag.knowledge_base import build_marks
from kgrag.resources import folder
from tests.conftest import DEMO
from tests.cut_short import content, filled, killed_after, options

METHODS = sorted(plugins.methods())


@pytest.mark.parametrize("method", METHODS)
def test_a_build_that_was_cut_short_at_any_change_is_named_until_it_is_finished(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    with filled() as kb:
        kb.build(method, **options(method))
        whole, revisions = content(kb), kb.store.revision
        assert not build_marks.unfinished(kb.store)
    with filled() as kb:
        begun = kb.store.revision
    for commits in range(1, revisions - begun + 1):
        with filled() as kb:
            with killed_after(commits), pytest.raises(StorageFailed):
                kb.build(method, **options(method))
            if begun + commits == revisions:  # that was the mark of the end itself
                assert not build_marks.unfinished(kb.store)
                continue
            assert next(finding.check for finding in kb.doctor() if not finding.fault) == "unfinished"
            assert list(kb.stats()["unfinished_builds"]) == [method]
            try:
                caplog.clear()
                answer = kb.ask("What is the storage guideline of Soybean?", method=method)
                assert "did not come to its end" in answer.explain[0]
                assert [r.levelno for r in caplog.records if "did not come to its end" in r.message] == [
                    logging.WARNING
                ]
            except NotBuilt:
                pass
            kb.build(method, **options(method))
            assert content(kb) == whole
            assert not build_marks.unfinished(kb.store)
            assert [finding for finding in kb.doctor() if finding.check == "unfinished"] == []
            assert shacl.validate(kb.store, shacl.graph_shapes()) == []


def test_a_dry_run_and_a_build_that_changes_nothing_write_no_mark(kb: KnowledgeBase) -> None:
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    before = len(kb.store)
    kb.build("sire_rag", dry_run=True)
    assert len(kb.store) == before
    kb.build("sire_rag")
    before = len(kb.store), kb.store.revision
    kb.build("sire_rag")
    assert (len(kb.store), kb.store.revision) == before


def test_stats_of_a_method_say_since_when_its_build_is_unfinished(tmp_path: Path) -> None:
    with filled(tmp_path / "k") as kb, killed_after(1), pytest.raises(StorageFailed):
        kb.build("poly_rag", **options("poly_rag"))
    run = CliRunner().invoke(app, ["stats", "poly_rag", "--kb", str(tmp_path / "k")])
    assert "build_unfinished_since" in run.stdout


def test_a_later_build_that_is_cut_short_is_named_too(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    kb.build("sire_rag")
    (tmp_path / "more.txt").write_text("Quinoa is sown in May. Quinoa is harvested in September in Peru.")
    kb.ingest(tmp_path / "more.txt")
    with killed_after(1), pytest.raises(StorageFailed):
        kb.build("sire_rag")
    assert list(build_marks.unfinished(kb.store)) == ["sire_rag"]
    kb.build("sire_rag")
    assert build_marks.unfinished(kb.store) == {}
