"""The facade that users hold: settings become objects, and one object does the work of every command.

>>> from kgrag.testing import HashEmbedder
>>> with KnowledgeBase(embedder=HashEmbedder()) as kb:
...     kb.stats()["documents"]
0
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidSettings, StateError, UnknownName
from kgrag.methods import METHODS
from kgrag.model import Answer, BuildReport, Hit, Publication, Table
from kgrag.ports import Embedder, LanguageModel, Method, TripleStore, VectorSpaces
from kgrag.resources import closest
from kgrag.settings import EXTRACTIVE, MINILM, Settings, read_settings
from kgrag.stages import answering, ingestion, keeping, rdf_files, statistics
from kgrag.stages.ingestion import IngestReport, Progress

if TYPE_CHECKING:
    import rdflib

    from kgrag.adapters.embedders import CachedEmbedder
    from kgrag.adapters.oxigraph import OxigraphStore
    from kgrag.adapters.query_process import QueryProcess
    from kgrag.ports import Scratch
    from kgrag.stages.health import Finding
    from kgrag.stages.sparql_check import Check

__all__ = ["KnowledgeBase"]

_STORE, _VECTORS, _LEXICAL, _CACHE = "store", "vectors", "lexical", "cache"


class KnowledgeBase:
    """One knowledge base: a folder, or memory.

    Args:
        path: the folder, created when absent; None keeps everything in memory.
        settings: defaults to what the environment and ``kgrag.toml`` say.
        model: a language model instead of the one that the settings name.
        embedder: an embedder instead of the one that the settings name.
        read_only: read beside another process that writes; nothing is saved.

    Raises:
        StoreLocked: another process writes to the folder.
        SchemaMismatch: the folder was written by a newer kgrag, or with another base IRI.
    """

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        model: LanguageModel | None = None,
        embedder: Embedder | None = None,
        read_only: bool = False,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.settings = settings or read_settings()
        self.read_only = read_only
        self._given_model = model
        self._given_embedder = embedder
        self._methods: dict[str, Method] = {}
        self._store = self._open_store()

    def _open_store(self) -> OxigraphStore:
        from kgrag.adapters.oxigraph import OxigraphStore
        from kgrag.stages.shacl import graph_validator

        base = self.settings.base_iri if "base_iri" in self.settings.model_fields_set else None
        return OxigraphStore.open(
            self._folder(_STORE), base=base, validator=graph_validator(), read_only=self.read_only
        )

    def _folder(self, *parts: str) -> Path | None:
        return None if self.path is None else self.path.joinpath(*parts)

    # --- the ports ---------------------------------------------------------------------------------------------

    @property
    def store(self) -> TripleStore:
        """The triple store."""
        return self._store

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedder of the settings, behind a cache by content."""
        from kgrag.adapters.embedders import CachedEmbedder

        return CachedEmbedder(
            self._given_embedder or self._configured_embedder(), self._folder(_CACHE, "embeddings.sqlite")
        )

    def _configured_embedder(self) -> Embedder:
        settings = self.settings
        if settings.embedder == MINILM:
            from kgrag.adapters.embedders import SentenceTransformerEmbedder

            return SentenceTransformerEmbedder()
        from kgrag.adapters.openai_service import OpenAIEmbedder

        key = settings.api_key.get_secret_value()
        return OpenAIEmbedder(settings.embedder, base_url=settings.base_url, api_key=key)

    @cached_property
    def spaces(self) -> VectorSpaces:
        """The vector spaces, keyed by IRI."""
        from kgrag.adapters.hnsw import FolderSpaces

        return FolderSpaces(
            self._folder(_VECTORS),
            identity=self.embedder.identity,
            dimension=self.embedder.dimension,
            read_only=self.read_only,
        )

    @cached_property
    def model(self) -> LanguageModel:
        """The language model of the settings; a paid one behind a cache of completions."""
        from kgrag.adapters.cached_model import CachedModel

        settings = self.settings
        if self._given_model is None and settings.model == EXTRACTIVE:
            from kgrag.adapters.extractive import ExtractiveModel

            return ExtractiveModel()
        inner = self._given_model or self._configured_model()
        return CachedModel(inner, self._folder(_CACHE, "completions.sqlite"), mode=settings.completions)

    @cached_property
    def runner(self) -> QueryProcess:
        """Runs queries that a model wrote: over the facts alone, in a process that can be killed."""
        from kgrag.adapters.query_process import QueryProcess

        return QueryProcess(self.store, None if self.read_only else self._folder(_CACHE, "facts"))

    def _configured_model(self) -> LanguageModel:
        from kgrag.adapters.openai_service import OpenAIModel

        settings = self.settings
        return OpenAIModel(
            settings.model,
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value(),
            concurrency=settings.concurrency,
            timeout=settings.timeout,
        )

    # --- in -----------------------------------------------------------------------------------------------------

    def load(self, *paths: str | Path, graph: str | None = None, rdf_format: str | None = None) -> Publication:
        """Load ontologies or any RDF, each file into a graph of its own; loading it again replaces that graph.

        Raises:
            InvalidRDF: a file does not parse; nothing of any file is loaded then.
        """
        target = None if graph is None else _iri(graph)
        drafts = [
            draft
            for path in paths
            for draft in rdf_files.read_rdf(Path(path), rdf_format=rdf_format, graph=target, names=self.store.names)
        ]
        publication = self.store.publish(drafts)
        self.store.flush()
        return publication

    def ingest(
        self, *paths: str | Path, chunk_tokens: int = 180, progress: Progress | None = None, embed: bool = True
    ) -> IngestReport:
        """Read documents (files or folders), chunk them, publish them, embed the chunks.

        A broken file inside a folder is reported and the rest goes on; one that is named itself raises.

        Raises:
            UnreadableDocument: nothing readable was found under a path.
        """
        from dataclasses import replace

        from kgrag.stages.reading import read_paths

        skipped: list[str] = []
        broken: list[str] = []
        source = read_paths([Path(path) for path in paths], skipped=skipped, broken=broken)
        report = ingestion.ingest(source, store=self.store, chunk_tokens=chunk_tokens, progress=progress)
        self.store.flush()
        if embed and report.documents + report.unchanged:
            self.build("passages", progress=progress)
        return replace(report, skipped=tuple(skipped), broken=tuple(broken))

    def build(self, method: str, **options: Any) -> BuildReport:
        """Build a method's graphs and vectors; ``options`` are those of the method's ``build``.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: the method has no such option.
        """
        chosen = self.method(method)
        known = _options(chosen.build)
        if unknown := options.keys() - known:
            raise InvalidSettings(
                f"method '{method}' has no build option {min(unknown)!r}. {closest(min(unknown), known)}"
            )
        report = chosen.build(**options)
        self.store.flush()
        return report

    # --- out ----------------------------------------------------------------------------------------------------

    def method(self, spec: str) -> Method:
        """Give a method by name, with hyper-parameters where wanted: ``"og_rag:nodes=5,edges=2"``.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: it has no such hyper-parameter, or the value does not fit.
        """
        if spec not in self._methods:
            self._methods[spec] = self._make(spec)
        return self._methods[spec]

    def _make(self, spec: str) -> Method:
        name, _, tail = spec.partition(":")
        if name not in METHODS:
            raise UnknownName(f"there is no method '{name}'. {closest(name, METHODS)}")
        module, _, cls = METHODS[name].partition(":")
        kind: Any = getattr(importlib.import_module(module), cls)
        ports: dict[str, Callable[[], Any]] = {
            "store": lambda: self.store,
            "spaces": lambda: self.spaces,
            "embedder": lambda: self.embedder,
            "model": lambda: self.model,
            "lexical": lambda: self._folder(_LEXICAL),
            "read_only": lambda: self.read_only,
            "open_scratch": lambda: _open_scratch,
            "runner": lambda: self.runner,
        }
        declared = {field.name: field.default for field in fields(kind)}
        wired = {port: make() for port, make in ports.items() if port in declared}
        tunable = {key: value for key, value in declared.items() if key not in ports}
        made: Method = kind(**wired, **_hyper_parameters(spec, tail, tunable))
        return made

    def retrieve(self, question: str, *, method: str = "passages", k: int = 5) -> list[Hit]:
        """Give at most k hits, best first.

        Raises:
            NotBuilt: the method has nothing to retrieve from yet.
            InputError: the question is empty, or k is below 1.
        """
        _sensible(question, k)
        return self.method(method).retrieve(question, k)

    def retrieve_timed(
        self, question: str, *, method: str = "passages", k: int = 5
    ) -> tuple[list[Hit], dict[str, float]]:
        """Give the hits, and the milliseconds that embedding, searching and both took."""
        self.method(method)
        embedded, start = self.embedder.seconds, time.perf_counter()
        hits = self.retrieve(question, method=method, k=k)
        total = 1000 * (time.perf_counter() - start)
        embed = 1000 * (self.embedder.seconds - embedded)
        return hits, {"embed": round(embed, 3), "search": round(total - embed, 3), "total": round(total, 3)}

    def ask(self, question: str, *, method: str = "passages", k: int = 5, keep: bool = False) -> Answer:
        """Answer with citations that were found in stored chunks, or say *unknown*; ``keep`` publishes the answer.

        A method that has an ``answer`` of its own, as those that answer from rows and not from texts, gives it.

        Raises:
            NotBuilt: the method has nothing to retrieve from yet.
            InputError: the question is empty, or k is below 1.
        """
        own = getattr(self.method(method), "answer", None)
        if own is None:
            hits = self.retrieve(question, method=method, k=k)
            answer = answering.answer(question, hits, model=self.model, store=self.store, method=method)
        else:
            _sensible(question, k)
            answer = own(question, k)
        if keep:
            self.store.publish([keeping.answer_draft(answer, names=self.store.names)])
        return answer

    def check(self, sparql: str) -> Check:
        """Say where a SPARQL query departs from the loaded ontologies and data; nothing is run.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        asker: Any = self.method("obqc")
        found: Check = asker.checked(sparql)
        return found

    def query(self, sparql: str) -> Table | bool | list[ox.Triple]:
        """Run a SPARQL query of the user's: rows, a truth value, or triples.

        Without FROM and outside GRAPH, a pattern matches the union of all named graphs.

        Raises:
            InvalidSPARQL: it does not parse, or asks for SERVICE.
        """
        results = self.raw_query(sparql)
        if isinstance(results, ox.QueryBoolean):
            return bool(results)
        if isinstance(results, ox.QueryTriples):
            return list(results)
        names = tuple(variable.value for variable in results.variables)
        return Table(names, [tuple(row) for row in results])

    def raw_query(self, sparql: str) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Run a SPARQL query of the user's and give pyoxigraph's results, which serialise themselves."""
        return self._store.query(sparql, union=True)

    def update(self, sparql: str) -> int:
        """Run a SPARQL Update atomically and give the new revision of the store."""
        return self.store.update(sparql)

    def graph(self, iri: str) -> list[ox.Triple]:
        """Give the triples of one named graph.

        Raises:
            UnknownName: the catalogue has no such graph.
        """
        node = _iri(iri)
        if not self.store.described(node):
            raise UnknownName(
                f"there is no graph <{iri}>. `kgrag stats` counts them, queries/catalogue/graphs lists them."
            )
        return list(self.store.triples(node))

    def to_rdflib(self, iri: str) -> rdflib.Graph:
        """Give one named graph to users of rdflib, a copy in memory."""
        import rdflib

        data = ox.serialize(self.graph(iri), format=ox.RdfFormat.N_TRIPLES)
        return rdflib.Graph(identifier=iri).parse(data=data, format="nt")

    # --- care ---------------------------------------------------------------------------------------------------

    def stats(self, method: str | None = None) -> Mapping[str, Any]:
        """Count what is there, or give a method's own figures."""
        if method is None:
            return statistics.overview(self.store)
        chosen = self.method(method)
        figures = getattr(chosen, "statistics", None)
        if figures is None:
            raise UnknownName(f"method '{method}' keeps no figures of its own. Run `kgrag stats`.")
        return dict(figures())

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Check store, catalogue, shapes and vectors against each other; mend what can be mended."""
        from kgrag.stages import health

        return health.examine(self.store, spaces=self.spaces, embedder=self.embedder, repair=repair)

    def export(self, target: str | Path) -> int:
        """Write every quad as N-Quads (``.gz`` when named so) beside a manifest; gives the count of quads."""
        from kgrag.stages import transfer

        return transfer.export(self.store, Path(target))

    def import_(self, source: str | Path) -> int:
        """Read an export into this knowledge base, which must be empty; gives the count of quads."""
        from kgrag.stages import transfer

        if self.store.revision > 0:
            raise StateError("this knowledge base is not empty, and an import would mix two. Import into a new --kb.")
        return transfer.import_(self.store, Path(source))

    def backup(self, folder: str | Path) -> None:
        """Write a copy that opens as a knowledge base (the store; vectors and caches are rebuilt from it)."""
        target = Path(folder)
        if target.exists():
            raise InputError(f"{target} exists already. Name a folder that does not.")
        target.mkdir(parents=True)
        self.store.snapshot(target / _STORE)

    def close(self) -> None:
        """Flush and let go of the folder."""
        for cached in ("embedder", "model", "runner"):
            close = getattr(self.__dict__.get(cached), "close", None)
            if close is not None:
                close()
        self._store.close()

    def __enter__(self) -> Self:
        """Give itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in self.stats().items())
        return f"<table>{rows}</table>"


def _sensible(question: str, k: int) -> None:
    if not question.strip():
        raise InputError("the question is empty. Ask something.")
    if k < 1:
        raise InputError(f"k is {k}; at least one hit must be asked for.")


def _open_scratch() -> Scratch:
    from kgrag.adapters.oxigraph import OxigraphScratch

    return OxigraphScratch()


def _iri(text: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no absolute IRI ({error}). Write e.g. https://example.org/graph.") from None


def _options(function: Any) -> set[str]:
    import inspect

    return set(inspect.signature(function).parameters)


def _hyper_parameters(spec: str, tail: str, known: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for item in filter(None, tail.split(",")):
        key, equals, text = item.partition("=")
        if key not in known or not equals:
            raise InvalidSettings(f"'{spec}': {item!r} is no hyper-parameter. {closest(key, known)}")
        given[key] = _like(known[key], text, f"'{spec}': {key}")
    return given


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
