"""Ontology indexes from files and from graphs of a store, cached by content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pyoxigraph as ox

from kgrag.errors import InputError
from kgrag.ports import TripleStore
from kgrag.queries import bind
from kgrag.querying.ontology_check.ontology_index import OntologyIndex, build_index
from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import KG, Names

__all__ = ["FORMAT", "index_of_files", "index_of_graphs", "notes_on", "ontology_graphs"]

FORMAT = 3
"""Version of a cached index; a file of another version is built anew."""

_LATEST: dict[str, OntologyIndex] = {}
_MAX_INDEXES_KEPT = 8


def index_of_files(paths: Sequence[Path], *, names: Names, cache: Path | None = None) -> OntologyIndex:
    """Index ontology files together.

    Args:
        paths: RDF files in any format that kgrag reads.
        names: the knowledge base's IRIs, for graphs without a name.
        cache: a folder for indexes by content; None keeps them in memory only.

    Raises:
        InvalidRDF: a file is missing or does not parse.
        InputError: the files define no class and no property.
    """
    identity = _digest(paths)

    def triples() -> Iterable[ox.Triple]:
        return (triple for path in paths for draft in read_rdf(path, names=names) for triple in draft.triples)

    return _cached(identity, triples, cache, ", ".join(map(str, paths)))


def index_of_graphs(store: TripleStore, graphs: Sequence[ox.NamedNode], *, cache: Path | None = None) -> OntologyIndex:
    """Index graphs of a store together; they are read again when the store has changed.

    Raises:
        InputError: the graphs define no class and no property.
    """
    listed = [triple for graph in graphs for triple in store.triples(graph)]
    text = "\n".join(sorted(map(str, listed)))
    identity = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    where = ", ".join(graph.value for graph in graphs) or "the knowledge base has no ontology, and so"
    return _cached(identity, lambda: listed, cache, where)


def ontology_graphs(store: TripleStore) -> list[ox.NamedNode]:
    """Return the graphs of a store that contain ontologies."""
    table = store.select(bind("catalogue/graphs", catalogue=store.names.catalogue))
    column = {name: number for number, name in enumerate(table.variables)}
    rows = (row for row in table.rows if row[column["kind"]] == KG.OntologyGraph)
    return [graph for row in rows if isinstance(graph := row[column["graph"]], ox.NamedNode)]


def notes_on(index: OntologyIndex) -> tuple[str, ...]:
    """Return what a user should know of an index: imports that are not part of it."""
    return tuple(
        f"imports {name}, which is not here and is not fetched: its terms count as not defined. "
        "Name its file with another --ontology."
        for name in index.imports
    )


def _digest(paths: Sequence[Path]) -> str:
    sha = hashlib.sha256()
    for path in paths:
        try:
            sha.update(hashlib.sha256(path.read_bytes()).digest())
        except OSError:
            sha.update(b"unreadable")
        sha.update("".join(path.suffixes).encode())
    return sha.hexdigest()


def _cached(identity: str, triples: Callable[[], Iterable[ox.Triple]], cache: Path | None, where: str) -> OntologyIndex:
    index = _LATEST.get(identity) or _saved(identity, cache)
    if index is None:
        index = build_index(triples(), identity=identity)
        _save(index, cache)
    if not index.kinds and not index.classes:
        raise InputError(f"{where} defines no class and no property. Name a file or graph with an ontology in it.")
    _LATEST.pop(identity, None)
    _LATEST[identity] = index
    while len(_LATEST) > _MAX_INDEXES_KEPT:
        del _LATEST[next(iter(_LATEST))]
    return index


def _file(identity: str, cache: Path) -> Path:
    return cache / f"ontology-{identity[:32]}.json"


def _saved(identity: str, cache: Path | None) -> OntologyIndex | None:
    if cache is None:
        return None
    try:
        data = json.loads(_file(identity, cache).read_text(encoding="utf-8"))
        return OntologyIndex.from_json(data["index"]) if data["format"] == FORMAT else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _save(index: OntologyIndex, cache: Path | None) -> None:
    """Write another file, then swap; a cache that cannot be written is no reason to stop."""
    if cache is None:
        return
    target = _file(index.identity, cache)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        part = target.with_suffix(".part")
        part.write_text(json.dumps({"format": FORMAT, "index": index.to_json()}), encoding="utf-8")
        part.replace(target)
    except OSError:
        return
