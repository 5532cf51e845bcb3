"""Workers in a Spark cluster, met by pyspark; the runner is that of the guide."""

from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.workers import shard_source

pytest.importorskip("pyspark", reason="Spark is not installed: pip install pyspark; it needs Java")

_PAGE = folder("guide") / "extending" / "runner.md"


def test_the_runner_of_the_guide_makes_what_an_intake_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import SparkSession

    monkeypatch.setattr(shard_source, "_FILES_PER_TASK", 2)
    (texts := tmp_path / "texts").mkdir()
    for number in range(7):
        (texts / f"{number}.txt").write_text(f"Oats of field {number} are sown in May.", encoding="utf-8")
    given: dict[str, type] = {}
    code = _PAGE.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
    exec(code.partition("with KnowledgeBase")[0], given)
    local = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = (
        local.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )
    try:
        with (
            KnowledgeBase(None, settings=Settings(), embedder=HashEmbedder()) as plain,
            KnowledgeBase(None, settings=Settings(), embedder=HashEmbedder()) as kb,
        ):
            report = kb.ingest(texts, runner=given["SparkRunner"], shards=tmp_path / "shards")
            assert report == plain.ingest(texts)
            assert sorted(map(str, kb.store.graphs())) == sorted(map(str, plain.store.graphs()))
    finally:
        session.stop()
