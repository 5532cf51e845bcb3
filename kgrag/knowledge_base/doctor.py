"""Checks of a knowledge base: store, catalogue, shapes, content and vectors against each other.

Queries read: ``health/*``, ``catalogue/uncatalogued``, ``catalogue/quarantined``,
``provenance/receipts``, and those of vector spaces; ``health/without_language`` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries, shacl
from kgrag.capabilities import ChecksFiles
from kgrag.errors import EmbeddingMismatch, KgragError, StorageFailed
from kgrag.index import bm25, vector_files, vector_spaces
from kgrag.knowledge_base import build_marks, waiting_uploads
from kgrag.knowledge_base.receipts import receipts
from kgrag.model import plain
from kgrag.ports import CopiesItself, DescribesItself, Embedder, FindsDamage, Method, TripleStore, VectorSpaces
from kgrag.querying.text_indexes.text_indexes import TextIndexes
from kgrag.reasoning.inference import stale_inferences
from kgrag.store.readable_terms import fault_of
from kgrag.vocab import local_name

__all__ = ["Finding", "examine", "examine_indexes"]

MAX_VECTORS_COMPARED = 32
"""How many vectors of a space are compared with those of their texts, spread over all."""
MIN_COSINE_OF_ONE_TEXT = 0.98
"""The least cosine of two vectors of one text: models are exact to some places only."""
_WRITTEN_ANEW = (
    "Forget what it is of, and ingest, load or build it again: what did not change at its source is not written anew."
)
_MAX_ROWS_PER_CHECK = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check: what was found and what to do; ``mended`` when that has been done.

    ``fault`` is False for what is in order and worth knowing, such as vectors that are made on the next use.
    """

    check: str
    message: str
    mended: bool = False
    fault: bool = True


def examine(
    store: TripleStore,
    *,
    spaces: VectorSpaces,
    embedder: Embedder,
    repair: bool = False,
    folder: Path | None = None,
    methods: Callable[[TripleStore], Iterable[Method]] = lambda _: (),
) -> list[Finding]:
    """Return all findings; a healthy knowledge base has no fault among them. Of a damaged store nothing else is read.

    Args:
        store: the store.
        spaces: its vector spaces.
        embedder: embeds again what a repair needs.
        repair: bring vector spaces up to date; one that is wrong is dropped first and made anew. Wrong files that the
            next use makes again are deleted. Text in a language without the language becomes plain text.
        folder: of the knowledge base; None in memory.
        methods: those whose files are compared with the store, over a copy of it.
    """
    if isinstance(store, CopiesItself):
        try:
            with store.copied() as copy:
                found = list(_unreadable(copy, store if repair else None))
                found += _examined(copy, spaces, folder, methods(copy), embedder, repair)
        except StorageFailed as error:
            return [Finding("store", str(error))]
    elif isinstance(store, FindsDamage) and (damage := store.damage()):
        return [Finding("store", each) for each in damage]
    else:
        found = list(_unreadable(store, store if repair else None))
        found += _examined(store, spaces, folder, methods(store), embedder, repair)
    return found


def _examined(
    store: TripleStore,
    spaces: VectorSpaces,
    folder: Path | None,
    methods: Iterable[Method],
    embedder: Embedder,
    repair: bool,
) -> Iterator[Finding]:
    from kgrag.audit.recomputation import recomputed  # an audit's modules take time that only a doctor is to pay
    from kgrag.audit.updated_graphs import updated

    yield from _catalogue(store)
    for each in shacl.graph_violations(store)[:_MAX_ROWS_PER_CHECK]:
        yield Finding("shapes", f"{each.focus} in <{each.graph}>: {each.message}")
    for row in islice(recomputed(store), _MAX_ROWS_PER_CHECK):
        yield Finding("recomputed", f"{row['message']}. {_WRITTEN_ANEW}")
    for row in islice(updated(store), _MAX_ROWS_PER_CHECK):
        yield Finding("updates", f"{row['message']}. `kgrag audit --profile kg` lists each.", fault=False)
    if isinstance(spaces, DescribesItself):
        yield Finding("index", spaces.described(store.revision), fault=False)
    else:
        yield from _vector_files(folder, spaces, repair)
    yield from _vectors(store, spaces, embedder, repair)
    yield from _files(store, folder, methods, repair)
    if folder is not None and (uploads := waiting_uploads.warning(folder)):
        yield Finding("uploads", f"{uploads}.", fault=False)


def _unreadable(store: TripleStore, mends: TripleStore | None) -> Iterator[Finding]:
    """Yield what stands in the way of every dump; literals become plain text in the store that is to be mended."""
    found = {}
    for graph_name, subject, value in store.select(queries.bind("health/maybe_unreadable")):
        if fault := fault_of(value) or fault_of(subject):
            found[plain(graph_name)] = isinstance(value, ox.Literal), fault
    if mends is not None and any(is_literal for is_literal, _ in found.values()):
        mends.update(queries.bind("health/without_language"))
    for graph, (is_literal, fault) in islice(sorted(found.items()), _MAX_ROWS_PER_CHECK):
        instead = "`kgrag doctor --repair` does so" if is_literal else "GET the graph as JSON-LD, and PUT it back"
        yield Finding("unreadable", f"<{graph}>: {fault} {instead}.", mended=mends is not None and is_literal)


def examine_indexes(indexes: TextIndexes) -> list[Finding]:
    """Bring the indexes that users declared up to date, and return those that cannot be, with the reason."""
    return [Finding("indexes", problem) for problem in indexes.problems()]


def _catalogue(store: TripleStore) -> Iterator[Finding]:
    catalogue = store.names.catalogue
    for name, words in (
        ("catalogue/uncatalogued", "is in the store but not in the catalogue. Load it again, or drop it by an update."),
        ("catalogue/quarantined", "holds data that failed its shape; see its kg:violation."),
    ):
        values = {"catalogue": catalogue} if "catalogue" in queries.describe(name).parameters else {}
        for row in store.select(queries.bind(name, **values)).values()[:_MAX_ROWS_PER_CHECK]:
            yield Finding(local_name(name), f"<{row[0]}> {words}")
    for graph, chunks in store.select(queries.bind("health/without_document")).values()[:_MAX_ROWS_PER_CHECK]:
        words = (
            f"has {chunks} chunks whose document is not stored, as after half of a dump. Import the whole dump again"
        )
        yield Finding("documents", f"<{graph}> {words}, into a new --kb, or ingest the document anew.")
    for receipt in receipts(store):
        if receipt.key and not receipt.holds:
            words = "was changed after it was signed, or its signature was. Compare it with a backup."
            yield Finding("receipt", f"<{receipt.iri}> {words}")
    for (label,) in store.select(queries.bind("health/unsupported", catalogue=catalogue)).values():
        words = "is accepted, and every statement that spoke for it was forgotten."
        yield Finding("unsupported", f"'{label}' {words} `kgrag proposals --reopen` takes it back.", fault=False)
    for method in build_marks.unfinished(store):
        yield Finding("unfinished", build_marks.warning(store, method), fault=False)
    for (graph,) in store.select(queries.bind("health/stale", catalogue=catalogue)).values():
        yield Finding("stale", f"<{graph}> lost a source; the next build of its method mends it.", fault=False)
    for inferred in stale_inferences(store)[:_MAX_ROWS_PER_CHECK]:
        words = "was inferred from what changed since, so that it may no longer follow. `kgrag reason` infers it anew."
        yield Finding("stale", f"{inferred} {words}", fault=False)


def _vectors(store: TripleStore, spaces: VectorSpaces, embedder: Embedder, repair: bool) -> Iterator[Finding]:
    for name in vector_spaces.spaces():
        try:
            finding = _space(store, spaces, name) or _compared(store, spaces, embedder, name)
        except EmbeddingMismatch as error:
            finding = Finding("vectors", str(error))
        if finding is None:
            continue
        if repair and finding.check == "vectors":
            if finding.fault:
                spaces.drop(name)
            vector_spaces.fresh(name, store=store, spaces=spaces, embedder=embedder)
            finding = replace(finding, mended=True)
        yield finding


def _vector_files(folder: Path | None, spaces: VectorSpaces, repair: bool) -> Iterator[Finding]:
    """Compare the files of vector spaces with their checksums; a repair drops what is damaged, to be made anew."""
    if folder is None:
        return
    for name in sorted(vector_spaces.spaces()):
        faults = vector_files.faults(folder / "vectors" / name)
        if faults and repair:
            spaces.drop(name)
        for message in faults:
            yield Finding("vectors", f"{message} The next use makes the vectors again.", mended=repair)


def _files(store: TripleStore, folder: Path | None, methods: Iterable[Method], repair: bool) -> Iterator[Finding]:
    lexical = None if folder is None else folder / "lexical"
    faults = [fault for space in vector_spaces.spaces() for fault in bm25.faults(store, lexical, space=space)]
    faults += [fault for method in methods if isinstance(method, ChecksFiles) for fault in method.file_faults()]
    for fault in faults:
        mended = repair and fault.remade
        if mended:
            fault.path.unlink(missing_ok=True)
        yield Finding("files", fault.message, mended=mended)


def _compared(store: TripleStore, spaces: VectorSpaces, embedder: Embedder, name: str) -> Finding | None:
    """Compare some vectors of a space with those of their texts, which the cache of embeddings mostly has."""
    index = spaces.space(name)
    if index.revision < 0 or vector_spaces.changed(name, store=store, since=index.revision):
        return None  # the next use makes anew what changed
    keys = sorted(index.keys())
    chosen = keys[:: max(1, len(keys) // MAX_VECTORS_COMPARED)][:MAX_VECTORS_COMPARED]
    pairs = vector_spaces.texts(name, store=store, iris=chosen) if chosen else []
    if not pairs:
        return None
    try:
        again = embedder.embed([text for _, text in pairs], "passage")
    except KgragError as error:
        return Finding("embedder", f"space '{name}' was not compared with its texts: {error}", fault=False)
    cosines = (again * index.vectors([iri for iri, _ in pairs])).sum(axis=1)
    if wrong := [iri for (iri, _), cosine in zip(pairs, cosines, strict=True) if cosine < MIN_COSINE_OF_ONE_TEXT]:
        what = f"of {len(pairs)} vectors that were compared {len(wrong)} are not those of their texts, as of {wrong[0]}"
        return Finding("vectors", f"space '{name}': {what}. `kgrag doctor --repair` makes them anew.")
    return None


def _space(store: TripleStore, spaces: VectorSpaces, name: str) -> Finding | None:
    index = spaces.space(name)
    if vector_spaces.spaces()[name].on_demand and index.revision < 0:
        return None
    wanted = set(vector_spaces.keys(name, store=store))
    kept = set(index.keys())
    behind = vector_spaces.changed(name, store=store, since=index.revision)
    if missing := len(wanted - kept):
        message = f"space '{name}' lacks {missing} of {len(wanted)} vectors; the next use makes them."
        return Finding("vectors", message, fault=not behind)
    if extra := len(kept - wanted):
        message = f"space '{name}' keeps {extra} vectors of texts that are gone; the next use drops them."
        return Finding("vectors", message, fault=not behind)
    return None
