"""A whole knowledge base as one N-Quads file with a manifest next to it, and back.

Files that cannot be made again from the quads (``kept_files``) travel in an archive of their own, ``<file>.files.tar``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tarfile
import tempfile
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF, SchemaMismatch, StateError, StorageFailed
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.store import kept_files
from kgrag.vocab import SCHEMA_VERSION

if TYPE_CHECKING:
    from kgrag.store.sparql_connection import SparqlConnection

__all__ = ["archive_path", "compare_mirror", "export", "import_", "manifest_path"]

_LOG = logging.getLogger(__name__)
_BYTES_PER_READ = 1 << 20


def manifest_path(target: Path) -> Path:
    """Return the path of the manifest of an export: the file's name with ``.manifest.json`` behind it."""
    return target.with_name(target.name + ".manifest.json")


def archive_path(target: Path) -> Path:
    """Return the path of the archive of an export: the file's name with ``.files.tar`` behind it."""
    return target.with_name(target.name + ".files.tar")


def export(store: TripleStore, target: Path, *, folder: Path | None = None, settings: str = "") -> int:
    """Write every quad to ``target`` (gzipped when it ends in .gz), an archive of files, and a manifest with checksums.

    All three are written under other names first: one that fails leaves the export before it, and one that is killed no
    half file under the final names.

    Args:
        store: the store.
        target: the N-Quads file.
        folder: of the knowledge base, whose files that cannot be made again go into the archive.
        settings: the text of ``kgrag.toml`` for the archive.

    Returns:
        The count of quads.

    Raises:
        StorageFailed: a file cannot be read or written.
    """
    # the suffix stays last, because it decides on compression
    partial = target.with_name(f".partial-{target.name}")
    named = [(of(partial), of(target)) for of in (archive_path, lambda path: path, manifest_path)]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        quads = store.dump(partial)
        manifest = {
            "format": "kgrag-export",
            "schema_version": SCHEMA_VERSION,
            "base_iri": store.names.base,
            "quads": quads,
            "sha256": _checksum(partial),
            "left_out": kept_files.LEFT_OUT,
            "files": _archive(folder, archive_path(partial), settings),
        }
        manifest_path(partial).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        if not manifest["files"]:
            archive_path(target).unlink(missing_ok=True)  # of an earlier export
        for written, final in named[0 if manifest["files"] else 1 :]:
            written.replace(final)
    except OSError as error:
        raise _unwritable(target, error) from error
    finally:
        for written, _ in named:
            written.unlink(missing_ok=True)
    return quads


def _unwritable(target: Path, error: OSError) -> StorageFailed:
    return StorageFailed(f"{target} cannot be written: {error}. Choose another place.")


def compare_mirror(source: Path, mirror: SparqlConnection) -> tuple[int, int]:
    """Return how many quads an export has by its manifest, and how many a server has that loaded it.

    Query read: ``catalogue/quad_count``.

    Raises:
        InvalidRDF: the export has no manifest that can be read.
        StorageFailed: the server cannot be reached, or does not count.
    """
    path = manifest_path(source)
    try:
        exported = int(json.loads(path.read_text(encoding="utf-8"))["quads"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidRDF(f"{path} is no manifest of an export: {error}. Name what `kgrag export` wrote.") from error
    reply = mirror.query(queries.bind("catalogue/quad_count"))
    try:
        rows = list(cast("ox.QuerySolutions", ox.parse_query_results(BytesIO(reply.body), ox.QueryResultsFormat.JSON)))
        return exported, int(plain(rows[0]["quads"]))
    except (SyntaxError, ValueError, IndexError, KeyError, TypeError) as error:
        raise StorageFailed(f"{mirror.address.query} does not say how many quads it has: {error}.") from error


def _archive(folder: Path | None, target: Path, settings: str) -> list[dict[str, Any]]:
    """Write the files that cannot be made again to an archive, if there are any, and list them."""
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as scratch:
        files = kept_files.copy(folder, Path(scratch) / "files", settings=settings)
        if not files:
            return []
        partial = Path(scratch) / target.name
        try:
            with tarfile.open(partial, "w") as archive:
                for file in files:
                    archive.add(Path(scratch) / "files" / file.path, file.path)
            partial.replace(target)
        except OSError as error:
            raise _unwritable(target, error) from error
    return [asdict(file) for file in files]


def import_(store: TripleStore, source: Path, *, folder: Path | None = None) -> int:
    """Read an export into an empty store, and its files into the folder of the knowledge base.

    The files come first, so that an import that was killed can be repeated. Without a manifest a warning is logged:
    nothing else would say that a file was cut between two lines.

    Returns:
        The count of quads.

    Raises:
        InvalidRDF: the file or its archive is not what its manifest says, or does not parse.
        SchemaMismatch: it was exported from another base IRI or a newer schema version.
        StateError: the folder has other files of the same names.
    """
    if not source.is_file():
        raise InvalidRDF(f"{source} is not a file. Name the N-Quads file that `kgrag export` wrote.")
    if manifest_path(source).is_file():
        manifest = json.loads(manifest_path(source).read_text(encoding="utf-8"))
        _check_manifest(manifest, source, store)
        if manifest.get("files") and folder is not None:
            _unpack(archive_path(source), manifest["files"], folder)
    else:
        _LOG.warning(
            "%s is not there: nothing says that %s is whole, and weights, completions and the log of writes are not "
            "imported. Copy what `kgrag export` wrote beside it, or compare the counts with its source.",
            manifest_path(source),
            source.name,
        )
    return store.load(source)


def _unpack(archive: Path, files: list[dict[str, Any]], folder: Path) -> None:
    """Put the files of an archive into a folder. Raises InvalidRDF, StateError, StorageFailed."""
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=folder) as scratch:
        try:
            with tarfile.open(archive) as opened:
                opened.extractall(scratch, filter="data")
        except (OSError, tarfile.TarError) as error:
            raise InvalidRDF(
                f"{archive} cannot be read: {error}. It holds {', '.join(file['path'] for file in files)}; "
                "copy it next to the N-Quads file."
            ) from error
        if wrong := kept_files.checked(Path(scratch), files):
            raise InvalidRDF(f"{archive}: {', '.join(wrong)} is not what the manifest says. Copy the archive again.")
        existing = [file for file in files if (folder / file["path"]).exists()]
        if other := kept_files.checked(folder, existing):
            raise StateError(f"{folder} has another {', '.join(other)}, which would be lost. Import into a new --kb.")
        for file in files:
            target = folder / file["path"]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path(scratch) / file["path"], target)


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
