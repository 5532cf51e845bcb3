"""Several knowledge bases asked as one, each with its own store and indexes.

``passages`` and ``auto`` return the hits, scores and answers that one knowledge base of all documents would: rankings
by meaning are merged, and the statistics of words are summed before any text is scored
(``kgrag.index.sharded_indexes``). Trees of ``sire_rag`` stay those of their shard; ``auto`` reads all of them, and
names lead from one to another. What else was built from the documents (facts, triples, citations) is not read here,
and ``differences`` says so.

Exact up to 50,000 chunks a shard with the embedded index: beyond, its neighbour graph is approximate, in one knowledge
base as in shards.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from kgrag import plugins, queries
from kgrag.capabilities import LeftToEvidence, OwnAnswer
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import (
    EmbeddingMismatch,
    InputError,
    InvalidSettings,
    ServiceError,
    StateError,
    StorageFailed,
    UnknownName,
)
from kgrag.index import bm25
from kgrag.index.sharded_indexes import Shard, ShardedStore, ShardLost
from kgrag.knowledge_base.facade import KnowledgeBase
from kgrag.model import Allowed, Answer, Hit
from kgrag.ports import Method
from kgrag.querying.document_filters import Where
from kgrag.settings import Settings, is_address, read_settings
from kgrag.vocab import digest

if TYPE_CHECKING:
    from kgrag.knowledge_base.given_parts import GivenEmbedder, GivenModel, GivenReranker

__all__ = ["METHODS", "Shards"]

METHODS = ("auto", "passages")
"""The methods that shards are asked by."""
_WITHOUT_OTHER_GRAPHS = "others=0"


class _AskedShards(KnowledgeBase):
    """A view of the first shard whose store and indexes are those of all; it is only asked, and not to be closed."""

    _bases: Sequence[KnowledgeBase]

    @classmethod
    def of(cls, bases: Sequence[KnowledgeBase], store: ShardedStore) -> Self:
        first = bases[0]
        shared = {"embedder": first.embedder, "model": first.model}
        view = copy.copy(cast("Self", first))
        view.__class__ = cls
        own = {"_store": store, "_bases": bases, "path": None, "read_only": True, "_methods": {}, "_rerankers": {}}
        made = ("spaces", "search", "text_indexes", "runner")
        kept = {name: value for name, value in first.__dict__.items() if name not in made}
        view.__dict__ = {**kept, **shared, **own, "spaces": None}  # each space is asked of its shard
        return view

    def method(self, spec: str) -> Method:
        name, _, tail = spec.partition(":")
        if name not in METHODS:
            raise InvalidSettings(f"shards are asked by {' or '.join(METHODS)}, and not by '{spec}'. Ask each alone.")
        if name == DEFAULT_METHOD and "others=" not in tail:
            spec = f"{name}:{','.join(filter(None, [tail, _WITHOUT_OTHER_GRAPHS]))}"
        return super().method(spec)

    def own_answer(self, question: str, *, method: str, k: int = 5, where: Where | None = None) -> OwnAnswer:
        del question, method, k, where
        return LeftToEvidence()  # facts are those of a shard, and no answer about all

    def allowed(self, where: Where) -> Allowed:
        each, refused = [], []
        for base in self._bases:
            try:
                each.append(base.allowed(where))
            except UnknownName as error:  # a field that documents of another shard may have
                refused.append(error)
        if refused and not any(one.documents for one in each):
            raise refused[0]
        return Allowed(
            frozenset().union(*(one.documents for one in each)), frozenset().union(*(one.chunks for one in each))
        )


class Shards:
    """Knowledge bases that are asked as one; each document is in one of them.

    Args:
        shards: folders, which are read, or open knowledge bases, which stay the caller's.
        settings: default: those of the environment and of ``kgrag.toml``; folders are opened with them.
        model: as of ``KnowledgeBase``; default: that of the first shard.
        embedder: as of ``KnowledgeBase``, for folders.
        reranker: as of ``KnowledgeBase``; default: that of the first shard.
        partial: whether what does not answer is left out, and named by ``lost`` and each answer; else it is an error.

    Raises:
        InputError: there is no shard, no knowledge base in a folder, one is named twice, or bases differ in their base
            IRI.
        EmbeddingMismatch: one was embedded by another embedder.
        StorageFailed, ServiceError: a shard does not answer; with ``partial``, none does.
    """

    def __init__(
        self,
        shards: Sequence[str | Path | KnowledgeBase],
        *,
        settings: Settings | None = None,
        model: GivenModel = None,
        embedder: GivenEmbedder = None,
        reranker: GivenReranker = None,
        partial: bool = False,
    ) -> None:
        if not shards:
            raise InputError("there are no shards to ask. Name at least one knowledge base.")
        self.lost: dict[str, str] = {}
        self._partial = partial
        self._opened = ExitStack()
        self._bases: dict[str, KnowledgeBase] = {}
        self._asked: _AskedShards | None = None
        self._built_at: tuple[tuple[int, int], list[str]] = ((-1, 0), [])
        given: dict[str, Any] = {"settings": settings, "model": model, "embedder": embedder, "reranker": reranker}
        try:
            for number, shard in enumerate(shards, 1):
                self._take(shard, number, given)
            self._refuse_none()
            self._refuse_different()
        except BaseException:
            self.close()
            raise

    def _take(self, shard: str | Path | KnowledgeBase, number: int, given: Mapping[str, Any]) -> None:
        """Open one shard. Raises as the class."""
        place = str((shard.path or f"shard {number}") if isinstance(shard, KnowledgeBase) else shard)
        if place in self._bases or place in self.lost:
            raise InputError(f"{place} is named twice. Each shard is asked once.")
        try:
            self._bases[place] = shard if isinstance(shard, KnowledgeBase) else self._open(Path(shard), given)
        except (InputError, StorageFailed, ServiceError) as error:
            self._lose(place, error)

    def _open(self, folder: Path, given: Mapping[str, Any]) -> KnowledgeBase:
        settings = given["settings"] or read_settings(kb=folder)
        if is_address(settings.store):
            raise InvalidSettings(
                f"the store of {folder} would be {settings.store}, as that of every folder. Open it first."
            )
        if not (folder.is_dir() and any(folder.iterdir())):
            raise InputError(f"there is no knowledge base at {folder}.")
        own = dict(given)
        if self._bases:  # an embedder is loaded once
            first = next(iter(self._bases.values()))
            own["embedder"] = first.embedder.inner
        return self._opened.enter_context(KnowledgeBase(folder, **{**own, "settings": settings}, read_only=True))

    def _lose(self, place: str, error: Exception) -> None:
        """Note that a shard does not answer. Raises what was raised where all have to."""
        if not self._partial:
            raise error
        self.lost[place] = str(error)
        self._bases.pop(place, None)
        self._asked = None

    def _refuse_none(self) -> None:
        if not self._bases:
            why = "; ".join(f"{place}: {error}" for place, error in self.lost.items())
            raise StorageFailed(f"none of the shards answers. {why}")

    def _refuse_different(self) -> None:
        (first, base), *others = self._bases.items()
        for place, other in others:
            if other.store.names.base != base.store.names.base:
                raise InputError(
                    f"{place} has the base IRI {other.store.names.base}, and {first} has {base.store.names.base}: "
                    "their documents have other names. Only one of them can be asked."
                )
            if other.embedder.identity != base.embedder.identity:
                raise EmbeddingMismatch(
                    f"{place} is embedded by {other.embedder.identity}, and {first} by {base.embedder.identity}. "
                    "Give both the same embedder."
                )

    # --- asking -------------------------------------------------------------------------------------------------

    def retrieve(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        rerank: str | None = None,
        where: Where | None = None,
        evidence_tokens: int | None = None,
    ) -> list[Hit]:
        """Return at most k hits of all shards, best first; the attribute ``shard`` says where each is.

        Arguments as of ``KnowledgeBase.retrieve``.

        Raises:
            InvalidSettings: the method is none of ``METHODS``.
            NotBuilt, InputError, UnknownName: as of ``KnowledgeBase.retrieve``.
            StorageFailed, ServiceError: a shard does not answer; with ``partial``, none does.
        """
        options = {"method": method, "k": k, "rerank": rerank, "where": where, "evidence_tokens": evidence_tokens}
        hits: list[Hit] = self._whoever_answers("retrieve", question, options)
        places = self.places_of(span.chunk for hit in hits for span in hit.sources)
        return [
            replace(
                hit, attributes={**hit.attributes, "shard": ", ".join(_each(places, [s.chunk for s in hit.sources]))}
            )
            for hit in hits
        ]

    def ask(self, question: str, **asked: Any) -> Answer:
        """Return the answer of all shards; ``explain`` says where each citation is from, and who and what is not asked.

        Args:
            question: what is asked.
            asked: as of ``KnowledgeBase.ask``, but ``keep``.

        Raises as ``retrieve``, and BudgetSpent as ``KnowledgeBase.ask``.
        """
        if asked.get("keep"):
            raise InputError("an answer of shards belongs to none of them, and is not kept. Leave keep out.")
        answer: Answer = self._whoever_answers("ask", question, asked)
        places = self.places_of(citation.chunk for citation in answer.citations)
        cited: dict[str, list[str]] = {}
        for number, citation in enumerate(answer.citations, 1):
            cited.setdefault(places.get(citation.chunk, ""), []).append(f"[{number}]")
        lines = [f"from {place}: {' '.join(numbers)}" for place, numbers in cited.items() if place]
        return replace(answer, explain=(*self.missing(), *self._not_asked(), *answer.explain, *lines))

    def _not_asked(self) -> list[str]:
        """Return a line that names what is built in shards and not read here; [] for nothing."""
        revision = sum(base.store.revision for base in self._bases.values())
        if self._built_at[0] != (revision, len(self._bases)):
            self._built_at = (revision, len(self._bases)), self._not_read()
        return self._built_at[1]

    def _not_read(self) -> list[str]:
        built = sorted({name for base in self._bases.values() for name in _built(base).split(", ") if name})
        return [f"not asked of shards: {', '.join(built)}"] if built else []

    def missing(self) -> list[str]:
        """Return a line that names the shards that do not answer, with the reasons; [] where all do."""
        if not self.lost:
            return []
        every = len(self._bases) + len(self.lost)
        why = "; ".join(f"{place}: {error}" for place, error in self.lost.items())
        return [f"partial: {len(self._bases)} of {every} shards answered, and what the others have is left out. {why}"]

    def places_of(self, chunks: Iterable[str]) -> dict[str, str]:
        """Return where each chunk is; one that no shard has is left out."""
        wanted = list(dict.fromkeys(chunks))
        places: dict[str, str] = {}
        for place, base in self._bases.items():
            words = bm25.fresh(base.store, base._folder("lexical"), save=False)
            here = (words.iris.places(wanted) >= 0).tolist() if len(words) else []
            places |= {chunk: place for chunk, is_here in zip(wanted, here, strict=False) if is_here}
        return places

    def _whoever_answers(self, call: str, question: str, options: Mapping[str, Any]) -> Any:
        """Return what a call returns; again without a shard that is lost meanwhile, where a part is enough."""
        while True:
            try:
                return getattr(self._view(), call)(question, **options)
            except ShardLost as lost:
                self._lose(lost.place, lost.__cause__ if isinstance(lost.__cause__, Exception) else lost)
                self._refuse_none()

    def _view(self) -> _AskedShards:
        """Return the shards as one, with what other processes wrote meanwhile."""
        for place, base in list(self._bases.items()):
            try:
                base.follow()
            except (StorageFailed, ServiceError, StateError) as error:
                self._lose(place, error)
        self._refuse_none()
        revision = sum(base.store.revision for base in self._bases.values())
        if self._asked is None or self._asked.store.revision != revision:
            shards = [
                Shard(place, base.store, base.spaces, base._folder("lexical")) for place, base in self._bases.items()
            ]
            self._asked = _AskedShards.of(list(self._bases.values()), ShardedStore(shards))
        return self._asked

    # --- care ---------------------------------------------------------------------------------------------------

    def stats(self) -> dict[str, Mapping[str, Any]]:
        """Return what ``KnowledgeBase.stats`` counts in each shard that answers, by place."""
        return {place: base.stats() for place, base in self._bases.items()}

    def differences(self) -> dict[str, list[str]]:
        """Compare the shards that answer.

        Returns:
            ``differing``: a line for each thing that is to be the same in all and is not (ontologies, model);
            ``not_asked``: what is built in them and not read here.
        """
        differing = []
        for what, described in (("ontologies", _ontologies), ("models", _models)):
            each = {place: described(base) for place, base in self._bases.items()}
            if len(set(each.values())) > 1:
                words = "; ".join(f"{place}: {of_one or 'none'}" for place, of_one in each.items())
                differing.append(f"{what} differ: {words}")
        return {"differing": differing, "not_asked": self._not_asked()}

    def close(self) -> None:
        """Close the folders; knowledge bases that were given stay open."""
        self._asked = None
        self._opened.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _each(places: Mapping[str, str], chunks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(places[chunk] for chunk in chunks if chunk in places))


def _ontologies(base: KnowledgeBase) -> str:
    """Return the ontologies of a knowledge base, each with a digest of its triples, in one line."""
    rows = base.store.select(queries.bind("schema/ontologies", catalogue=base.store.names.catalogue))
    graphs = sorted({row[0] for row in rows}, key=str)
    contents = ((graph, sorted(map(str, base.store.triples(graph)))) for graph in graphs)  # type: ignore[arg-type]
    return ", ".join(f"{graph} ({digest(*triples)[:8]})" for graph, triples in contents)


def _models(base: KnowledgeBase) -> str:
    return f"model {base.model.identity}, embedder {base.embedder.identity}"


def _built(base: KnowledgeBase) -> str:
    """Return the methods of which a knowledge base has graphs that shards do not read, in one line."""
    kinds = base.stats()["graphs"]
    names = (
        name
        for name, method in plugins.methods().items()
        if name != "sire_rag" and any(kind.iri.value.rpartition("#")[2] in kinds for kind in method.graph_kinds)
    )
    return ", ".join(sorted(names))
