"""Receipts of erasures: signed, and refused when a word of them was changed."""

import stat
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from typer.testing import CliRunner

from kgrag import Document, KnowledgeBase
from kgrag.cli import app
from kgrag.errors import InvalidSettings
from kgrag.knowledge_base import receipts
from kgrag.llm.extractive import ExtractiveModel
from kgrag.settings import Settings, as_toml
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG, SEC


def opened(path: Path | None, key: Path | None = None) -> KnowledgeBase:
    settings = Settings(signing_key=key) if key else Settings()
    return KnowledgeBase(path, settings=settings, embedder=HashEmbedder(), model=ExtractiveModel())


def erased(kb: KnowledgeBase, number: int = 1) -> str:
    kb.add(Document(f"Millet number {number} is sown in May.", id=f"m{number}"))
    return kb.erase(f"m{number}").receipt


def pem(key: Ed25519PrivateKey | X25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("receipts") / "k"
    with opened(path) as kb:
        erased(kb)
    return path


def test_a_receipt_is_signed_with_a_key_of_the_folder_that_is_its_owners_alone(folder: Path) -> None:
    with opened(folder) as kb:
        (found,) = kb.receipts()
        assert found.holds
        assert found.key.startswith("did:key:z6Mk")
        assert len(found.documents) == 1
        assert "found=0" in found.counts
        assert [each for each in kb.doctor() if each.fault] == []
    assert stat.S_IMODE((folder / "signing.key").stat().st_mode) == 0o600


def test_the_key_of_the_folder_signs_the_next_receipt_too_and_is_in_no_copy(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as kb:
        kb.backup(tmp_path / "copy")
        kb.export(tmp_path / "all.nq")
    assert not list((tmp_path / "copy").rglob("signing.key*"))
    with opened(tmp_path / "fresh") as kb:
        kb.import_(tmp_path / "all.nq")
        assert [each.holds for each in kb.receipts()] == [True]
    with opened(tmp_path / "two") as kb:
        erased(kb, 1)
        erased(kb, 2)
        first, second = kb.receipts()
        assert first.holds
        assert second.holds
        assert first.key == second.key
        assert first.documents != second.documents


@pytest.mark.parametrize(
    "predicate, value",
    [
        (KG.parameters, ox.Literal("sought=9 files=9 found=0 completions=9")),
        (KG.contentHash, ox.Literal("0" * 64)),
        (SEC.proofValue, ox.Literal("z1", datatype=SEC.multibase)),
        (SEC.verificationMethod, ox.NamedNode("did:key:z1#z1")),
        (SEC.proofPurpose, ox.NamedNode("https://w3id.org/security#authentication")),
    ],
)
def test_a_changed_receipt_does_not_hold_and_the_doctor_names_it(predicate: ox.NamedNode, value: ox.Literal) -> None:
    key = Ed25519PrivateKey.generate()
    receipt = ox.NamedNode("urn:r")
    said = [
        ox.Triple(receipt, KG.method, ox.Literal("erasure")),
        ox.Triple(receipt, KG.parameters, ox.Literal("sought=1 files=2 found=0 completions=0")),
        ox.Triple(receipt, KG.contentHash, ox.Literal("f" * 64)),
    ]
    signed = [*said, *receipts.proof_of(said, key, "2026-01-31T12:00:00Z")]
    assert [each.holds for each in found_in(signed)] == [True]
    changed = [ox.Triple(t.subject, t.predicate, value) if t.predicate == predicate else t for t in signed]
    assert [each.holds for each in found_in(changed)] == [False]
    without = [triple for triple in signed if triple.predicate != predicate]
    assert [each.holds for each in found_in(without)] == [False]


def found_in(triples: list[ox.Triple]) -> list[receipts.Receipt]:
    with opened(None) as kb:
        graph = kb.store.names.provenance
        kb.store._store.extend(ox.Quad(t.subject, t.predicate, t.object, graph) for t in triples)  # type: ignore[attr-defined]
        return kb.receipts()


def test_a_statement_added_to_a_receipt_does_not_hold(tmp_path: Path) -> None:
    with opened(tmp_path / "k") as kb:
        receipt = erased(kb)
        kb.update(
            f'INSERT DATA {{ GRAPH <{kb.store.names.provenance.value}> {{ <{receipt}> <{KG.contentHash.value}> "0" }} }}'
        )
        assert [each.holds for each in kb.receipts()] == [False]
        assert [each.check for each in kb.doctor() if each.fault] == ["receipt"]


def test_a_proof_of_one_receipt_does_not_hold_for_another() -> None:
    key = Ed25519PrivateKey.generate()
    triples: list[ox.Triple] = []
    for name in ("urn:a", "urn:b"):
        said = [
            ox.Triple(ox.NamedNode(name), KG.method, ox.Literal("erasure")),
            ox.Triple(ox.NamedNode(name), KG.contentHash, ox.Literal(name)),
        ]
        triples += [*said, *receipts.proof_of(said, key, "2026-01-31T12:00:00Z")]
    swapped = {"urn:a#proof": ox.NamedNode("urn:b#proof"), "urn:b#proof": ox.NamedNode("urn:a#proof")}
    exchanged = [
        ox.Triple(t.subject, t.predicate, swapped.get(getattr(t.object, "value", ""), t.object)) for t in triples
    ]
    assert [each.holds for each in found_in(triples)] == [True, True]
    assert [each.holds for each in found_in(exchanged)] == [False, False]


def test_a_key_may_be_kept_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "theirs.pem"
    file.write_bytes(pem(Ed25519PrivateKey.generate()))
    with opened(tmp_path / "k", file) as kb:
        erased(kb)
        assert [each.holds for each in kb.receipts()] == [True]
    assert not (tmp_path / "k" / "signing.key").exists()
    assert "theirs.pem" in as_toml(Settings(signing_key=file))


@pytest.mark.parametrize("content", [None, b"", b"no key", pem(X25519PrivateKey.generate())])
def test_without_a_key_that_can_be_read_nothing_is_erased(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "theirs.pem"
    if content is not None:
        file.write_bytes(content)
    with opened(tmp_path / "k", file) as kb:
        kb.add(Document("Millet is sown in May.", id="m"))
        with pytest.raises(InvalidSettings, match="signing key"):
            kb.erase("m")
        assert [each.id for each in kb.documents()] == ["m"]
    assert not (tmp_path / "k" / "erasing.json").exists()


def test_one_in_memory_has_unsigned_receipts() -> None:
    with opened(None) as kb:
        erased(kb)
        (found,) = kb.receipts()
    assert replace(found, iri="", begun="", ended="", documents=(), counts="") == receipts.Receipt(
        "", "", "", (), "", "", False
    )


def test_what_builds_did_is_no_receipt() -> None:
    with opened(None) as kb:
        receipt = erased(kb)
        built = f"<urn:x:build> a <http://www.w3.org/ns/prov#Activity> ; {KG.method} 'sire_rag'"
        kb.update(f"INSERT DATA {{ GRAPH {kb.store.names.provenance} {{ {built} }} }}")
        assert [each.iri for each in kb.receipts()] == [receipt]


def test_the_command_lists_receipts_and_fails_for_one_that_does_not_hold(folder: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["receipts", "--kb", str(folder)])
    assert shown.exit_code == 0
    assert "signed with did:key:z6Mk" in shown.output
    with opened(tmp_path / "k") as kb:
        kb.import_(exported(folder, tmp_path))
        (found,) = kb.receipts()
        graph = kb.store.names.provenance.value
        kb.update(f'INSERT DATA {{ GRAPH <{graph}> {{ <{found.iri}> <{KG.contentHash.value}> "0" }} }}')
    shown = CliRunner().invoke(app, ["receipts", "--kb", str(tmp_path / "k")])
    assert shown.exit_code == 1
    assert "the signature does not hold" in shown.output


def exported(folder: Path, target: Path) -> Path:
    with opened(folder) as kb:
        kb.export(target / "all.nq")
    return target / "all.nq"
