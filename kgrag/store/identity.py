"""Which knowledge base a folder contains: base IRI, schema version, revision; and the first entries of a new one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import SchemaMismatch, StorageFailed, StoreLocked
from kgrag.store import publication_plan
from kgrag.store.engine import closable
from kgrag.store.quad_store import QuadStore, of_graph
from kgrag.store.reading_views import ReadingView
from kgrag.vocab import DEFAULT_BASE, KG, SCHEMA_VERSION, Names

__all__ = ["FOUNDING_QUADS", "creation_quads", "open_folder", "recorded_names", "revision", "write_founding"]

FOUNDING_QUADS = 9
"""Quads in the catalogue of a new store, as ``publication_plan.founding`` lists them."""

_MAX_OPENING_ATTEMPTS = 20  # about two seconds with the growing pauses, longer than a writer takes to swap its files


def open_folder(folder: Path | None, *, read_only: bool = False) -> ox.Store:
    """Open a folder, making it when it is absent; None returns a store in memory.

    Raises:
        StorageFailed: it cannot be made, or is to be read and there is no store in it.
        StoreLocked: this process has it open already.
    """
    if folder is None:
        return closable(ox.Store())
    if read_only:
        return _open_for_reading(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return closable(ox.Store(str(folder)), on_disk=True)
    except FileExistsError as error:
        raise StorageFailed(f"{folder} is a file, and a folder was expected. Choose another path.") from error
    except OSError as error:
        if "lock hold by current process" in str(error):
            raise StoreLocked(
                f"{folder} was opened by this process before, and results of a query keep it open. "
                "Let go of the results, then open it again."
            ) from error
        # the engine's own message about too few open files says what to do
        advice = "" if "ulimit" in str(error) else " Make it writable."
        raise StorageFailed(f"{folder} cannot be opened for writing: {str(error).rstrip('.')}.{advice}") from error


def _open_for_reading(folder: Path) -> ox.Store:
    """Open a folder for reading as it is now, whether or not another process writes to it."""
    if not (folder / "CURRENT").is_file():
        raise StorageFailed(f"there is no store in {folder} to be read. Create one by opening it for writing first.")
    failure: Exception | None = None
    for attempt in range(_MAX_OPENING_ATTEMPTS):
        view = None
        try:
            view = ReadingView(folder)
            return closable(ox.Store.read_only(str(view.folder)), on_disk=True, let_go=view.release)
        except (OSError, RuntimeError) as error:  # the writer swapped files between our listing and our opening them
            failure = error
            if view is not None:
                view.release()
            time.sleep(0.01 * attempt)
    advice = "" if "ulimit" in str(failure) else " Mend it from a backup."
    if "Column family not found" in str(failure):  # the process that made it was ended before it was whole
        advice = " Its making was cut short, so nothing is in it yet: open it for writing once, and it is whole."
    raise StorageFailed(f"{folder} cannot be opened for reading: {str(failure).rstrip('.')}.{advice}") from failure


def recorded_names(store: QuadStore, base: str | None) -> Names:
    """Return the names of the knowledge base in a store: the recorded base IRI, or the given one for a new store.

    Raises:
        SchemaMismatch: the recorded schema is newer than this program, or the base IRI is another.
    """
    recorded = None
    for row in sorted(cast("ox.QuerySolutions", store.query(queries.bind("catalogue/identity"))), key=_by_terms):
        names = Names(row["base"].value)
        # data may contain such statements too; only those in the catalogue that this base IRI names are the record
        if (row["graph"], row["knowledgebase"]) != (names.catalogue, names.knowledge_base):
            continue
        if (version := int(row["version"].value)) > SCHEMA_VERSION:
            raise SchemaMismatch(
                f"the knowledge base has schema version {version}, and this kgrag knows up to {SCHEMA_VERSION}. "
                "Upgrade kgrag."
            )
        recorded = recorded or names
    if recorded is None:
        return Names(DEFAULT_BASE if base is None else base)
    if base is not None and base != recorded.base:
        raise SchemaMismatch(
            f"the knowledge base has base IRI '{recorded.base}', and '{base}' was asked for. It is fixed at creation: "
            "leave the option out, or create another knowledge base."
        )
    return recorded


def _by_terms(row: ox.QuerySolution) -> list[str]:
    return [str(term) for term in row]


def revision(store: QuadStore, names: Names) -> int:
    """Return the largest revision in the catalogue, 0 when there is none."""
    rows = cast("ox.QuerySolutions", store.query(queries.bind("catalogue/revision", catalogue=names.catalogue)))
    return max((int(row["revision"].value) for row in rows if row["revision"] is not None), default=0)


def write_founding(store: QuadStore, names: Names) -> bool:
    """Write those statements that every catalogue begins with, as far as they are missing.

    Returns:
        Whether the catalogue had lost its first change, as one does that an update emptied (``DROP ALL``).
    """
    founding = publication_plan.founding(names, publication_plan.now())
    stated = store.matching([(cast("ox.NamedNode", q.subject), q.predicate, None, names.catalogue) for q in founding])
    missing = [
        quad
        for quad, there in zip(founding, stated, strict=True)
        if not there or (quad.predicate == KG.publication and quad.object not in {each.object for each in there})
    ]
    if missing:
        store.add(missing)
    return any(quad.predicate == KG.publication for quad in missing)


def creation_quads(store: QuadStore, names: Names) -> list[ox.Quad]:
    """Return the catalogue's statements about the creation of a new store; a dump brings its own in their place."""
    return [quad for quad in store.match(of_graph(names.catalogue)) if quad.subject != names.knowledge_base]
