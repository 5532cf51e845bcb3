"""Receipts of erasures: what they say, signed, and whether their signatures hold.

A receipt is an activity of the method "erasure" in the provenance graph. It is signed as "Data Integrity EdDSA
Cryptosuites v1.0" (W3C, 2025) says for ``eddsa-rdfc-2022``: Ed25519 over two SHA-256 digests, that of the options of
the proof and that of the receipt, each as canonical N-Quads (RDFC-1.0). The proof names its public key as a
``did:key``, so that nothing else is needed to check it.

A signature shows that nobody changed the receipt who does not have the private key. By default that lies in the folder
of the knowledge base: ``signing_key`` names a file elsewhere, for a receipt that those who write to the folder cannot
make. It does not show that what the receipt says is true; the search that it counts can be repeated.

Queries read: ``provenance/receipts``.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidSettings
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.vocab import DCTERMS, KG, PROV, RDF, SEC, XSD

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["METHOD", "Receipt", "proof_of", "receipts", "signing_key"]

METHOD = "erasure"
KEY_FILE = "signing.key"
_CRYPTOSUITE = "eddsa-rdfc-2022"
_ED25519 = bytes((0xED, 0x01))  # the multicodec of such a public key
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What an erasure stated.

    Attributes:
        iri: of the activity.
        begun: date and time, UTC.
        ended: the same.
        documents: SHA-256 of the text of each erased document, sorted.
        counts: what was searched for, in how many files, and found: ``sought=… files=… found=… completions=…``.
        key: the ``did:key`` that it was signed with; "" for one without a signature.
        holds: whether the signature is that of these statements; False without a signature.
    """

    iri: str
    begun: str
    ended: str
    documents: tuple[str, ...]
    counts: str
    key: str
    holds: bool


def signing_key(folder: Path | None, named: Path | None) -> Ed25519PrivateKey | None:
    """Read the private key that receipts are signed with; that of a folder is made when it is first needed.

    Args:
        folder: of the knowledge base; None in memory.
        named: the file of the setting ``signing_key``; None for that in the folder.

    Returns:
        The key; None in memory without the setting.

    Raises:
        InvalidSettings: the file cannot be read, or has no Ed25519 key in PEM without a password.
    """
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    file = named if named is not None or folder is None else folder / KEY_FILE
    if file is None:
        return None
    try:
        if named is None and not file.exists():
            return _made(file)
        key = serialization.load_pem_private_key(file.read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidSettings(f"the signing key {file} cannot be read: {error}. {_HELP}") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidSettings(f"the signing key {file} is of another kind than Ed25519. {_HELP}")
    return key


_HELP = "Make one with `openssl genpkey -algorithm ed25519 -out FILE`."


def _made(file: Path) -> Ed25519PrivateKey:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)  # of a process that died here
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    fresh.replace(file)
    return key


def proof_of(receipt: Sequence[ox.Triple], key: Ed25519PrivateKey, created: str) -> list[ox.Triple]:
    """Return the statements of the signature of a receipt.

    Args:
        receipt: all its statements, which have one subject.
        key: signs it.
        created: date and time of the signature, ``2026-01-31T12:00:00Z``.
    """
    (subject,) = {triple.subject for triple in receipt}
    assert isinstance(subject, ox.NamedNode)
    method = _did_key(key.public_key().public_bytes_raw())
    options = _options(method, created)
    value = f"z{_base58(key.sign(_digests(options, receipt)))}"
    proof = ox.NamedNode(f"{subject.value}#proof")
    said = [*options, (SEC.proofValue, ox.Literal(value, datatype=SEC.multibase))]
    return [ox.Triple(subject, SEC.proof, proof), *(ox.Triple(proof, predicate, term) for predicate, term in said)]


def receipts(store: TripleStore) -> list[Receipt]:
    """Return the receipts of a knowledge base, the earliest first, each with what became of its signature."""
    statements: dict[str, list[ox.Triple]] = {}
    for triple in store.construct(queries.bind("provenance/receipts", provenance=store.names.provenance)):
        statements.setdefault(plain(triple.subject), []).append(triple)
    found = [
        _receipt(iri, said, statements)
        for iri, said in statements.items()
        if any(t.predicate == KG.method for t in said)
    ]
    return sorted(found, key=lambda receipt: (receipt.ended, receipt.iri))


def _receipt(iri: str, said: Iterable[ox.Triple], statements: dict[str, list[ox.Triple]]) -> Receipt:
    own = [triple for triple in said if triple.predicate != SEC.proof]
    proofs = [plain(triple.object) for triple in said if triple.predicate == SEC.proof]
    values: dict[str, list[str]] = {}
    for triple in own:
        values.setdefault(triple.predicate.value, []).append(plain(triple.object))

    def one(predicate: ox.NamedNode) -> str:
        return min(values.get(predicate.value, [""]))

    key, holds = _checked(own, statements.get(proofs[0], [])) if len(proofs) == 1 else ("", False)
    return Receipt(
        iri=iri,
        begun=one(PROV.startedAtTime),
        ended=one(PROV.endedAtTime),
        documents=tuple(sorted(values.get(KG.contentHash.value, ()))),
        counts=one(KG.parameters),
        key=key,
        holds=holds,
    )


def _checked(receipt: Sequence[ox.Triple], proof: Sequence[ox.Triple]) -> tuple[str, bool]:
    """Return the key that a proof names, and whether it is one of the receipt by that key."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    said = {triple.predicate: triple.object for triple in proof}
    key = plain(said.get(SEC.verificationMethod)).partition("#")[0]
    try:
        method, value = plain(said[SEC.verificationMethod]), plain(said[SEC.proofValue])
        options = _options(method, plain(said[DCTERMS.created]))
        expected = {*options, (SEC.proofValue, said[SEC.proofValue])}
        if {(triple.predicate, triple.object) for triple in proof} != expected or method != _did_key(_public(key)):
            return key, False
        Ed25519PublicKey.from_public_bytes(_public(key)).verify(_bytes(value), _digests(options, receipt))
    except (KeyError, ValueError, InvalidSignature):
        return key, False
    return key, True


def _options(method: str, created: str) -> list[tuple[ox.NamedNode, Any]]:
    return [
        (RDF.type, SEC.DataIntegrityProof),
        (SEC.cryptosuite, ox.Literal(_CRYPTOSUITE, datatype=SEC.cryptosuiteString)),
        (SEC.verificationMethod, ox.NamedNode(method)),
        (SEC.proofPurpose, SEC.assertionMethod),
        (DCTERMS.created, ox.Literal(created, datatype=XSD.dateTime)),
    ]


def _digests(options: Iterable[tuple[ox.NamedNode, Any]], receipt: Iterable[ox.Triple]) -> bytes:
    node = ox.BlankNode()  # the options have no name while they are signed
    return _digest(ox.Triple(node, predicate, term) for predicate, term in options) + _digest(receipt)


def _digest(triples: Iterable[ox.Triple]) -> bytes:
    dataset = ox.Dataset(ox.Quad(t.subject, t.predicate, t.object) for t in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    lines = ox.serialize(dataset, format=ox.RdfFormat.N_QUADS) or b""
    return hashlib.sha256(b"".join(sorted(lines.splitlines(keepends=True)))).digest()


def _did_key(public: bytes) -> str:
    name = f"z{_base58(_ED25519 + public)}"
    return f"did:key:{name}#{name}"


def _public(key: str) -> bytes:
    """Return the public key of a ``did:key``. Raises ValueError."""
    found = _bytes(key.removeprefix("did:key:"))
    if not found.startswith(_ED25519):
        raise ValueError(key)
    return found.removeprefix(_ED25519)


def _base58(data: bytes) -> str:
    """Return bytes in the base of 58 digits that Bitcoin chose."""
    number, digits = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        digits = _BASE58[digit] + digits
    return _BASE58[0] * (len(data) - len(data.lstrip(b"\0"))) + digits


def _bytes(multibase: str) -> bytes:
    """Return what a multibase text of base 58 stands for. Raises ValueError."""
    digits = multibase.removeprefix("z")
    if digits == multibase:
        raise ValueError(multibase)
    number = 0
    for digit in digits:
        number = number * len(_BASE58) + _BASE58.index(digit)
    zeros = len(digits) - len(digits.lstrip(_BASE58[0]))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
