"""From the layout of an earlier schema version to the present one: what runs when a knowledge base is opened to write.

A migration leads from one version to the next. It reads the store and returns the quads that leave and those that
enter; they are exchanged, with the version in the catalogue, in one atomic step. The present
version is the first, so there is none yet.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import pyoxigraph as ox

from kgrag import vocab
from kgrag.errors import SchemaMismatch
from kgrag.model import plain
from kgrag.store import identity, publication_plan
from kgrag.store.lineage import drawn
from kgrag.store.quad_store import QuadStore
from kgrag.vocab import KG, Names, number

__all__ = ["MIGRATIONS", "Migration", "migrate", "refuse_earlier"]

_LOG = logging.getLogger(__name__)

Migration = Callable[[QuadStore, Names], tuple[list[ox.Quad], list[ox.Quad]]]

MIGRATIONS: Mapping[int, Migration] = {}
"""Schema version -> what leads from it to the next one."""


def migrate(store: QuadStore, names: Names) -> None:
    """Bring a store to the present schema version, one version after the other; a killed run goes on where it was.

    Raises:
        SchemaMismatch: it has a version that this kgrag has no migration from.
    """
    stated = _versions(store, names)
    for version in range(min(stated, default=vocab.SCHEMA_VERSION), vocab.SCHEMA_VERSION):
        if version not in MIGRATIONS:
            raise SchemaMismatch(
                f"the knowledge base has schema version {version}, from which this kgrag has no way to version "
                f"{vocab.SCHEMA_VERSION}. Open it with an earlier kgrag, and ingest into a new one."
            )
        leaving, entering = MIGRATIONS[version](store, names)
        old = list(store.match((names.knowledge_base, KG.schemaVersion, None, names.catalogue)))
        new = ox.Quad(names.knowledge_base, KG.schemaVersion, number(version + 1), names.catalogue)
        change = publication_plan.publication(
            identity.revision(store, names) + 1, KG.Rewrite, publication_plan.now(), names, lineage=drawn()
        )
        store.exchange([*leaving, *old], [*entering, new, *change])
        _LOG.warning("the knowledge base was migrated from schema version %d to %d", version, version + 1)


def refuse_earlier(store: QuadStore, names: Names) -> None:
    """Refuse to read a store of an earlier version. Raises SchemaMismatch."""
    earliest = min(_versions(store, names), default=vocab.SCHEMA_VERSION)
    if earliest < vocab.SCHEMA_VERSION:
        raise SchemaMismatch(
            f"the knowledge base has schema version {earliest}, and version {vocab.SCHEMA_VERSION} can be read. "
            "Open it for writing once, which migrates it: kgrag doctor"
        )


def _versions(store: QuadStore, names: Names) -> list[int]:
    """Return the versions in the catalogue: one, or two where a file of an earlier version was imported."""
    quads = store.match((names.knowledge_base, KG.schemaVersion, None, names.catalogue))
    return [int(plain(quad.object)) for quad in quads]
