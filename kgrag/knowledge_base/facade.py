"""``KnowledgeBase``: settings become objects, and one object does the work of every command.

>>> from kgrag.testing import HashEmbedder
>>> with KnowledgeBase(embedder=HashEmbedder()) as kb:
...     kb.stats()["documents"]
0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.capabilities import ChecksFiles, ChecksQueries, Counts, capable, having
from kgrag.errors import InputError, UnknownName
from kgrag.index.ontology_prefixes import ontology_prefixes
from kgrag.knowledge_base import (
    audit_runs,
    build_marks,
    erasure,
    rdf_loads,
    training_runs,
    user_queries,
    worker_builds,
)
from kgrag.knowledge_base.build_options import read_options
from kgrag.knowledge_base.conversation_calls import ConversationCalls
from kgrag.knowledge_base.export_calls import ExportCalls
from kgrag.knowledge_base.reasoning_calls import ReasoningCalls
from kgrag.knowledge_base.worker_builds import BuildWorkers
from kgrag.model import BuildReport, Publication
from kgrag.ports import Progress
from kgrag.querying import saved_queries
from kgrag.querying.document_filters import Where
from kgrag.querying.saved_queries import SavedQuery
from kgrag.querying.text_indexes.declared_indexes import TextIndex
from kgrag.querying.text_indexes.text_indexes import IndexState
from kgrag.store import graph_kinds, rdf_files
from kgrag.store.language_tags import by_lower_case, language_tags
from kgrag.store.lexical_forms import as_loaded
from kgrag.store.rdflib_copies import rdflib_copy
from kgrag.text import documents
from kgrag.text.documents import StoredDocument

if TYPE_CHECKING:
    import rdflib

    from kgrag.knowledge_base.doctor import Finding
    from kgrag.knowledge_base.dump_runs import DumpReport
    from kgrag.knowledge_base.growth_plan import GrowthPlan
    from kgrag.llm.budget import Budget
    from kgrag.querying.ontology_check import Check
    from kgrag.querying.query_explanation import PatternCount
    from kgrag.store.update_effect import UpdateEffect
    from kgrag.workers.shards import Job
    from kgrag.workers.slot_pool import Runner

__all__ = ["KnowledgeBase"]


class KnowledgeBase(ConversationCalls, ReasoningCalls, ExportCalls):
    """One knowledge base: a folder, or memory.

    Args:
        path: the folder, created when absent; None keeps everything in memory.
        settings: default: those of the environment and of ``kgrag.toml``.
        model: a language model instead of the one of the settings, or a function: text of a prompt -> the reply's.
        embedder: an embedder instead of the one of the settings, its name or folder, or a function: texts -> vectors.
        reranker: puts the hits of every question into its order, instead of the one of the settings; or its name.
        read_only: read while another process may write; nothing is saved but the place of a backup.

    Raises:
        StoreLocked: another process writes to the folder.
        SchemaMismatch: the folder was written by a newer kgrag, or with another base IRI.
    """

    # --- in -----------------------------------------------------------------------------------------------------

    def load(
        self, *paths: str | Path, graph: str | None = None, rdf_format: str | None = None, profile: str | None = None
    ) -> Publication:
        """Load ontologies or any RDF, each file into a graph of its own; loading it again replaces what it had.

        Graphs that were loaded from the same file and are not in it any more are removed (``removed`` of what is
        returned), but those that were loaded with a name (``graph``). Files of one ontology are one graph together.

        With ``profile``, an ontology with violations by this audit profile is refused, and nothing is loaded.

        Raises:
            ShapeViolation: an ontology does not conform to the profile; the message is the report.
            InvalidRDF: a file does not parse; nothing of any file is loaded then.
        """
        target = None if graph is None else _iri(graph)
        files = [Path(path) for path in paths]
        drafts = rdf_files.read_all(files, rdf_format=rdf_format, graph=target, names=self.store.names)
        if profile is not None:
            audit_runs.gate(self.store, drafts, profile)
        publication = rdf_loads.publish(self.store, drafts)
        self.store.flush()
        return publication

    def load_mapping(
        self, mapping: str | Path, *, database: str = "", graph: str | None = None, mapper: str = ""
    ) -> Publication:
        """Load what an R2RML or RML mapping makes of a database or files; loading it again replaces that.

        Args:
            mapping: a Turtle file; its relative paths are those of its folder.
            database: address of the database as of SQLAlchemy; "" for files only.
            graph: IRI for triples that the mapping puts in no graph.
            mapper: Python of an environment with morph-kgc, which cannot share that of kgrag; "" = this one.

        Raises:
            InputError: the mapping or the database is not sound.
            InvalidRDF: what was made is no RDF.
            ServiceUnavailable: morph-kgc is not installed there.
        """
        from kgrag.knowledge_base import mapping_runs

        target = None if graph is None else _iri(graph)
        drafts = mapping_runs.mapped_drafts(
            Path(mapping), graph=target, names=self.store.names, database=database, mapper=mapper
        )
        publication = self.store.publish(drafts)
        self.store.flush()
        return publication

    def load_linkml(self, schema: str | Path, *, generator: str = "") -> Publication:
        """Load a LinkML schema as an ontology and SHACL shapes (``SCHEMA/shapes``); loading it again replaces both.

        Args:
            schema: a YAML file.
            generator: Python of an environment with linkml, whose pins are not those of kgrag; "" = this one.

        Raises:
            InputError: the schema is not sound.
            ServiceUnavailable: linkml is not installed there.
        """
        from kgrag.knowledge_base import mapping_runs

        publication = self.store.publish(
            mapping_runs.linkml_drafts(Path(schema), names=self.store.names, generator=generator)
        )
        self.store.flush()
        return publication

    def load_dump(
        self, path: str | Path, *, graph: str | None = None, only: Sequence[str] = (), progress: Progress | None = None
    ) -> DumpReport:
        """Load N-Triples or N-Quads of any size (also ``gz``, ``bz2``, ``xz``), and only what a filter lets through.

        Loading into the same graph again replaces it. A load that is cut short leaves what it had read; repeat it.

        Args:
            path: the file.
            graph: IRI of the graph; None: one made of the file's name.
            only: texts ``part=value,value`` with subject, predicate, object or language
                (``kgrag.store.triple_streams``): ``"predicate=rdfs:label,dbo:abstract"``, ``"language=en"``.
            progress: called with what is being done, how many lines were read, and 0.

        Raises:
            InputError: a filter is none.
            InvalidRDF: the file cannot be read, or has nothing that passes.
        """
        from kgrag.knowledge_base.dump_runs import load_dump

        target = None if graph is None else _iri(graph)
        return load_dump(self.store, Path(path), graph=target, only=only, progress=progress)

    def build(
        self,
        method: str,
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        runner: str | Callable[[Job], Runner] = "",
        shards: str | Path | None = None,
        **options: Any,
    ) -> BuildReport:
        """Build a method's graphs and vectors; building again goes on where it stopped and changes nothing else.

        With a ``runner``, as of ``ingest``, workers do what computes, and this process asks services and stores what
        they made; the result is the same. A dry run has no workers.

        Args:
            method: its name, with hyper-parameters where wanted: ``"sire_rag:levels=3"``.
            progress: called after each batch with (what is being done, how many are done, of how many).
            dry_run: write nothing; the report counts what a build would ask of the language model.
            budget: the most that may be asked of the language model.
            runner: who works.
            shards: with a runner, a folder that all workers share, or ``s3://BUCKET/PREFIX``; None: one of its own.
            options: those that the method declares; ``kgrag build METHOD --help`` lists them.

        Returns:
            ``pending`` names what the method could not do, and every graph that went to quarantine meanwhile;
            ``left_out`` what is not of the share that was asked for.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: the method has no such option, a value is of the wrong type, or workers have nothing to do.
            InputError: there is no such runner, or what it needs is not installed.
            ServiceUnavailable: the cluster of the runner cannot be reached.
            BudgetSpent: the budget is used up; what came before is kept, and the next build goes on from there.
        """
        chosen_options = read_options(method, options)
        workers = BuildWorkers(runner, str(shards or ""))
        worker_builds.check(workers)
        if dry_run:
            return self.method_within(method, budget).build(chosen_options, progress=progress, dry_run=True)
        name = method.partition(":")[0]
        since, before = self.store.revision, build_marks.state(self.store, name)
        try:
            with (
                worker_builds.working(self, method, chosen_options, workers) as kb,
                build_marks.begun(self.store, name, before) as started,
            ):
                report = kb.method_within(method, budget).build(chosen_options, progress=progress)
            after = build_marks.reached(self.store, name, before, started, since)
            # a method that reports a graph itself gives the reason in the same words, and names the document as well
            reported = "\n".join(report.pending)
            reasons = after.reasons_since(before)
            unreported = (f"in quarantine: <{graph}>: {why}" for graph, why in reasons if why not in reported)
            report = replace(report, pending=(*report.pending, *unreported))
            build_marks.ended(self.store, name, after, report.pending, left_out=report.left_out)
        finally:
            self.store.flush()
        return report

    def train(
        self, method: str, questions: str | Path, *, held_out: Sequence[str | Path] = (), **options: Any
    ) -> BuildReport:
        """Train a method on labelled questions (JSON Lines); ``options`` are those of the method's recipe.

        Args:
            method: one that can be trained, with hyper-parameters where wanted.
            questions: to learn from, with the identifiers of the documents that answer each.
            held_out: files of questions that it will be measured on: none may be learned from.
            options: of the recipe, and ``progress``.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: it can't be trained, has no such option, or would learn from a question held out.
        """
        report = training_runs.train(self.method(method), method, questions, held_out, options)
        self.store.flush()
        return report

    # --- out ----------------------------------------------------------------------------------------------------

    def documents(self, where: Where | None = None) -> list[StoredDocument]:
        """Return documents, by title: IRI, title, id, URL, locations, metadata and count of chunks.

        Args:
            where: which ones, as of ``retrieve``; None for all.
        """
        if where is None:
            return documents.listing(self.store)
        chosen = documents.described(self.store, self.allowed(where).documents).values()
        return sorted(chosen, key=lambda one: (one.title, one.iri))

    def check(self, sparql: str) -> Check:
        """Return where a SPARQL query departs from the loaded ontologies and data; nothing is run.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        return capable(self.method("obqc"), ChecksQueries, "obqc").checked(sparql)

    def explain(self, sparql: str, *, seconds: float = 30.0) -> list[PatternCount]:
        """Return what each pattern of a SPARQL query matches by itself, counted up to 100,000; it is not run.

        Args:
            sparql: the query.
            seconds: what is not counted by then is left out, and marked so.

        Raises:
            InvalidSPARQL: it does not parse.
        """
        return user_queries.explanation(self, sparql, seconds=seconds)

    def update(self, sparql: str, *, own_graphs: bool = False) -> int:
        """Run a SPARQL Update atomically and return the new revision of the store.

        Args:
            sparql: the update. It may name graphs that kgrag makes itself (documents …), but for the catalogue.
            own_graphs: let GRAPH with a variable, CLEAR ALL and the like change such graphs as well.

        Raises:
            InvalidSPARQL: it does not parse, or reaches the network.
            InputError: it changes the catalogue, or without ``own_graphs`` a graph of kgrag's that it does not name.
        """
        return user_queries.run_update(self.store, sparql, own_graphs=own_graphs)

    def effect(self, sparql: str) -> UpdateEffect:
        """Return what a SPARQL Update would do, counted and sampled by graph; nothing is changed."""
        return user_queries.effect_of_update(self, sparql)

    def saved_queries(self) -> list[SavedQuery]:
        """Return the queries that people saved in the knowledge base, by topic and name."""
        return saved_queries.listed(self.store)

    def saved_query(self, name: str) -> SavedQuery:
        """Return a saved query. Raises UnknownName."""
        return saved_queries.find(self.store, name)

    def saved_text(self, name: str, **values: str) -> str:
        """Return the text of a saved query with values for its parameters, as a person writes them.

        Raises:
            UnknownName: there is no such query.
            InputError: a parameter has no value, or one of another kind; a value is for none of the parameters.
        """
        return saved_queries.bound(self.saved_query(name), values, ontology_prefixes(self.store))

    def save_query(self, query: SavedQuery) -> SavedQuery:
        """Save a query or an update as a graph, in the place of that of the same name, and return it.

        Raises:
            InputError: the name is none, the text is empty, or the parameters are not sound.
            InvalidSPARQL: a parameter is no variable of it, or gets a value in it.
        """
        return saved_queries.save(self.store, query)

    def remove_query(self, name: str) -> None:
        """Remove a saved query. Raises UnknownName."""
        saved_queries.remove(self.store, name)

    def indexes(self) -> list[IndexState]:
        """Return the indexes that users declared, by name, each with how it is."""
        return self.text_indexes.states()

    def add_index(self, name: str, sparql: str, title: str = "") -> IndexState:
        """Declare an index, in the place of that of the same name: searches (``kgv:``) name it as their space.

        Args:
            name: small letters, digits and hyphens.
            sparql: a SELECT of ``?iri`` and ``?text``: what can be searched for. It is run at once.
            title: a line for a person.

        Raises:
            InputError: the name is none, or taken; or there are too many.
            InvalidSPARQL: the query is refused, fails, takes too long or returns too much.
        """
        return self.text_indexes.add(TextIndex(name, sparql, title))

    def remove_index(self, name: str) -> None:
        """Remove an index that a user declared. Raises UnknownName."""
        self.text_indexes.remove(name, self.spaces)

    def graph(self, iri: str) -> list[ox.Triple]:
        """Return the triples of one named graph, with literals as they were loaded, language tags in lower case.

        Raises:
            UnknownName: the catalogue has no such graph.
        """
        node = _iri(iri)
        if not self.store.described(node):
            raise UnknownName(
                f"there is no graph <{iri}>. `kgrag stats` counts them, queries/catalogue/graphs lists them."
            )
        return list(as_loaded(self.store, node))

    def to_rdflib(self, iri: str) -> rdflib.Graph:
        """Return a copy of one named graph as a graph of rdflib, with literals and language tags as loaded."""
        tags = by_lower_case(language_tags(self.store, _iri(iri)))
        return rdflib_copy(self.graph(iri), identifier=iri, tags=tags)

    # --- care ---------------------------------------------------------------------------------------------------

    def stats(self, method: str | None = None) -> Mapping[str, Any]:
        """Count what is there, or return a method's own figures."""
        if method is None:
            overview = graph_kinds.overview(self.store)
            unfinished = build_marks.unfinished(self.store)
            return overview | {"unfinished_builds": unfinished} if unfinished else overview
        figures = capable(self.method(method), Counts, method).statistics()
        since = build_marks.unfinished(self.store).get(method.partition(":")[0])
        return figures if since is None else {**figures, "build_unfinished_since": since}

    def status(self) -> Mapping[str, Any]:
        """Return what builds left to do.

        The methods whose build did not end, with its start; what each last build could not do, and why; what was left
        out because only a share was asked for, which is neither; and the inference graphs whose sources changed since.
        """
        from kgrag.knowledge_base.reasoning_runs import stale

        return {
            "unfinished": build_marks.unfinished(self.store),
            "pending": build_marks.undone(self.store),
            "left_out": build_marks.left_out(self.store),
            "stale": stale(self.store),
        }

    def plan(self, *, documents: int) -> GrowthPlan:
        """Return what a number of documents would need, by what is stored of those that are there; asks no model.

        Quads, vectors and disk by part, and of methods that asked a model completions, tokens and price. What was not
        measured here has no figure, and the reason.

        Args:
            documents: how many there would be in all, of the same sort as now.

        Raises:
            InputError: ``documents`` is below 1.
        """
        from kgrag.knowledge_base.growth_plan import growth_plan

        return growth_plan(self, documents)

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Read every block of the store, check catalogue, shapes and files against each other; mend what can be mended.

        Reading the store takes 2 s per 100,000 quads; a file whose checksum is wrong is named.
        """
        from kgrag.knowledge_base import doctor

        found = doctor.examine(
            self.store,
            spaces=self.spaces,
            embedder=self.embedder,
            repair=repair,
            folder=self.path,
            methods=lambda store: [self.reading(store).method(name) for name in having(ChecksFiles)],
        )
        return [*found, *doctor.examine_indexes(self.text_indexes)]

    def backup(self, folder: str | Path) -> None:
        """Write a copy that opens as a knowledge base, and read all of it.

        It has the store, trained weights, paid completions, the log of writes, and settings without secrets, each file
        with its checksum in ``backup.json``. Vectors, word indexes and the cache of embeddings are made again by the
        first use. The folder that was copied keeps the place, also where another process writes to it, so that an
        erasure names the backup; where this process may not write there, a warning says that it will not.

        Raises:
            InputError: the folder exists.
            StorageFailed: the disk refused, or the knowledge base is damaged; nothing is left in the folder then.
        """
        from kgrag.knowledge_base import backups

        backups.backup(self.store, self.path, self.settings, Path(folder))
        erasure.note_backup(self.path, Path(folder))

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in self.stats().items())
        return f"<table>{rows}</table>"


def _iri(text: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no absolute IRI ({error}). Write e.g. https://example.org/graph.") from None
