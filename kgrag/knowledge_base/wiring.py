"""From settings to objects: what a knowledge base is made of, each part made when first used."""

from __future__ import annotations

import copy
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kgrag import plugins
from kgrag.errors import InvalidSettings, StateError, UnknownName
from kgrag.knowledge_base import services
from kgrag.knowledge_base.base_folder import refuse_other_folder
from kgrag.knowledge_base.given_parts import (
    GivenEmbedder,
    GivenModel,
    GivenReranker,
    given_embedder,
    given_model,
    given_reranker,
)
from kgrag.ports import (
    Closes,
    Embedder,
    LanguageModel,
    Method,
    OpenedStore,
    Reranker,
    TripleStore,
    VectorSpaces,
    Workers,
)
from kgrag.resources import closest
from kgrag.settings import EXTRACTIVE, Settings, folder_of, is_address, read_settings
from kgrag.store.lineage import first_lineage, lineage
from kgrag.typed_method import tunable

if TYPE_CHECKING:
    from kgrag.llm.budget import Budget
    from kgrag.llm.costs import Price
    from kgrag.llm.embedders import CachedEmbedder
    from kgrag.llm.period_budget import Period
    from kgrag.model import Usage
    from kgrag.querying.query_process import QueryProcess
    from kgrag.querying.searches import Search
    from kgrag.querying.text_indexes.text_indexes import TextIndexes

__all__ = ["Wiring"]

_LOG = logging.getLogger(__name__)
_STORE, _VECTORS, _LEXICAL, _CACHE, _MODELS = "store", "vectors", "lexical", "cache", "models"


class Wiring:
    """The store, the ports and the methods of one knowledge base; arguments as of ``KnowledgeBase``."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        model: GivenModel = None,
        embedder: GivenEmbedder = None,
        reranker: GivenReranker = None,
        read_only: bool = False,
    ) -> None:
        self.path = None if path is None else folder_of(path)
        if self.path is not None and not read_only:
            refuse_other_folder(self.path)
        self.settings = settings or read_settings()
        self.read_only = read_only
        self._given_model = given_model(model)
        self._given_embedder = given_embedder(embedder, self.settings)
        self._given_reranker = given_reranker(reranker)
        self._methods: dict[str, Method] = {}
        self._rerankers: dict[tuple[str, str], Reranker] = {}
        self._workers: Workers | None = None  # of a view of this knowledge base that builds
        self._closed = False
        self._store = self._open_store()
        if not read_only:
            self._finish_what_was_cut_short()

    def _open_store(self) -> OpenedStore:
        from kgrag.shacl import graph_validator

        base = self.settings.base_iri if "base_iri" in self.settings.model_fields_set else None
        if is_address(self.settings.store):
            return services.store_on_server(
                self.settings, self._folder(_STORE), base=base, validator=graph_validator(), read_only=self.read_only
            )
        opened: OpenedStore = plugins.load("kgrag.stores", self.settings.store)(
            self._folder(_STORE), base=base, validator=graph_validator(), read_only=self.read_only
        )
        return opened

    def _finish_what_was_cut_short(self) -> None:
        """Do what a killed process had begun and not come to, with one line in the log."""
        from kgrag.knowledge_base import document_sources, erasure, intake, waiting_uploads

        try:
            if self.path is not None and (uploads := waiting_uploads.warning(self.path)):
                _LOG.warning(uploads)
            if erasure.intended(self.path):
                _LOG.warning("finishing what was cut short: an erasure")
                erased = erasure.resume(self)
                for place in erased.found:
                    _LOG.warning("what was erased was found in %s", place)
                return
            forgotten, misplaced = intake.finish(self._store)
            if forgotten or misplaced:
                self._store.flush()
                names = ", ".join(one.title or one.document for one in forgotten)
                words = f"forgot {len(forgotten)} documents ({names})" if forgotten else "forgot no document"
                places = f", and took a place from {misplaced}" if misplaced else ""
                _LOG.warning("finished what was cut short: %s%s", words, places)
            if earlier := document_sources.register_earlier(self._store):
                self._store.flush()
                named = ", ".join(f"{one.name} ({one.root})" for one in earlier)
                _LOG.warning("registered the sources of documents that had none yet: %s. See kgrag sources", named)
        except BaseException:
            self._store.close()
            raise

    def _folder(self, *parts: str) -> Path | None:
        return None if self.path is None else self.path.joinpath(*parts)

    # --- the ports ---------------------------------------------------------------------------------------------

    @property
    def store(self) -> TripleStore:
        """The triple store. Raises StateError when the knowledge base is closed."""
        self._refuse_closed()
        return self._store

    def follow(self) -> int:
        """Learn of changes that another process made, where this one only reads a SPARQL server; return the revision.

        Raises:
            StateError: the knowledge base is closed.
            StorageFailed: the server cannot be reached.
        """
        self._refuse_closed()
        return self._store.follow()

    def reach_store(self) -> None:
        """Ask the SPARQL server that the store is on, if there is one, whether it answers.

        Raises:
            StateError: the knowledge base is closed.
            StorageFailed: it does not.
        """
        self._refuse_closed()
        self._store.reach()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StateError("this knowledge base is closed. Open it again.")

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedder of the settings, behind a cache by content."""
        from kgrag.llm.embedders import CachedEmbedder

        return CachedEmbedder(
            self._given_embedder or self._configured_embedder(),
            self._folder(_CACHE, "embeddings.sqlite"),
        )

    def _configured_embedder(self) -> Embedder:
        """Return the embedder of the settings; tests put another one in its place."""
        return services.configured_embedder(self.settings)

    @property
    def vectors(self) -> Path | None:
        """The folder of the vector spaces; None in memory."""
        return self._folder(_VECTORS)

    @cached_property
    def spaces(self) -> VectorSpaces:
        """The vector spaces, keyed by IRI."""
        if server := services.index_server(self.settings):
            from kgrag.index.postgres_vectors import PostgresSpaces

            return PostgresSpaces(
                server,
                origin=lambda: first_lineage(self.store),
                identity=self.embedder.identity,
                dimension=self.embedder.dimension,
                read_only=self.read_only,
                lineage=lambda revision: lineage(self.store, revision),
            )
        opened: VectorSpaces = plugins.load("kgrag.vectors", self.settings.vectors)(
            self.vectors,
            identity=self.embedder.identity,
            dimension=self.embedder.dimension,
            read_only=self.read_only,
            lineage=lambda revision: lineage(self.store, revision),
        )
        return opened

    @cached_property
    def model(self) -> LanguageModel:
        """The language model of the settings, behind a cache of completions; the extractive one needs none."""
        from kgrag.llm.completion_cache import CachedModel
        from kgrag.llm.extractive import ExtractiveModel

        if self._given_model is None and self.settings.model == EXTRACTIVE:
            return ExtractiveModel(lambda: self.embedder)
        inner = self._given_model or self._configured_model()
        mode, path = self.settings.completions, self._folder(_CACHE, "completions.sqlite")
        if mode == "record" and self.read_only and self.path is not None and not os.access(self.path, os.W_OK):
            path = None  # a disk that may only be read: what is paid for is kept for as long as this process lives
        return CachedModel(inner, path, mode=mode)

    def _configured_model(self) -> LanguageModel:
        """Return the registered model of that name, else the chat model of that name at ``base_url``."""
        if self.settings.model in plugins.registered("kgrag.models"):
            made: LanguageModel = plugins.load("kgrag.models", self.settings.model)(self.settings)
            return made
        return services.chat_service(self.settings)

    def reranker(self, spec: str | None, method: str) -> Reranker | None:
        """Return a reranker, made when first asked for; None for none.

        Args:
            spec: "model", "cross-encoder:NAME or folder" or a registered one; "" = none, None = that of the knowledge
                base.
            method: whose cost it is what the language model is asked.

        Raises:
            UnknownName: there is none of this name.
            InvalidSettings: a cross-encoder is not named.
            PluginBroken: it cannot be used.
        """
        given = self._given_reranker if spec is None else spec
        if given is not None and not isinstance(given, str):
            return given
        name = self.settings.reranker if given is None else given
        key = (name, method)
        if name and key not in self._rerankers:
            self._rerankers[key] = self._make_reranker(name, method)
        return self._rerankers.get(key)

    def _make_reranker(self, spec: str, method: str) -> Reranker:
        from kgrag.llm.local_rerankers import CrossEncoderReranker
        from kgrag.llm.model_reranker import ModelReranker

        kind, _, source = spec.partition(":")
        registered = plugins.registered("kgrag.rerankers")
        if spec in registered:
            made: Reranker = plugins.load("kgrag.rerankers", spec)(self.settings)
            return made
        if spec == "model":
            return ModelReranker(self.model_for(method))
        if kind == "cross-encoder":
            if not source:
                raise InvalidSettings(
                    "reranker 'cross-encoder' names no model. Write cross-encoder:NAME or its folder."
                )
            return CrossEncoderReranker(source)
        hint = closest(spec, [*registered, "cross-encoder:NAME", "model"])
        raise UnknownName(f"there is no reranker '{spec}'. {hint}")

    @cached_property
    def search(self) -> Search:
        """Runs the searches by meaning and by words that a SPARQL query asks for."""
        from kgrag.answering.fusion import reciprocal_rank
        from kgrag.querying.searches import Search

        lexical = self._folder(_LEXICAL)
        return Search(
            self.store,
            self.spaces,
            self.embedder,
            self.text_indexes,
            fuse=reciprocal_rank,
            folder=lexical,
            read_only=self.read_only,
        )

    @cached_property
    def text_indexes(self) -> TextIndexes:
        """The indexes that users declared."""
        from kgrag.querying.text_indexes.indexed_texts import IndexFiles
        from kgrag.querying.text_indexes.text_indexes import TextIndexes

        files = IndexFiles(self._folder(_LEXICAL), self._folder(_CACHE), save=not self.read_only)
        return TextIndexes(self.store, files)

    @cached_property
    def runner(self) -> QueryProcess:
        """Runs queries that a model wrote: over the facts alone, in a process that can be killed."""
        from kgrag.querying.query_process import QueryProcess

        return QueryProcess(self.store, None if self.read_only else self._folder(_CACHE, "facts"))

    def method(self, spec: str) -> Method:
        """Return a method by name, with hyper-parameters where wanted: ``"og_rag:nodes=5,edges=2"``.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: it has no such hyper-parameter, or the value does not fit.
            StateError: the knowledge base is closed.
        """
        self._refuse_closed()
        if spec not in self._methods:
            self._methods[spec] = self._make(spec, lambda: self.model_for(spec))
        return self._methods[spec]

    def model_for(self, spec: str) -> LanguageModel:
        """Return the language model; what it is asked counts as the cost of a method."""
        from kgrag.llm.completion_cache import CachedModel

        model = self.model
        return model.around(model.inner, method=spec.partition(":")[0]) if isinstance(model, CachedModel) else model

    def asking(self, model: LanguageModel) -> Self:
        """Return this knowledge base with another language model: one with a budget, or one that only plans.

        It shares everything else, and is not to be closed.
        """
        shared = {"embedder": self.embedder, "spaces": self.spaces, "runner": self.runner}
        view = copy.copy(self)
        view.__dict__ = {**self.__dict__, **shared, "model": model, "_methods": {}, "_rerankers": {}}
        return view

    def reading(self, store: TripleStore) -> Self:
        """Return this knowledge base over a copy of its store, which is only read; itself where it is the store.

        It shares everything else, and is not to be closed.
        """
        if store is self._store:
            return self
        view = copy.copy(self)
        view.__dict__ = {**self.__dict__, "_store": store, "_methods": {}, "_rerankers": {}}
        return view

    def price(self) -> Price | None:
        """Return the price of the language model, as the settings have it; None where they have none."""
        from kgrag.llm.costs import price_of, read_prices

        return price_of(read_prices(self.settings.prices), self.settings.model)

    def costs(self) -> list[tuple[str, str, str, Usage]]:
        """Return what the language model cost: day (UTC), method ("" for none), model, and what was asked of it."""
        from kgrag.llm.completion_cache import CachedModel

        kept = CachedModel(self.model, self._folder(_CACHE, "completions.sqlite"))
        return (self.model if isinstance(self.model, CachedModel) else kept).costs()

    def priced_costs(self, method: str | None = None) -> list[dict[str, Any]]:
        """Return what ``costs`` does, of one method where it is named, each with its price where that is known."""
        from dataclasses import asdict

        from kgrag.llm.costs import price_of, read_prices, rounded_money

        prices = read_prices(self.settings.prices)
        rows: list[dict[str, Any]] = []
        for day, name, model, usage in self.costs():
            if method in (None, name):
                price = price_of(prices, model)
                money = {} if price is None else {"price": rounded_money(price.of(usage), 6)}
                rows.append({"day": day, "method": name, "model": model, **asdict(usage), **money})
        return rows

    def limit_spending(self, budget: Budget, period: Period) -> None:
        """Limit what the language model is asked for in a day or a month (UTC), restarts included.

        What counts is what completions cost that were kept; the extractive model costs nothing.

        Raises:
            InvalidSettings: completions are not kept, so that nothing says what was spent.
        """
        from kgrag.llm.completion_cache import CachedModel
        from kgrag.llm.period_budget import PeriodBudgetedModel

        model = self.model
        if not isinstance(model, CachedModel):
            return
        if model.mode == "off":
            raise InvalidSettings('a budget needs the record of costs. Take out completions = "off".')
        inner = PeriodBudgetedModel(model.inner, budget, period=period, costs=model.costs)
        self.__dict__["model"] = model.around(inner)

    def within(self, budget: Budget) -> LanguageModel:
        """Return the language model with a budget; replies go to the same cache, and those in it cost nothing."""
        from kgrag.llm.budget import BudgetedModel
        from kgrag.llm.completion_cache import CachedModel

        model = self.model
        if isinstance(model, CachedModel):
            return model.around(BudgetedModel(model.inner, budget))
        return BudgetedModel(model, budget)

    def method_within(self, spec: str, budget: Budget | None) -> Method:
        """Return a method as ``method`` does, with a language model that stops when a budget is spent; None: none."""
        if budget is None:
            return self.method(spec)
        return self.asking(self.within(budget)).method(spec)

    def _make(self, spec: str, model: Callable[[], LanguageModel]) -> Method:
        from kgrag.store.scratch import OxigraphScratch

        name, _, tail = spec.partition(":")
        kind: Any = plugins.implementation(name)
        ports: dict[str, Callable[[], Any]] = {
            "store": lambda: self.store,
            "spaces": lambda: self.spaces,
            "embedder": lambda: self.embedder,
            "model": model,
            "max_tokens": lambda: self.settings.max_tokens,
            "lexical": lambda: self._folder(_LEXICAL),
            "weights": lambda: self._folder(_MODELS),
            "read_only": lambda: self.read_only,
            "open_scratch": lambda: OxigraphScratch,
            "runner": lambda: self.runner,
            "method": lambda: self.method,
            "workers": lambda: self._workers,
        }
        declared = {field.name for field in fields(kind)}
        wired = {port: make() for port, make in ports.items() if port in declared}
        made: Method = kind(**wired, **_hyper_parameters(spec, tail, tunable(kind)))
        return made

    def release_copies(self) -> None:
        """Let go of what was made from the store and kept in files of its own; each is made again when next used."""
        for name in ("embedder", "runner"):
            made = self.__dict__.get(name)
            if isinstance(made, Closes):
                made.close()
        for name in ("runner", "search", "text_indexes"):
            self.__dict__.pop(name, None)
        self._methods.clear()

    def close(self) -> None:
        """Save what is in memory and release the folder."""
        for name in ("embedder", "model", "runner", "spaces"):
            made = self.__dict__.get(name)  # a part that nobody used was never made
            if isinstance(made, Closes):
                made.close()
        self._store.close()
        self._closed = True

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _hyper_parameters(spec: str, tail: str, known: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for item in filter(None, tail.split(",")):
        key, equals, text = item.partition("=")
        if key not in known or not equals:
            raise InvalidSettings(f"'{spec}': {item!r} is no hyper-parameter. {closest(key, known)}")
        values[key] = _like(known[key], text, f"'{spec}': {key}")
    return values


def _like(example: Any, text: str, where: str) -> Any:
    """Read a value of the same type as the default."""
    try:
        if isinstance(example, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(example, int | float):
            return type(example)(text)
    except (KeyError, ValueError):
        raise InvalidSettings(f"{where}: {text!r} is not a {type(example).__name__}. Default: {example}.") from None
    return text
