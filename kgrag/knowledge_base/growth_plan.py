"""What a knowledge base with more documents would need, by what is stored of the documents that it has.

What documents and methods wrote is taken to grow with the documents, as many of each sort as now: twice the documents,
twice the quads. What people loaded or keep stays. A figure that was not measured here is left out, with what to do to
have it measured, and one for more than a hundred times the documents is marked. Nothing is asked of a language model.

Queries read: ``plan/*``, ``documents/count``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.errors import EmbeddingMismatch, InputError
from kgrag.knowledge_base import build_marks
from kgrag.llm.completion_cache import CachedModel
from kgrag.model import Usage
from kgrag.settings import is_address
from kgrag.store.graph_kinds import kinds
from kgrag.vocab import KG

if TYPE_CHECKING:
    from kgrag.declarations import MethodDeclaration
    from kgrag.knowledge_base.wiring import Wiring

__all__ = ["MAX_TIMES_MEASURED", "MIN_DOCUMENTS", "GrowthPlan", "PlannedAmount", "growth_plan"]

MIN_DOCUMENTS = 20
"""Documents from which one document is taken to be like another."""
MAX_TIMES_MEASURED = 100
"""How many times the documents a plan may be for, and not be marked."""
_MIN_EMBEDDED = 500
"""Texts from which the time that embedding took is a rate."""
_NORMAL = 1.645
"""Standard deviations on either side that cover nine of ten."""
_TABLES = ".sst"
"""The store's files that hold quads; what else is in its folder does not grow with them."""
_COPIES = "store.views"
"""Hard links to files of the store, for those who read beside a writer."""
_DOCUMENTS, _PROVENANCE, _KEPT, _ALL, _DISK = "documents", "provenance", "kept as it is", "all", "disk"
_STEADY_KINDS = frozenset(
    kind.value
    for kind in (
        KG.AnswerGraph,
        KG.AuditGraph,
        KG.DataGraph,
        KG.FeedbackGraph,
        KG.IndexGraph,
        KG.OntologyGraph,
        KG.ProfileGraph,
        KG.QueryGraph,
    )
)
"""Kinds of graph that people fill, whichever method made one: they do not follow from documents."""
_DESIGNS = (
    (100_000, "one folder with the embedded store, as here; measured with 100,000 short documents"),
    (
        1_000_000,
        "one good machine, with the store in a SPARQL server (KGRAG_STORE); estimated, never measured at this size",
    ),
)
_NO_DESIGN = (
    "none that was measured: documents would have to be divided among knowledge bases (kgrag shards), and methods that "
    "ask a model be built of a share of the chunks (kgrag build METHOD --share). Nothing is promised at this size"
)


@dataclass(frozen=True, slots=True)
class PlannedAmount:
    """How much there is of something, and how much there would be.

    Attributes:
        part: "documents", the name of a method, "provenance", "kept as it is", "disk", or "all".
        quantity: chunks, graphs, quads, vectors, completions, input_tokens, output_tokens; price (of the settings'
            currency); embedding_seconds; of the disk the name of a folder, in bytes.
        measured: what there is now; None where it was not measured.
        planned: what there would be; None where it was not measured.
        note: why there is no figure, and what to do; or what is known of the figure; "" for none.
    """

    part: str
    quantity: str
    measured: float | None
    planned: float | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class GrowthPlan:
    """What a number of documents would need.

    Attributes:
        documents: for which it is.
        measured_documents: what it goes by.
        design: what a knowledge base of this size runs on, and whether that was measured.
        spread: the share by which the mean size of documents may be off, nine times in ten, if those that are there
            were drawn by chance from all.
        caution: why the figures may not hold as a whole; "" for no reason.
        amounts: each part with its quantities.
    """

    documents: int
    measured_documents: int
    design: str
    spread: float
    caution: str
    amounts: tuple[PlannedAmount, ...]


def growth_plan(kb: Wiring, documents: int) -> GrowthPlan:
    """Return what a number of documents would need; see the module.

    Args:
        kb: is only read.
        documents: how many there would be in all.

    Raises:
        InputError: ``documents`` is below 1.
    """
    if documents < 1:
        raise InputError(f"--documents {documents}: a plan is for one document or more.")
    contents = _Contents.of(kb)
    measured = contents.graphs[_DOCUMENTS]
    amounts = _Planning(kb, contents, documents).amounts() if measured >= MIN_DOCUMENTS else _unmeasured(measured)
    design = next((words for most, words in _DESIGNS if documents <= most), _NO_DESIGN)
    return GrowthPlan(documents, measured, design, contents.spread, _caution(documents, measured), tuple(amounts))


def _unmeasured(measured: int) -> Iterator[PlannedAmount]:
    why = f"{measured} documents are too few. Ingest at least {MIN_DOCUMENTS} of the same sort first"
    yield _unknown(_ALL, "quads", why)


def _caution(documents: int, measured: int) -> str:
    if measured >= MIN_DOCUMENTS and documents > MAX_TIMES_MEASURED * measured:
        return (
            f"beyond {MAX_TIMES_MEASURED} times what was measured ({measured:,} documents): take the figures as "
            "directions, and plan again from more documents"
        )
    return ""


@dataclass(frozen=True, slots=True)
class _Contents:
    """What each part has; the quads of a part include what the catalogue says of its graphs.

    ``latest`` is the revision at which a graph of the part was last written; ``sizes`` are of documents: how many
    graphs, their triples, and the sum of the squares of these.
    """

    graphs: Counter[str]
    quads: Counter[str]
    latest: Counter[str]
    sizes: Counter[str]

    @property
    def spread(self) -> float:
        """The share by which the mean size of documents may be off, nine times in ten, if these are drawn by chance."""
        count, whole, squares = (self.sizes[name] for name in ("graphs", "triples", "squares"))
        if count < 2 or not whole:
            return 0.0
        variance = max(0.0, (squares - whole * whole / count) / (count - 1))
        return _NORMAL * math.sqrt(variance / count) / (whole / count)

    @classmethod
    def of(cls, kb: Wiring) -> _Contents:
        contents = cls(Counter(), Counter(), Counter(), Counter())
        uncounted: dict[str, str] = {}
        for kind, method, count, triples, entries, squares in _rows(kb, "plan/entries"):
            part = _part(kind, method)
            contents.quads[part] += int(entries)
            known = kinds().get(kind)
            if known is None or known.iri == KG.CatalogueGraph:
                continue
            contents.graphs[part] += int(count)
            contents.quads[part] += int(triples) if known.counted else 0
            if not known.counted:
                uncounted[kind] = part
            if part == _DOCUMENTS:
                contents.sizes.update(graphs=int(count), triples=int(triples), squares=int(squares))
        for kind, part in uncounted.items():
            ((size,),) = _rows(kb, "plan/kind_size", kind=kinds()[kind].iri)
            contents.quads[part] += int(size)
        contents.quads[_KEPT] += len(kb.store) - contents.quads.total()
        for kind, method, latest in _rows(kb, "plan/latest"):
            part = _part(kind, method)
            contents.latest[part] = max(contents.latest[part], int(latest))
        return contents


def _rows(kb: Wiring, query: str, **values: ox.NamedNode) -> list[tuple[str, ...]]:
    return kb.store.select(queries.bind(query, catalogue=kb.store.names.catalogue, **values)).values()


def _part(kind: str, method: str) -> str:
    """Return the part that graphs of a kind belong to."""
    if kind == KG.DocumentGraph.value:
        return _DOCUMENTS
    if kind == KG.ProvenanceGraph.value:
        return _PROVENANCE
    owner = next((name for name, one in plugins.methods().items() if kind in _kinds_of(one)), method)
    return owner if owner in plugins.methods() and kind not in _STEADY_KINDS else _KEPT


def _kinds_of(method: MethodDeclaration) -> set[str]:
    return {kind.iri.value for kind in method.graph_kinds}


@dataclass(frozen=True, slots=True)
class _Planning:
    """One plan: what grows is multiplied by ``times``."""

    kb: Wiring
    contents: _Contents
    documents: int

    @property
    def times(self) -> float:
        return self.documents / self.contents.graphs[_DOCUMENTS]

    def amounts(self) -> Iterator[PlannedAmount]:
        """Yield the parts, then the sums."""
        vectors = self._vectors()
        chunks = int(self.kb.store.select(queries.bind("documents/count")).values()[0][0])
        yield self._grown(_DOCUMENTS, "chunks", chunks)
        yield from self._sizes(_DOCUMENTS, vectors)
        for name, method in sorted(plugins.methods().items()):
            if not method.graph_kinds:
                yield PlannedAmount(name, "quads", 0, 0, "nothing of its own: it reads what is there")
            elif self.contents.graphs[name]:
                yield from self._method(method, vectors)
            else:
                yield _unknown(name, "quads", f"it is not built here. `kgrag build {name}` first")
        yield self._grown(_PROVENANCE, "quads", self.contents.quads[_PROVENANCE])
        kept = self.contents.quads[_KEPT]
        yield PlannedAmount(_KEPT, "quads", kept, kept, "loaded, inferred, asked or kept: not planned")
        quads = PlannedAmount(_ALL, "quads", len(self.kb.store), self._all_quads())
        yield quads
        yield from self._embedding(vectors)
        yield from self._disk(quads)

    def _grown(self, part: str, quantity: str, measured: float, note: str = "") -> PlannedAmount:
        return PlannedAmount(part, quantity, measured, _whole(measured * self.times), note)

    def _sizes(self, part: str, vectors: Mapping[str, int] | None, note: str = "") -> Iterator[PlannedAmount]:
        yield self._grown(part, "graphs", self.contents.graphs[part], note)
        yield self._grown(part, "quads", self.contents.quads[part])
        if vectors and part in vectors:
            yield self._grown(part, "vectors", vectors[part])

    def _all_quads(self) -> int:
        kept = self.contents.quads[_KEPT]
        return kept + round((len(self.kb.store) - kept) * self.times)

    # --- a method -----------------------------------------------------------------------------------------------

    def _method(self, method: MethodDeclaration, vectors: Mapping[str, int] | None) -> Iterator[PlannedAmount]:
        name, store = method.name, self.kb.store
        if name in build_marks.unfinished(store) or name in build_marks.undone(store):
            yield _unknown(name, "quads", f"a part of its last build is pending. `kgrag build {name}` first")
        elif self.contents.latest[_DOCUMENTS] > self.contents.latest[name]:
            yield _unknown(name, "quads", f"documents came after what it wrote last. `kgrag build {name}` first")
        else:
            left_out = build_marks.left_out(store).get(name)
            yield from self._sizes(name, vectors, f"of the same share: {left_out} here" if left_out else "")
            if method.build_prompts:
                yield from self._paid(method)

    def _paid(self, method: MethodDeclaration) -> Iterator[PlannedAmount]:
        """Yield what a build asks of the model, where this one was paid for all of it."""
        paid = {name: one for name, one in _replies(self.kb).items() if name in method.build_prompts}
        models = {model for replies in paid.values() for model in replies}
        if models != {self.kb.model.identity}:
            others = f"{', '.join(sorted(models))} was asked" if models else "nothing was paid for its build"
            yield _unknown(method.name, "completions", f"{others}, and the model is {self.kb.model.identity}")
            return
        usage = sum((one for replies in paid.values() for one in replies.values()), start=Usage())
        for quantity in ("completions", "input_tokens", "output_tokens"):
            yield self._grown(method.name, quantity, getattr(usage, quantity))
        price = self.kb.price()
        if price is None:
            yield PlannedAmount(
                method.name, "price", None, None, "kgrag.toml has no price of this model: set it in [prices]"
            )
        else:
            yield self._grown(method.name, "price", price.of(usage))

    # --- vectors and disk ---------------------------------------------------------------------------------------

    def _vectors(self) -> dict[str, int] | None:
        """Return how many vectors each part has; None where the embedder is another than they were made by."""
        counts = Counter[str]()
        try:
            for name in self.kb.spaces.names():
                counts[_part_of_space(name)] += len(self.kb.spaces.space(name))
        except EmbeddingMismatch:
            return None
        return dict(counts)

    def _embedding(self, vectors: Mapping[str, int] | None) -> Iterator[PlannedAmount]:
        if not vectors:
            yield _unknown(_ALL, "vectors", "nothing is embedded by this embedder. `kgrag build passages` first")
            return
        kept = vectors.get(_KEPT, 0)
        everything = sum(vectors.values())
        planned = kept + round((everything - kept) * self.times)
        yield PlannedAmount(_ALL, "vectors", everything, planned)
        texts, seconds = self.kb.embedder.pace()
        if texts < _MIN_EMBEDDED or not seconds:
            why = f"the time of {texts} texts was kept, {_MIN_EMBEDDED} are needed. Ingest more first"
            yield _unknown(_ALL, "embedding_seconds", why)
        else:
            note = f"{texts / seconds:,.0f} texts per second on the machine that embedded them"
            pace = seconds / texts
            yield PlannedAmount(_ALL, "embedding_seconds", everything * pace, planned * pace, note)

    def _disk(self, quads: PlannedAmount) -> Iterator[PlannedAmount]:
        """Yield the bytes of each folder: the store's grow with quads, the others' with documents."""
        if self.kb.path is None:
            yield _unknown(_DISK, "all", "this knowledge base is in memory")
            return
        measured, planned, elsewhere = 0.0, 0.0, dict(self._elsewhere())
        for name, place in elsewhere.items():
            yield _unknown(_DISK, name, place)
        for folder in sorted(self.kb.path.iterdir()):
            if folder.is_dir() and folder.name not in (_COPIES, *elsewhere):
                one = self._folder(folder, quads)
                yield one
                measured, planned = measured + (one.measured or 0), planned + (one.planned or 0)
        yield PlannedAmount(_DISK, "all", measured, planned, f"without {', '.join(elsewhere)}" if elsewhere else "")

    def _elsewhere(self) -> Iterator[tuple[str, str]]:
        """Yield what is not in the folder of this knowledge base, and where it is."""
        if is_address(self.kb.settings.store):
            yield "store", "it is in a SPARQL server"
        if self.kb.settings.index.get_secret_value():
            yield "vectors", "they are in PostgreSQL"

    def _folder(self, folder: Path, quads: PlannedAmount) -> PlannedAmount:
        if folder.name == "store":
            whole, tables = _bytes(folder), _bytes(folder, _TABLES)
            times = (quads.planned or 0) / (quads.measured or 1)
            note = "rough: until the store has merged its files, a quad may take twice the bytes"
            return PlannedAmount(_DISK, folder.name, whole, round(whole + tables * (times - 1)), note)
        size, note = _bytes(folder), "at most: documents share words" if folder.name == "lexical" else ""
        if folder.name in ("vectors", "lexical", "cache"):
            return self._grown(_DISK, folder.name, size, note)
        return PlannedAmount(_DISK, folder.name, size, size, "does not grow with documents")


def _unknown(part: str, quantity: str, why: str) -> PlannedAmount:
    return PlannedAmount(part, quantity, None, None, f"not measured: {why}")


def _part_of_space(name: str) -> str:
    """Return the part whose vectors a space has."""
    if name == "chunk":
        return _DOCUMENTS
    for method, declared in plugins.methods().items():
        if name in {space.name for space in declared.vector_spaces}:
            return method
    return _KEPT


def _replies(kb: Wiring) -> Mapping[str, Mapping[str, Usage]]:
    """Return what whole replies took that were paid here, by prompt and model."""
    return kb.model.paid_replies() if isinstance(kb.model, CachedModel) else {}


def _bytes(folder: Path, suffix: str = "") -> int:
    return sum(file.stat().st_size for file in folder.rglob(f"*{suffix}") if file.is_file())


def _whole(amount: float) -> float:
    return round(amount) if amount >= 1 or not amount else amount
