"""A whole knowledge base as one N-Quads file with a manifest next to it, and back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from kgrag.errors import InvalidRDF, SchemaMismatch
from kgrag.ports import TripleStore
from kgrag.vocab import SCHEMA_VERSION

__all__ = ["export", "import_", "manifest_path"]

_BYTES_PER_READ = 1 << 20


def manifest_path(target: Path) -> Path:
    """Return the path of the manifest of an export: the file's name with ``.manifest.json`` behind it."""
    return target.with_name(target.name + ".manifest.json")


def export(store: TripleStore, target: Path) -> int:
    """Write every quad to ``target`` (gzipped when it ends in .gz) and a manifest with count and checksum.

    The quads are written under another name first, so that a killed export leaves no half file under the final one.

    Returns:
        The count of quads.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # the suffix stays last, because it decides on compression
    partial = target.with_name(f".partial-{target.name}")
    quads = store.dump(partial)
    manifest = {
        "format": "kgrag-export",
        "schema_version": SCHEMA_VERSION,
        "base_iri": store.names.base,
        "quads": quads,
        "sha256": _checksum(partial),
    }
    partial.replace(target)
    manifest_path(target).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return quads


def import_(store: TripleStore, source: Path) -> int:
    """Read an export into an empty store.

    Returns:
        The count of quads.

    Raises:
        InvalidRDF: the file is not what its manifest says, or does not parse.
        SchemaMismatch: it was exported from another base IRI or a newer schema version.
    """
    if not source.is_file():
        raise InvalidRDF(f"{source} is not a file. Name the N-Quads file that `kgrag export` wrote.")
    manifest = manifest_path(source)
    if manifest.is_file():
        _check_manifest(json.loads(manifest.read_text(encoding="utf-8")), source, store)
    return store.load(source)


def _check_manifest(manifest: dict[str, object], source: Path, store: TripleStore) -> None:
    version, base = manifest.get("schema_version"), manifest.get("base_iri")
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise SchemaMismatch(
            f"{source}: schema version {version}, this kgrag reads up to {SCHEMA_VERSION}. Upgrade kgrag."
        )
    if base != store.names.base:
        raise SchemaMismatch(
            f"{source}: base IRI {base}, this knowledge base has {store.names.base}. "
            f"Create the target with `kgrag init --base-iri {base}`."
        )
    if manifest.get("sha256") != _checksum(source):
        raise InvalidRDF(f"{source}: its checksum is not the one in {manifest_path(source).name}. Copy the file again.")


def _checksum(path: Path) -> str:
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BYTES_PER_READ):
            sha.update(block)
    return sha.hexdigest()
