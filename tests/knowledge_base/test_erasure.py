"""Erasing a document: no file of the folder has its words afterwards, whatever was built, and whenever the process died."""

import os
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from kgrag import KnowledgeBase, plugins, shacl
from kgrag.errors import EmbeddingMismatch
from kgrag.knowledge_base import erasure, forgetting
from kgrag.llm.extractive import ExtractiveModel
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder
from tests.conftest import DEMO

TITLE = "Zanzibar clove survey"
TEXT = (  # names of no fewer letters than bytes at random do not have
    "The survey of Zanzibar counted cloves in the Mwera valley. "
    "Cloves of Zanzibar are dried for six days by Farida Makungulela.\n\n"
    "Soybean is sown next to the cloves of Farida Makungulela in June, as Section 2 of the Mwera handbook says.\n"
)
SECRETS = ("zanzibar", "mwera", "farida", "makungulela", "clove survey", "dried for six days")


def opened(path: Path) -> KnowledgeBase:
    return KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder(), model=ExtractiveModel())


def fill(path: Path, *, secret: bool = True) -> None:
    texts = path.parent / f"{path.name}-texts"
    texts.mkdir()
    if secret:
        (texts / "survey.md").write_text(f"# {TITLE}\n\n{TEXT}")
    with opened(path) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(DEMO / "texts", *([texts] if secret else []))
        for name in plugins.methods():
            kb.build(name)
        for name in plugins.methods():
            kb.ask("What is the storage guideline of Soybean?", method=name)
            kb.ask("Who dries cloves of Zanzibar?", method=name, keep=True) if secret else None


def places(path: Path) -> dict[str, list[str]]:
    """Return the files whose bytes have a secret, and the secrets."""
    files = {str(file.relative_to(path)): file.read_bytes().lower() for file in path.rglob("*") if file.is_file()}
    return {
        name: found
        for name, content in files.items()
        if (found := [secret for secret in SECRETS if secret.encode() in content])
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("erasing") / "k"
    fill(path)
    return path


@pytest.fixture
def built(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "k"))


def test_forget_alone_leaves_words_in_files(built: Path) -> None:
    before = places(built)
    with opened(built) as kb:
        kb.forget(TITLE)
    assert any(name.startswith("store/") for name in places(built))
    assert "cache/completions.sqlite" in before


def test_no_file_has_a_word_of_an_erased_document(built: Path) -> None:
    with opened(built) as kb:
        done = kb.erase(TITLE)
        assert done.found == ()
        assert done.completions > 0
        assert done.sought > 10
        assert [finding for finding in kb.doctor() if finding.fault] == []
        assert shacl.validate(kb.store, shacl.graph_shapes()) == []
        for name in plugins.methods():
            kb.build(name)
            assert not any(
                secret in hit.text.lower()
                for hit in kb.retrieve("Who dries cloves?", method=name)
                for secret in SECRETS
            )
    assert places(built) == {}


def test_a_short_name_is_found_as_text_and_not_where_bytes_have_its_letters_by_chance(built: Path) -> None:
    """Four letters stand somewhere in a megabyte of anything; a receipt that says "found" for that is a false alarm."""
    drying = built.parent / "drying.md"
    drying.write_text("Drying: the leaves of Abdu, dried by Kirimanjaro.")
    (built / "bytes.bin").write_bytes(b"\0\x12abdu\x01\0" + bytes(1 << 20))
    with opened(built) as kb:
        kb.ingest(drying)
        assert kb.erase("drying").found == ()
        (built / "notes.txt").write_text("the leaves of abdu")
        (built / "bytes.bin").write_bytes(b"\0\x12kirimanjaro\x01\0" + bytes(1 << 20))
        kb.ingest(drying)
        assert kb.erase("drying").found == ("bytes.bin", "notes.txt")


def test_completions_that_were_made_of_other_documents_stay(built: Path) -> None:
    def kept() -> int:
        with sqlite3.connect(built / "cache" / "completions.sqlite") as connection:
            return int(connection.execute("SELECT COUNT(*) FROM completion").fetchone()[0])

    before = kept()
    with opened(built) as kb:
        done = kb.erase(TITLE)
    assert kept() == before - done.completions
    assert 0 < done.completions <= before / 2


class Killed(BaseException):
    """The death of the process."""


STEPS = (
    (forgetting, "forget"),
    (erasure, "_erase_completions"),
    (erasure, "_remove_copies"),
    (erasure, "_write_vectors"),
    (OxigraphStore, "rewrite"),
    (erasure, "_search"),
    (erasure, "_receipt"),
    (OxigraphStore, "publish"),
)
DEATHS = [
    (owner, step, after)
    for owner, step in STEPS
    for after in (False, True)
    # after a step is mostly where the next one has not begun; KGRAG_WHOLE dies there too
    if not after or step in ("rewrite", "publish") or os.environ.get("KGRAG_WHOLE")
]


@pytest.mark.parametrize(
    ("owner", "step", "after"), DEATHS, ids=[f"{'after' if late else 'before'} {s}" for _, s, late in DEATHS]
)
def test_an_erasure_that_was_killed_is_finished_by_the_next_opening(
    built: Path, owner: object, step: str, after: bool, caplog: pytest.LogCaptureFixture
) -> None:
    real = getattr(owner, step)

    def dying(*args: object, **values: object) -> None:
        if after:
            real(*args, **values)
        raise Killed

    with opened(built) as kb, pytest.MonkeyPatch.context() as patched:
        patched.setattr(owner, step, dying)
        with pytest.raises(Killed):
            kb.erase(TITLE)
    with opened(built) as kb:
        assert [record.message for record in caplog.records] == ["finishing what was cut short: an erasure"]
        assert [finding for finding in kb.doctor() if finding.fault] == []
        assert (
            kb.query("SELECT ?d WHERE { ?d a kg:Document ; dcterms:title ?t FILTER(CONTAINS(?t, 'Zanzibar')) }").rows
            == []
        )
        receipts = kb.query("SELECT ?l WHERE { ?a kg:method 'erasure' ; rdfs:label ?l }").values()
        assert "found=0" in receipts[0][0]
    assert places(built) == {}
    assert not (built / "erasing.json").exists()
    assert not {"store.new", "store.old"} & {path.name for path in built.iterdir()}


@pytest.mark.parametrize("whole_again", [False, True], ids=["undone", "finished"])
def test_a_store_that_was_killed_between_two_renames_is_there_at_the_next_opening(
    built: Path, whole_again: bool
) -> None:
    with opened(built) as kb:
        quads = len(kb.store)
    (built / "store").rename(built / "store.old")
    if whole_again:
        shutil.copytree(built / "store.old", built / "store.new")
    with opened(built) as kb:
        assert len(kb.store) == quads
    assert not {"store.new", "store.old"} & {path.name for path in built.iterdir()}


def test_an_erasure_that_was_killed_before_it_was_written_down_has_not_begun(built: Path) -> None:
    (built / "erasing.json.new").write_text(TEXT)
    with opened(built) as kb:
        assert forgetting.named(kb.store, TITLE)
    assert not (built / "erasing.json.new").exists()


def test_vacuum_deletes_the_words_of_what_was_forgotten_before_from_the_store(built: Path) -> None:
    with opened(built) as kb:
        kb.forget(TITLE)
        kb.vacuum()
    left = {name: found for name, found in places(built).items() if not name.startswith("cache/completions")}
    assert all(found == ["zanzibar"] for found in left.values())  # the question of a kept answer


def test_an_erasure_names_the_backups_that_were_made_before(built: Path, tmp_path: Path) -> None:
    with opened(built) as kb:
        kb.backup(tmp_path / "copy")
        (backup,) = kb.erase(TITLE).backups
    assert backup.startswith(str(tmp_path / "copy"))


def test_a_backup_made_beside_the_process_that_writes_is_named_too(
    built: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(built) as kb:
        with KnowledgeBase(built, read_only=True) as beside:
            beside.backup(tmp_path / "copy")
            (built / "backups.jsonl").rename(tmp_path / "kept.jsonl")
            (built / "backups.jsonl").mkdir()  # stands for a folder that may not be written to
            beside.backup(tmp_path / "unnoted")
            (built / "backups.jsonl").rmdir()
            (tmp_path / "kept.jsonl").rename(built / "backups.jsonl")
        (backup,) = kb.erase(TITLE).backups
    assert backup.startswith(str(tmp_path / "copy"))
    assert "an erasure there will not name it" in caplog.text


def test_a_search_that_finds_something_ends_with_exit_code_1(built: Path) -> None:
    (built / "note.txt").write_text("Farida Makungulela was asked.")
    with opened(built) as kb:
        assert kb.erase(TITLE).found == ("note.txt",)


def test_a_source_that_an_erasure_leaves_without_documents_goes_and_others_stay(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    clinic = tmp_path / "one" / "two" / "three" / "four" / "five" / "six" / "seven" / "Clinic of Farida Makungulela"
    for name, text in (("survey", TEXT), ("rye", "Rye is sown in October."), ("oats", "Oats are sown in May.")):
        (clinic / name).mkdir(parents=True)
        (clinic / name / f"{name}.txt").write_text(text)
    kb.sync(clinic / "survey", name="Zanzibar")
    kb.ingest(clinic / "rye")
    assert kb.erase(str(clinic / "survey" / "survey.txt")).found == ()
    assert [source.name for source in kb.sources()] == ["rye"]
    kb.sync(clinic / "oats")
    (clinic / "oats" / "oats.txt").rename(clinic / "rye" / "oats.txt")
    kb.ingest(clinic / "rye")
    (clinic / "oats" / "other.txt").write_text("Clover is sown in April.")
    kb.sync(clinic / "oats")
    kb.forget(str(clinic / "oats" / "other.txt"))
    assert [(source.name, source.documents) for source in kb.sources()] == [("oats", 0), ("rye", 2)]
    assert kb.erase(str(clinic / "rye" / "oats.txt")).found == ()
    assert kb.erase(str(clinic / "rye" / "rye.txt")).found == ()
    assert kb.sources() == []


class Elsewhere:
    """Vector spaces that are in no file of the folder: one with keys, and one that another embedder made."""

    def __init__(self, *keys: str) -> None:
        self.own = keys

    def names(self) -> list[str]:
        return ["another", "own"]

    def space(self, name: str) -> "Elsewhere":
        if name == "another":
            raise EmbeddingMismatch("made by another embedder.")
        return self

    def keys(self) -> list[str]:
        return list(self.own)

    def write_anew(self) -> None:
        """Do nothing."""


def test_keys_of_vectors_that_are_in_no_file_are_searched_and_what_cannot_be_is_named() -> None:
    needles = erasure._Needles(frozenset(), frozenset(), frozenset({"zanzibar"}))
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        for key, found in (("urn:x:zanzibar", ["another", "own"]), ("urn:x:a", ["another"])):
            held = cast("erasure.Erasable", SimpleNamespace(store=kb.store, spaces=Elsewhere(key), path=None))
            assert erasure._search(held, needles) == ([f"vectors '{name}'" for name in found], 0)
