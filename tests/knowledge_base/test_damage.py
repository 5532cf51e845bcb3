"""Damage on the disk, and files of another store, are met: named, and never answered from."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.errors import StateError, StorageFailed
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import RDF

CROPS = ("barley", "chickpea", "lentil", "oats", "rye", "spelt", "triticale", "wheat")


def opened(path: Path, **more: bool) -> KnowledgeBase:
    return KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder(), **more)


def ingest(kb: KnowledgeBase, at: Path, *crops: str, embed: bool = True) -> None:
    for crop in crops:
        (at / f"{crop}.md").write_text(f"# {crop}\n\nThe crop {crop} is sown in week {len(crop)}.\n", encoding="utf-8")
        kb.ingest(at / f"{crop}.md", embed=embed)


def flip(path: Path, part: float = 0.4) -> None:
    """Change one bit of a file in its place."""
    with path.open("r+b") as file:
        file.seek(int(path.stat().st_size * part))
        (byte,) = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte ^ 0x10]))


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "first.kb"
    with opened(path) as kb:
        kb.ingest(folder("demo") / "texts")
        kb.build("cg_rag")
        kb.retrieve("When is chickpea sown?", method="cg_rag")
    return path


def faults(path: Path, *, repair: bool = False) -> list[str]:
    with opened(path) as kb:
        return [finding.message for finding in kb.doctor(repair=repair) if finding.fault and not finding.mended]


# --- the store ------------------------------------------------------------------------------------------------------


def test_doctor_finds_a_changed_byte_in_any_file_of_triples(filled: Path) -> None:
    with opened(filled) as kb:
        for file in sorted((filled / "store").glob("*.sst"), key=lambda file: file.stat().st_size)[-3:]:
            flip(file)
            assert file.name in " ".join(finding.message for finding in kb.doctor())
            flip(file)
        assert [finding for finding in kb.doctor() if finding.fault] == []


def test_a_store_that_was_cut_short_is_named_with_the_way_out(filled: Path) -> None:
    largest = max((filled / "store").glob("*.sst"), key=lambda file: file.stat().st_size)
    largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])
    with pytest.raises(StorageFailed, match=rf"{largest.name}.*backup"):
        opened(filled)


# --- files next to the store ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", ["lexical/chunk.npz", "lexical/citations*.npz", "vectors/chunk/*.f32"])
def test_doctor_names_a_damaged_file_next_to_the_store_and_mends_it(filled: Path, pattern: str) -> None:
    (damaged,) = filled.glob(pattern)
    flip(damaged, 0.6)
    assert damaged.name in " ".join(faults(filled))
    assert faults(filled, repair=True) == []
    assert faults(filled) == []


def test_doctor_finds_a_word_index_that_lacks_a_text_and_vectors_of_other_texts(filled: Path) -> None:
    from kgrag.index.bm25 import LexicalIndex
    from kgrag.store.lineage import lineage

    with opened(filled) as kb:
        LexicalIndex.build(["urn:other"], ["other"], revision=kb.store.revision).save(
            filled / "lexical" / "chunk.npz", lineage=lineage(kb.store, kb.store.revision)
        )
        space = kb.spaces.space("chunk")
        keys = space.keys()
        space.upsert(keys, space.vectors([*keys[1:], keys[0]]))
        space.save(kb.store.revision)
    found = " ".join(faults(filled))
    assert "does not have what the store has" in found
    assert "space 'chunk': of " in found and "are not those of their texts" in found


# --- lineage --------------------------------------------------------------------------------------------------------


def put_back_raw(path: Path, copy: Path) -> None:
    shutil.copytree(path / "store", copy / "store")


def put_back_backup(path: Path, copy: Path) -> None:
    with opened(path) as kb:
        kb.backup(copy)


@pytest.mark.parametrize("take", [put_back_raw, put_back_backup])
def test_a_store_put_back_under_newer_files_answers_as_a_fresh_one(
    tmp_path: Path, take: Callable[[Path, Path], None]
) -> None:
    path, copy = tmp_path / "first.kb", tmp_path / "copy"
    with opened(path) as kb:
        ingest(kb, tmp_path, *CROPS[:2])
    take(path, copy)
    with opened(path) as kb:
        ingest(kb, tmp_path, *CROPS[2:5])
        kb.build("cg_rag")
        kb.retrieve("When is rye sown?", method="cg_rag")
    shutil.rmtree(path / "store")
    shutil.copytree(copy / "store", path / "store")
    with opened(path) as kb:
        ingest(kb, tmp_path, *CROPS[5:], embed=False)  # the store reaches the numbers of the newer files
        kb.build("cg_rag")
        while kb.store.revision < 12:
            kb.update(f'INSERT DATA {{ <urn:s> <urn:p> "{kb.store.revision}" }}')
        found = kb.retrieve("When is wheat sown?", method="cg_rag", k=9)
        assert kb.doctor() == []
    with opened(tmp_path / "fresh.kb") as kb:
        ingest(kb, tmp_path, *CROPS[:2], *CROPS[5:])
        kb.build("cg_rag")
        assert [hit.iri for hit in found] == [
            hit.iri for hit in kb.retrieve("When is wheat sown?", method="cg_rag", k=9)
        ]


def test_each_writer_begins_a_lineage_with_its_first_change(tmp_path: Path) -> None:
    from kgrag.store.lineage import lineage

    with opened(tmp_path / "first.kb") as kb:
        kb.update("INSERT DATA { <urn:s> <urn:p> 1 }")
        kb.update("INSERT DATA { <urn:s> <urn:p> 2 }")
    with opened(tmp_path / "first.kb") as kb:
        size = len(kb.store)
    with opened(tmp_path / "first.kb") as kb:
        assert len(kb.store) == size
        kb.update("INSERT DATA { <urn:s> <urn:p> 3 }")
        lineages = [lineage(kb.store, revision) for revision in range(5)]
    assert lineages[0] == ""
    assert lineages[1] == lineages[2] != lineages[3] == lineages[4]


def test_vectors_of_an_import_are_not_made_twice(tmp_path: Path) -> None:
    path = tmp_path / "first.kb"
    with opened(path) as kb:
        ingest(kb, tmp_path, *CROPS)
        kb.export(tmp_path / "all.nq")
    shutil.rmtree(path / "store")
    with opened(path) as kb:
        kb.import_(tmp_path / "all.nq")
        assert len(kb.spaces.space("chunk")) == len(CROPS)


# --- a folder that moves ---------------------------------------------------------------------------------------------


def test_a_folder_that_is_moved_while_it_is_open_is_named_and_nothing_is_written_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "first.kb") as kb:
        ingest(kb, tmp_path, "rye")
        (tmp_path / "first.kb").rename(tmp_path / "moved.kb")
        for action in (lambda: ingest(kb, tmp_path, "oats"), lambda: kb.ask("When is rye sown?"), kb.vacuum):
            with pytest.raises(StateError, match="moved"):
                action()
    assert not (tmp_path / "first.kb").exists()
    with opened(tmp_path / "moved.kb") as kb:
        assert kb.doctor() == []
        assert "week 3" in kb.ask("When is rye sown?").text


def test_doctor_names_terms_that_no_dump_could_be_read_with_and_makes_literals_plain_text(tmp_path: Path) -> None:
    path, graph = tmp_path / "a.kb", ox.NamedNode("urn:t:g")
    typed = ox.Literal("sown early", datatype=RDF.langString)
    with opened(path) as kb:
        kb.store.update("INSERT DATA { GRAPH <urn:t:g> { <urn:t:s> <urn:t:p> 'x'@en, 1 } }")
    quads = ox.Store(str(path / "store"))  # as an earlier kgrag stored it
    quads.add(ox.Quad(ox.NamedNode("urn:t:s"), ox.NamedNode("urn:t:p"), typed, graph))
    del quads
    with opened(path) as kb, pytest.raises(StateError, match="doctor"):
        kb.export(tmp_path / "whole.nq")
    with opened(path) as kb:
        (found,) = [finding for finding in kb.doctor(repair=True) if finding.check == "unreadable"]
        assert (found.message[:11], found.mended) == ("<urn:t:g>: ", True)
        assert ox.Literal("sown early") in {triple.object for triple in kb.store.triples(graph)}
        kb.export(tmp_path / "whole.nq")
