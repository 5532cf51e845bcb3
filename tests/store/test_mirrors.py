"""An export, and the SPARQL server that was filled from it."""

import json
import subprocess
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from benchmarks.oxigraph_server import OxigraphServer, program
from kgrag import KnowledgeBase
from kgrag.cli import app
from kgrag.errors import InvalidRDF, StorageFailed
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.store.transfer import manifest_path
from kgrag.testing import HashEmbedder


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        kb.add(Document("Lentil is sown in March.", "Lentil"))
        kb.export(tmp_path / "mirror.nq.gz")
    return tmp_path / "mirror.nq.gz"


@pytest.mark.skipif(program() is None, reason="the program `oxigraph` (PyPI package) is absent")
def test_a_mirror_that_lacks_a_quad_is_told_from_a_whole_one(exported: Path, tmp_path: Path) -> None:
    quads = json.loads(manifest_path(exported).read_text())["quads"]
    loaded = [str(program()), "load", "--location", str(tmp_path / "mirror"), "--file", str(exported)]
    subprocess.run(loaded, check=True, capture_output=True)
    with OxigraphServer(tmp_path / "mirror") as server:
        compared = ["export", str(exported), "--mirror", f"{server.address}/query"]
        whole = CliRunner().invoke(app, compared)
        assert (whole.exit_code, f"{quads} at" in whole.output) == (0, True)
        gone = "DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { SELECT * { GRAPH ?g { ?s ?p ?o } } LIMIT 1 }"
        httpx.post(f"{server.address}/update", data={"update": gone}, trust_env=False).raise_for_status()
        lacking = CliRunner().invoke(app, compared)
        assert (lacking.exit_code, f"{quads - 1} at" in lacking.output) == (1, True)


def test_an_export_without_its_manifest_is_compared_with_nothing(exported: Path) -> None:
    manifest_path(exported).unlink()
    told = CliRunner().invoke(app, ["export", str(exported), "--mirror", "http://127.0.0.1:9/"])
    assert isinstance(told.exception, InvalidRDF)


def test_an_export_whose_manifest_cannot_be_written_leaves_the_one_before(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in exported.parent.iterdir()}
    written = Path.write_text

    def full(path: Path, text: str, **options: str) -> int:
        if path.suffix != ".json":
            return written(path, text, **options)
        written(path, "{", encoding="utf-8")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with (
        KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb,
        pytest.raises(StorageFailed, match="cannot be written: .*No space left"),
    ):
        kb.export(exported)
    assert {path.name: path.read_bytes() for path in exported.parent.iterdir()} == before
