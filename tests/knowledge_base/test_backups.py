"""A backup and an export hold what cannot be made again, and neither holds damage."""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidRDF, StateError, StorageFailed
from kgrag.model import Prompt
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store import kept_files
from kgrag.testing import HashEmbedder, ScriptedModel

PROMPT = Prompt("test/crop", "Which crop?")


def opened(path: Path, *, reply: str = "rye", **more: object) -> KnowledgeBase:
    model = ScriptedModel(lambda _: reply)
    return KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder(), model=model, **more)  # type: ignore[arg-type]


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A knowledge base with a document, a file of weights, a paid completion and a write log."""
    path = tmp_path / "first.kb"
    with opened(path) as kb:
        kb.ingest(folder("demo") / "texts")
        kb.model.complete([PROMPT])
        (path / "models").mkdir()
        (path / "models" / "some.pt").write_bytes(b"weights")
        (path / "writes.jsonl").write_text("{}\n", encoding="utf-8")
    return path


def damage_largest_block(path: Path) -> Path:
    """Change one byte in the middle of the largest file of triples."""
    largest = max((path / "store").glob("*.sst"), key=lambda file: file.stat().st_size)
    with largest.open("r+b") as file:
        file.seek(largest.stat().st_size // 3)
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x10]))
    return largest


def kept(path: Path) -> tuple[bytes, str, str]:
    with opened(path, reply="wheat") as kb:
        completion = kb.model.complete([PROMPT])[0].text
    return (path / "models" / "some.pt").read_bytes(), completion, (path / "writes.jsonl").read_text(encoding="utf-8")


def test_a_backup_holds_weights_completions_and_the_log_of_writes(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        kb.backup(tmp_path / "copy.kb")
    assert kept(tmp_path / "copy.kb") == (b"weights", "rye", "{}\n")
    assert os.name != "posix" or (tmp_path / "copy.kb").stat().st_mode & 0o077 == 0


def test_a_backup_lists_each_file_with_its_checksum(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        kb.backup(tmp_path / "copy.kb")
        quads = len(kb.store)
    manifest = json.loads((tmp_path / "copy.kb" / "backup.json").read_text(encoding="utf-8"))
    stated = {file["path"]: file["sha256"] for file in manifest["files"]}
    assert {"models/some.pt", "cache/completions.sqlite", "writes.jsonl", "store/CURRENT"} <= stated.keys()
    assert stated["models/some.pt"] == hashlib.sha256(b"weights").hexdigest()
    assert manifest["quads"] == quads


def test_a_backup_holds_the_settings_without_secrets(tmp_path: Path) -> None:
    settings = Settings(
        kb=tmp_path, model="gpt", base_url="https://me:secret@models.example/v1", api_key="secret", concurrency=2
    )
    with KnowledgeBase(settings=settings, embedder=HashEmbedder()) as kb:
        kb.backup(tmp_path / "copy.kb")
    text = (tmp_path / "copy.kb" / "kgrag.toml").read_text(encoding="utf-8")
    assert text == 'base_url = "https://models.example/v1"\nconcurrency = 2\nmodel = "gpt"\n'


def test_a_damaged_store_is_not_backed_up(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        damaged = damage_largest_block(filled)
        with pytest.raises(StorageFailed, match=damaged.name):
            kb.backup(tmp_path / "copy.kb")
    assert [path.name for path in tmp_path.iterdir() if "copy" in path.name] == []


def test_an_export_and_an_import_bring_weights_completions_and_the_log_of_writes(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / "all.nq.gz")
    with opened(tmp_path / "second.kb") as kb:
        kb.import_(tmp_path / "all.nq.gz")
    assert kept(tmp_path / "second.kb") == (b"weights", "rye", "{}\n")


@pytest.mark.parametrize("change", ["lost", "changed"])
def test_an_import_without_the_exported_archive_is_refused(filled: Path, tmp_path: Path, change: str) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / "all.nq")
    archive = tmp_path / "all.nq.files.tar"
    if change == "lost":
        archive.unlink()
    else:
        archive.write_bytes(archive.read_bytes().replace(b"weights", b"heights"))
    with opened(tmp_path / "second.kb") as kb:
        with pytest.raises(InvalidRDF, match=r"all\.nq\.files\.tar"):
            kb.import_(tmp_path / "all.nq")
        assert kb.store.revision == 0


def test_an_import_overwrites_no_other_completions(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / "all.nq")
    with opened(tmp_path / "second.kb", reply="oats") as kb:
        kb.model.complete([PROMPT])
        with pytest.raises(StateError, match=r"completions\.sqlite"):
            kb.import_(tmp_path / "all.nq")


def test_files_of_a_store_at_work_are_not_read_where_others_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store").mkdir()
    for name in ("store/000009.sst", "some.pt"):
        (tmp_path / name).write_bytes(b"weights")
    (stated,) = (asdict(file) for file in kept_files.listing(tmp_path) if file.path == "some.pt")
    digest = kept_files._sha256
    monkeypatch.setattr(kept_files, "_sha256", lambda path: digest(path) if path.name == "some.pt" else 1 / 0)
    assert kept_files.checked(tmp_path, [stated]) == []
    assert kept_files.checked(tmp_path, [{**stated, "path": "../some.pt"}]) == ["../some.pt"]


def test_an_import_that_was_killed_after_its_files_can_be_repeated(filled: Path, tmp_path: Path) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / "all.nq")
    with opened(tmp_path / "second.kb") as kb:
        (tmp_path / "second.kb" / "models").mkdir()
        (tmp_path / "second.kb" / "models" / "some.pt").write_bytes(b"weights")
        assert kb.import_(tmp_path / "all.nq") > 0


def test_an_import_of_half_a_dump_without_its_manifest_is_told_and_found(
    filled: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / "all.nq")
    lines = (tmp_path / "all.nq").read_bytes().splitlines(keepends=True)
    kinds = [b"ns#contentHash>" in line for line in lines]
    (tmp_path / "half.nq").write_bytes(b"".join(lines[: kinds.index(True)]))
    with opened(tmp_path / "half.kb") as kb:
        caplog.clear()
        kb.import_(tmp_path / "half.nq")
        assert "nothing says that half.nq is whole" in caplog.text
        faults = [finding for finding in kb.doctor() if finding.fault]
        assert any("whose document is not stored" in finding.message for finding in faults)


@pytest.mark.parametrize("name", ["cut.nq", "cut.nq.gz"])
def test_a_dump_that_ends_within_a_line_or_a_packed_block_is_refused(filled: Path, tmp_path: Path, name: str) -> None:
    with opened(filled) as kb:
        kb.export(tmp_path / name)
    (tmp_path / f"{name}.manifest.json").unlink()
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) * 2 // 3].rstrip(b".\n ")[:-3])
    with opened(tmp_path / "cut.kb") as kb:
        with pytest.raises(InvalidRDF, match=name):
            kb.import_(tmp_path / name)
        assert kb.store.revision == 0
