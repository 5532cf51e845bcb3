"""Backups: a folder that opens as a knowledge base, with all that cannot be made again, read through when written.

``backup.json`` in the folder lists every file with its size and SHA-256.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from kgrag import plugins
from kgrag.errors import InputError, StorageFailed
from kgrag.ports import FindsDamage, OpenedStore, TripleStore
from kgrag.settings import Settings, as_toml
from kgrag.store import kept_files
from kgrag.vocab import SCHEMA_VERSION

__all__ = ["MANIFEST", "backup"]

MANIFEST = "backup.json"
_CHANGING = ("LOCK", "LOG")
"""Files of the engine that change whenever a store is opened."""


def backup(store: TripleStore, folder: Path | None, settings: Settings, target: Path) -> None:
    """Write a copy of a knowledge base that opens as one, and read all of it.

    It is written under another name first, so that a killed backup leaves no half copy under the final one.

    Args:
        store: the store.
        folder: the folder of the knowledge base; None for one in memory.
        settings: those that it is used with; secrets are left out of the copy.
        target: a folder that does not exist.

    Raises:
        InputError: the target exists.
        StorageFailed: it cannot be written, or the knowledge base is damaged; the target is not made then.
    """
    if target.exists():
        raise InputError(f"{target} exists already. Name a folder that does not.")
    partial = target.with_name(f".partial-{target.name}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(mode=0o700, parents=True)  # for its owner alone, as the folder that it is a copy of
        store.snapshot(partial / "store")
        kept_files.copy(folder, partial, settings=as_toml(settings))
        quads = _read_through(partial / "store", settings)
        manifest = {
            "format": "kgrag-backup",
            "schema_version": SCHEMA_VERSION,
            "base_iri": store.names.base,
            "revision": store.revision,
            "quads": quads,
            "left_out": kept_files.LEFT_OUT,
            "files": [asdict(file) for file in kept_files.listing(partial, without=_CHANGING)],
        }
        (partial / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        partial.rename(target)
    except OSError as error:
        raise StorageFailed(f"{target} cannot be written: {error}. Choose another place.") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _read_through(folder: Path, settings: Settings) -> int:
    """Open a copy of a store, read every block of it, and return the count of its quads. Raises StorageFailed."""
    copy: OpenedStore = plugins.load("kgrag.stores", settings.store)(folder, read_only=True)
    try:
        damage = copy.damage() if isinstance(copy, FindsDamage) else []
        if damage:
            raise StorageFailed("no backup was made, since it would hold what is damaged: " + " ".join(damage))
        return len(copy)
    finally:
        copy.close()
