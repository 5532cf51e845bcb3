"""``KnowledgeBase``: settings become objects, and one object does the work of every command.

>>> from kgrag.testing import HashEmbedder
>>> with KnowledgeBase(embedder=HashEmbedder()) as kb:
...     kb.stats()["documents"]
0
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering import cited_answers, kept_answers
from kgrag.answering.opening_places import placed_answer, placed_hits
from kgrag.capabilities import Answers, AnswersAmong, ChecksFiles, ChecksQueries, Counts, among, capable, having
from kgrag.declarations import DEFAULT_METHOD
from kgrag.errors import InputError, StateError, UnknownName
from kgrag.knowledge_base import audit_runs, build_marks, erasure, filter_lock, training_runs
from kgrag.knowledge_base.build_options import read_options
from kgrag.knowledge_base.document_calls import DocumentCalls
from kgrag.knowledge_base.reasoning_calls import ReasoningCalls
from kgrag.model import Allowed, Answer, BuildReport, Hit, Publication, Table, Usage
from kgrag.ports import Progress
from kgrag.querying import document_filters
from kgrag.querying.document_filters import Where
from kgrag.querying.searches import functions, names_search, refuse_in_update
from kgrag.store import graph_kinds, rdf_files
from kgrag.store.lexical_forms import as_loaded
from kgrag.store.rdflib_copies import rdflib_copy
from kgrag.text import documents
from kgrag.text.documents import StoredDocument

if TYPE_CHECKING:
    import rdflib

    from kgrag.knowledge_base.doctor import Finding
    from kgrag.llm.budget import Budget
    from kgrag.querying.ontology_check import Check

__all__ = ["KnowledgeBase"]

_LOG = logging.getLogger(__name__)
_CANDIDATES_PER_HIT = 4  # of a reranker


class KnowledgeBase(DocumentCalls, ReasoningCalls):
    """One knowledge base: a folder, or memory.

    Args:
        path: the folder, created when absent; None keeps everything in memory.
        settings: default: those of the environment and of ``kgrag.toml``.
        model: a language model instead of the one of the settings, or a function: text of a prompt -> the reply's.
        embedder: an embedder instead of the one of the settings, its name or folder, or a function: texts -> vectors.
        read_only: read while another process may write; nothing is saved.

    Raises:
        StoreLocked: another process writes to the folder.
        SchemaMismatch: the folder was written by a newer kgrag, or with another base IRI.
    """

    # --- in -----------------------------------------------------------------------------------------------------

    def load(
        self, *paths: str | Path, graph: str | None = None, rdf_format: str | None = None, profile: str | None = None
    ) -> Publication:
        """Load ontologies or any RDF, each file into a graph of its own; loading it again replaces that graph.

        With ``profile``, an ontology with violations by this audit profile is refused, and nothing is loaded.

        Raises:
            ShapeViolation: an ontology does not conform to the profile; the message is the report.
            InvalidRDF: a file does not parse; nothing of any file is loaded then.
        """
        target = None if graph is None else _iri(graph)
        drafts = [
            draft
            for path in paths
            for draft in rdf_files.read_rdf(Path(path), rdf_format=rdf_format, graph=target, names=self.store.names)
        ]
        if profile is not None:
            audit_runs.gate(self.store, drafts, profile)
        publication = self.store.publish(drafts)
        self.store.flush()
        return publication

    def build(
        self,
        method: str,
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
        budget: Budget | None = None,
        **options: Any,
    ) -> BuildReport:
        """Build a method's graphs and vectors; building again goes on where it stopped and changes nothing else.

        Args:
            method: its name, with hyper-parameters where wanted: ``"sire_rag:levels=3"``.
            progress: called after each batch with (what is being done, how many are done, of how many).
            dry_run: write nothing; the report counts what a build would ask of the language model.
            budget: the most that may be asked of the language model.
            options: those that the method declares; ``kgrag build METHOD --help`` lists them.

        Returns:
            ``pending`` names what the method could not do, and every graph that went to quarantine meanwhile.

        Raises:
            UnknownName: there is no such method.
            InvalidSettings: the method has no such option, or a value is of the wrong type.
            BudgetSpent: the budget is used up; what came before is kept, and the next build goes on from there.
        """
        chosen_options = read_options(method, options)
        chosen = self.method(method) if budget is None else self.method_within(method, budget)
        if dry_run:
            return chosen.build(chosen_options, progress=progress, dry_run=True)
        quarantined = queries.bind("catalogue/quarantined")
        before = set(self.store.select(quarantined).values())
        try:
            with build_marks.marked(self.store, method.partition(":")[0]):
                report = chosen.build(chosen_options, progress=progress)
        finally:
            self.store.flush()
        new_rows = [row for row in self.store.select(quarantined).values() if row not in before]
        # a method that reports a graph itself gives the reason in the same words, and names the document as well
        reported = "\n".join(report.pending)
        unreported = (f"in quarantine: <{graph}>: {why}" for _, graph, _, why in new_rows if why not in reported)
        report = replace(report, pending=(*report.pending, *unreported))
        build_marks.set_undone(self.store, method.partition(":")[0], report.pending)
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

    def retrieve(
        self, question: str, *, method: str = DEFAULT_METHOD, k: int = 5, rerank: str = "", where: Where | None = None
    ) -> list[Hit]:
        """Return at most k hits, best first.

        Args:
            question: what is asked.
            method: a method by name, with hyper-parameters where wanted.
            k: how many hits at most.
            rerank: name of a registered reranker, which puts four times as many hits into its order; "" = none.
            where: which documents may be found, decided before anything is ranked
                (``kgrag.querying.document_filters``); None = all.

        Raises:
            NotBuilt: the method has nothing to retrieve from yet.
            InputError: the question is empty, k is below 1, or the filter is none.
            InvalidSPARQL: the filter has a pattern that cannot be run.
            InvalidSettings: the method cannot keep to a filter.
            UnknownName: there is no such method or reranker.
        """
        _refuse_empty(question, k)
        self._warn_of_unfinished(method)
        chosen, depth = self.method(method), _CANDIDATES_PER_HIT * k if rerank else k
        allowed = None if where is None else self.allowed(where)
        if allowed is None:
            hits = chosen.retrieve(question, depth)
        else:
            hits = among(chosen, method).retrieve_among(question, depth, allowed)
        if rerank:
            hits = self.reranker(rerank).rerank(question, hits)[:k]
        return placed_hits(hits if allowed is None else filter_lock.only_allowed(hits, allowed), self.store)

    def documents(self, where: Where | None = None) -> list[StoredDocument]:
        """Return documents, by title: IRI, title, id, URL, locations, metadata and count of chunks.

        Args:
            where: which ones, as of ``retrieve``; None for all.
        """
        listed = documents.listing(self.store)
        if where is None:
            return listed
        chosen = self.allowed(where).documents
        return [one for one in listed if one.iri in chosen]

    def allowed(self, where: Where) -> Allowed:
        """Return the documents that a filter lets through, with their chunks.

        Raises:
            InputError: it is none, or names a field by nothing.
            InvalidSPARQL: it has a pattern that cannot be run.
        """

        def select(sparql: str) -> Table:
            found = self.query(sparql)
            return found if isinstance(found, Table) else Table((), [])

        return document_filters.allowed(document_filters.read_filter(where), self.store, select)

    def retrieve_timed(
        self, question: str, *, method: str = DEFAULT_METHOD, k: int = 5, rerank: str = "", where: Where | None = None
    ) -> tuple[list[Hit], dict[str, float]]:
        """Return the hits, and the milliseconds that embedding, searching and both took."""
        self.method(method)
        embedded, start = self.embedder.seconds, time.perf_counter()
        hits = self.retrieve(question, method=method, k=k, rerank=rerank, where=where)
        total = 1000 * (time.perf_counter() - start)
        embed = 1000 * (self.embedder.seconds - embedded)
        return hits, {"embed": round(embed, 3), "search": round(total - embed, 3), "total": round(total, 3)}

    def ask(
        self,
        question: str,
        *,
        method: str = DEFAULT_METHOD,
        k: int = 5,
        keep: bool = False,
        rerank: str = "",
        where: Where | None = None,
    ) -> Answer:
        """Answer with citations that were found in stored chunks, or with *unknown*; ``keep`` publishes the answer.

        A method that has an ``answer`` of its own, as those that answer from rows and not from texts, writes it. With
        ``rerank`` the answer is written from the reranked hits, whatever the method. Raises what ``retrieve`` raises.
        """
        answer = None if rerank else self.own_answer(question, method=method, k=k, where=where)
        if answer is None:
            hits = self.retrieve(question, method=method, k=k, rerank=rerank, where=where)
            answer = self.answer_from(question, hits, method=method, where=where)
        if keep:
            self.keep(answer)
        return answer

    def planned_cost(self, question: str, **asked: Any) -> Usage:
        """Return what ``ask`` with the same arguments would cost about; nothing is asked of the language model."""
        from kgrag.llm.costs import PlannedModel

        planning = PlannedModel(self.model)
        self.asking(planning).ask(question, **asked)
        return planning.usage

    def own_answer(self, question: str, *, method: str, k: int = 5, where: Where | None = None) -> Answer | None:
        """Return the answer of a method that answers by itself; None of one that retrieves, or leaves it to that.

        With a filter, None also of one that can keep to it only when it retrieves.

        Raises:
            NotBuilt: the method has nothing to answer from yet.
            InputError: the question is empty, or k is below 1.
            InvalidSettings: the method cannot keep to a filter.
        """
        chosen = self.method(method)
        _refuse_empty(question, k)
        if where is None:
            if not isinstance(chosen, Answers):
                return None
            self._warn_of_unfinished(method)
            answer = chosen.answer(question, k)
            return None if answer is None else self._complete(answer, method)
        limited = among(chosen, method)
        if not isinstance(limited, AnswersAmong):
            return None
        self._warn_of_unfinished(method)
        allowed = self.allowed(where)
        return self._complete(filter_lock.checked(limited.answer_among(question, k, allowed), allowed), method)

    def answer_from(self, question: str, hits: Sequence[Hit], *, method: str, where: Where | None = None) -> Answer:
        """Answer from what was retrieved; the second half of ``ask``."""
        answer = cited_answers.answer(question, hits, model=self.model_for(method), store=self.store, method=method)
        if where is not None:
            answer = filter_lock.checked(answer, self.allowed(where))
        return self._complete(answer, method)

    def _warn_of_unfinished(self, method: str) -> None:
        if message := build_marks.warning(self.store, method.partition(":")[0]):
            _LOG.warning(message)

    def _complete(self, answer: Answer, method: str) -> Answer:
        """Return an answer with the places of its evidence, and with a warning where the method's build did not end."""
        warned = filter(None, [build_marks.warning(self.store, method.partition(":")[0])])
        return placed_answer(replace(answer, explain=(*warned, *answer.explain)), self.store)

    def keep(self, answer: Answer) -> None:
        """Publish an answer as a graph of its own; keeping it again changes nothing."""
        self.store.publish([kept_answers.answer_draft(answer, names=self.store.names)])

    def check(self, sparql: str) -> Check:
        """Return where a SPARQL query departs from the loaded ontologies and data; nothing is run.

        Raises:
            NotBuilt: no ontology is loaded.
        """
        return capable(self.method("obqc"), ChecksQueries, "obqc").checked(sparql)

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
        """Run a SPARQL query of the user's and return pyoxigraph's results, which can be serialised."""
        if not names_search(sparql):
            return self._store.query(sparql, union=True)
        found = self.search.resolve(sparql)
        similarity = functions(self.spaces, found.similar) if found.compares else None
        return self._store.query(found.text, union=True, calls=similarity)

    def update(self, sparql: str) -> int:
        """Run a SPARQL Update atomically and return the new revision of the store."""
        refuse_in_update(sparql)
        return self.store.update(sparql)

    def graph(self, iri: str) -> list[ox.Triple]:
        """Return the triples of one named graph, with literals as they were loaded.

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
        """Return a copy of one named graph as a graph of rdflib, with literals as they were loaded."""
        return rdflib_copy(self.graph(iri), identifier=iri)

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

    def status(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the methods whose build did not end, with its start, and what each last build could not do and why."""
        return {"unfinished": build_marks.unfinished(self.store), "pending": build_marks.undone(self.store)}

    def doctor(self, *, repair: bool = False) -> list[Finding]:
        """Read every block of the store, check catalogue, shapes and files against each other; mend what can be mended.

        Takes 8 s per 100,000 quads; a file whose checksum is wrong is named.
        """
        from kgrag.knowledge_base import doctor

        return doctor.examine(
            self.store,
            spaces=self.spaces,
            embedder=self.embedder,
            repair=repair,
            folder=self.path,
            methods=[self.method(name) for name in having(ChecksFiles)],
        )

    def export(self, target: str | Path) -> int:
        """Write every quad as N-Quads (``.gz`` when named so), a manifest, and an archive; returns the count of quads.

        The archive has what cannot be made again from the quads: trained weights, paid completions, the log of writes,
        settings without secrets. Vectors, word indexes and the cache of embeddings are made again by the first use.
        """
        from kgrag.settings import as_toml
        from kgrag.store import transfer

        return transfer.export(self.store, Path(target), folder=self.path, settings=as_toml(self.settings))

    def import_(self, source: str | Path) -> int:
        """Read an export into this knowledge base, which must be empty; returns the count of quads."""
        from kgrag.store import transfer

        if self.store.revision > 0:
            raise StateError("this knowledge base is not empty, and an import would mix two. Import into a new --kb.")
        return transfer.import_(self.store, Path(source), folder=self.path)

    def backup(self, folder: str | Path) -> None:
        """Write a copy that opens as a knowledge base, and read all of it.

        It has the store, trained weights, paid completions, the log of writes, and settings without secrets, each file
        with its checksum in ``backup.json``. Vectors, word indexes and the cache of embeddings are made again by the
        first use.

        Raises:
            InputError: the folder exists.
            StorageFailed: the disk refused, or the knowledge base is damaged; nothing is left in the folder then.
        """
        from kgrag.knowledge_base import backups

        backups.backup(self.store, self.path, self.settings, Path(folder))
        if not self.read_only:
            erasure.note_backup(self.path, Path(folder))

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in self.stats().items())
        return f"<table>{rows}</table>"


def _refuse_empty(question: str, k: int) -> None:
    if not question.strip():
        raise InputError("the question is empty. Ask something.")
    if k < 1:
        raise InputError(f"k is {k}; at least one hit must be asked for.")


def _iri(text: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise InputError(f"{text!r} is no absolute IRI ({error}). Write e.g. https://example.org/graph.") from None
