"""Knowledge bases to cut short: what they are filled with, the death of a process, and what is compared afterwards."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, plugins
from kgrag.errors import StorageFailed
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder
from tests.conftest import DEMO


def options(method: str) -> dict[str, Path]:
    return {option: DEMO / path for option, path in plugins.methods()[method].example.items()}


def filled(path: Path | None = None) -> KnowledgeBase:
    kb = KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder())
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    return kb


def content(kb: KnowledgeBase) -> Counter[tuple[str, str]]:
    """Return the triples of every graph but catalogue and provenance, which say when."""
    when = {kb.store.names.catalogue.value, kb.store.names.provenance.value}
    return Counter(
        (graph, str(triple))
        for graph in kb._store.graphs()
        if graph not in when
        for triple in kb.store.triples(ox.NamedNode(graph))
    )


@contextmanager
def killed_after(commits: int) -> Iterator[None]:
    """Raise, as the death of the process would end it, as soon as so many changes have been made inside."""
    real, made = OxigraphStore._advance, 0

    def advance(self: OxigraphStore, revision: int) -> None:
        nonlocal made
        real(self, revision)
        made += self._validator is not None  # a scratch store has none
        if made == commits:
            raise StorageFailed("no space left on the device. Free some.")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OxigraphStore, "_advance", advance)
        yield
