"""What every method has to do, ours and those of other packages: the conformance suite, as checks.

Each check builds the method in a small world in memory (the demonstration's ontology, texts and facts, and one document
more) with ``HashEmbedder`` and the extractive model, so that a run takes seconds and has the same result everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import demo, plugins, queries, shacl
from kgrag.capabilities import AnswersAmong, RetrievesAmong
from kgrag.declarations import MethodDeclaration
from kgrag.errors import InputError, InvalidSettings, KgragError, NotBuilt, UnknownName
from kgrag.knowledge_base import KnowledgeBase
from kgrag.model import Allowed, Document, Hit
from kgrag.ports import Method
from kgrag.querying.document_filters import DocumentFilter
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store import graph_kinds
from kgrag.testing.fakes import HashEmbedder
from kgrag.text import documents, ingestion, stored_passages
from kgrag.vocab import KG

__all__ = ["MethodCheck", "check_method", "method_checks"]

_QUESTION = "What is the seeding rate of lentil LT 7 in the River Zone?"
_HOSTILE = "🦀 қазақша مرحبا ?x } DROP ALL \\u0022 {{ 7 * 7 }}"
_DEMO = Path(demo.__file__).parent
_FACTS = "og_rag"
"""The method that puts the demonstration's mapped facts into the world."""
_NAME = "Quillfeather"
"""A name that no other text of the world has."""
_EXTRA = Document(
    f"The {_NAME} station grows lentil in the River Zone. Marta {_NAME} leads the {_NAME} station. "
    f"Lentil of the {_NAME} station is sown in April.",
    title=f"The {_NAME} station",
    location=f"{_NAME}.txt",
)


@dataclass(frozen=True)
class MethodCheck:
    """One check of one method; calling it raises AssertionError, with what was found, when the method fails."""

    name: str
    run: Callable[[], None] = field(repr=False)

    def __call__(self) -> None:
        """Run the check."""
        self.run()

    def __str__(self) -> str:
        """Return the name, for pytest's ids."""
        return self.name


def check_method(method: str | type, *, options: Mapping[str, Any] | None = None) -> None:
    """Run every check of a method, which has to be installed.

    Args:
        method: its registered name, or its class.
        options: of ``build``; default: the ``example`` of its declaration.

    Raises:
        AssertionError: it fails a check; the message names the check.
        UnknownName: it is not registered. Install its package (``pip install -e .``).
    """
    for check in method_checks(method, options=options):
        try:
            check()
        except AssertionError as error:
            raise AssertionError(f"{method}: {check}: {error}") from error


def method_checks(method: str | type, *, options: Mapping[str, Any] | None = None) -> list[MethodCheck]:
    """Return the checks of a method, for ``pytest.mark.parametrize``. Arguments and errors as of ``check_method``."""
    declared = plugins.method(method if isinstance(method, str) else _registered(method))
    chosen = {name: str(_DEMO / path) for name, path in declared.example.items()} if options is None else dict(options)
    case = _Case(declared, chosen)
    return [MethodCheck(run.__name__.removeprefix("_"), partial(run, case)) for run in _CHECKS]


def _registered(method: type) -> str:
    for name in plugins.methods():
        if plugins.implementation(name) is method:
            return name
    raise UnknownName(
        f"{method.__name__} is the class of no registered method. Install its package (pip install -e .)."
    )


@dataclass
class _Case:
    """A method under test; the built world is shared by the checks that change nothing."""

    declared: MethodDeclaration
    options: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def kinds(self) -> set[str]:
        """The IRIs of the kinds of graph that its declaration allows it to write."""
        return {
            *(kind.iri.value for kind in self.declared.graph_kinds),
            *(iri.value for iri in self.declared.also_writes),
        }

    def world(self) -> KnowledgeBase:
        """Return a filled knowledge base in which nothing is built."""
        kb = KnowledgeBase(settings=Settings(), embedder=HashEmbedder())
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(_DEMO / "texts", embed=False)
        ingestion.ingest([_EXTRA], store=kb.store)
        if self.name != _FACTS:
            kb.build(_FACTS, mapped=_DEMO / "mapped")
        return kb

    def built_world(self) -> KnowledgeBase:
        kb = self.world()
        self.build(kb)
        return kb

    def build(self, kb: KnowledgeBase) -> None:
        report = kb.build(self.name, progress=lambda _stage, _done, _total: None, **self.options)
        # every graph of such a kind goes to quarantine, which would be a line of pending for each
        intended = {kind for _, _, kind, _ in kb.store.select(queries.bind("catalogue/quarantined")).values()}
        for kind in sorted(intended - self.kinds):
            raise AssertionError(f"kind <{kind}> is not in the declaration's graph_kinds")
        _require(report.method == self.name, f"the report of a build is of the method '{report.method}'")
        _require(not report.pending, f"a build left something pending: {report.pending}")

    @cached_property
    def shared(self) -> KnowledgeBase:
        """Built once; checks only read it."""
        return self.built_world()

    def hits(self, kb: KnowledgeBase, k: int = 5) -> list[Hit]:
        return kb.retrieve(_QUESTION, method=self.name, k=k)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)


def _refused(action: Callable[[], object], *errors: type[KgragError]) -> str:
    """Return the message of the error that an action raises."""
    try:
        action()
    except errors as error:
        return str(error)
    expected = " or ".join(error.__name__ for error in errors)
    raise AssertionError(f"nothing was raised, and {expected} was expected")


def _state(kb: KnowledgeBase) -> tuple[int, int, dict[str, list[str]]]:
    spaces = {name: sorted(kb.spaces.space(name).keys()) for name in kb.spaces.names()}
    return len(kb.store), kb.store.revision, {name: keys for name, keys in spaces.items() if keys}


def _graphs(kb: KnowledgeBase) -> dict[str, str]:
    table = kb.store.select(queries.bind("catalogue/graphs", catalogue=kb.store.names.catalogue))
    return {row[0]: row[1] for row in table.values()}


# --- the checks ---------------------------------------------------------------------------------------------------


def _is_a_frozen_dataclass_with_the_methods_of_the_port(case: _Case) -> None:
    kind = plugins.implementation(case.name)
    _require(is_dataclass(kind), f"{kind.__name__} is no dataclass")
    _require(bool(kind.__dataclass_params__.frozen), f"{kind.__name__} is not frozen")  # type: ignore[attr-defined]
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        made = kb.method(case.name)
        _require(isinstance(made, Method), f"{kind.__name__} lacks name, build or retrieve")
        _require(made.name == case.name, f"its name is '{made.name}', and it is registered as '{case.name}'")


def _has_its_shapes_and_queries(case: _Case) -> None:
    known = set(queries.names())
    for space in case.declared.vector_spaces:
        for name in (space.query, space.texts):
            _require(name in known, f"the vector space '{space.name}' reads '{name}', which is no stored query")
    shown = {constraint.shape for constraint in shacl.graph_shapes().constraints}
    for kind in case.declared.graph_kinds:
        if kind.shape:
            prefix, colon, local = kind.shape.rpartition(":")
            path = plugins.folders()[prefix] / "shapes" if colon else folder("shapes")
            file = path / "graphs" / f"{local}.ttl"
            _require(file.is_file(), f"the shapes '{kind.shape}' of {kind.iri.value} are not there")
            its = {constraint.shape for constraint in shacl.load_shapes([file]).constraints}
            _require(its <= shown, f"the shapes '{kind.shape}' are not in use")


def _refuses_before_it_is_built(case: _Case) -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        message = _refused(lambda: case.hits(kb), NotBuilt)
    _require("kgrag " in message, f"NotBuilt does not name the command to run: {message}")


def _a_dry_run_writes_nothing(case: _Case) -> None:
    with case.world() as kb:
        before = _state(kb)
        report = kb.build(case.name, dry_run=True, **case.options)
        _require(_state(kb) == before, "the store or the vectors are not what they were")
        missing = {"completions", "input_tokens", "output_tokens"} - report.counts.keys()
        _require(not missing, f"the report has no {', '.join(sorted(missing))}")


def _building_again_changes_nothing(case: _Case) -> None:
    with case.built_world() as kb:
        before = _state(kb)
        case.build(kb)
        _require(_state(kb) == before, f"quads, revision and vectors were {before[:2]}, and are {_state(kb)[:2]}")
        costs = kb.build(case.name, dry_run=True, **case.options).counts["completions"]
        _require(costs == 0, f"a dry run after the build still counts {costs} completions")


def _hits_are_ranked_bounded_distinct_and_cite_source_chunks(case: _Case) -> None:
    for k in (1, 3, 50):
        hits = case.hits(case.shared, k)
        scores = [hit.score for hit in hits]
        _require(1 <= len(hits) <= k, f"{len(hits)} hits for k={k}")
        _require(scores == sorted(scores, reverse=True), f"scores for k={k} are not in descending order: {scores}")
        _require(len({hit.iri for hit in hits}) == len(hits), f"an IRI is among the hits for k={k} twice")
        bare = [hit.iri for hit in hits if not hit.sources or not hit.text.strip()]
        _require(not bare, f"hits for k={k} without sources or text: {bare}")


def _every_source_span_is_a_stored_text(case: _Case) -> None:
    store = case.shared.store
    for hit in case.hits(case.shared):
        for span in hit.sources:
            text = documents.document_text(store, span.document)
            chunk = stored_passages.texts(store, [span.chunk]).get(span.chunk, "")
            _require(text[span.start : span.end] == chunk, f"{hit.iri}: the span {span} is not the text of its chunk")


def _answers_cite_what_stands_in_the_store(case: _Case) -> None:
    answer = case.shared.ask(_QUESTION, method=case.name)
    _require(answer.unknown or bool(answer.citations), "an answer has no citation and is not marked as unknown")
    for citation in answer.citations:
        text = documents.document_text(case.shared.store, citation.document)
        _require(text[citation.start : citation.end] == citation.quote, f"{citation.quote!r} is not at its place")


def _only_declared_kinds_of_graph_are_written_and_they_conform(case: _Case) -> None:
    with case.world() as kb:
        before = _graphs(kb)
        case.build(kb)
        for graph, kind in _graphs(kb).items():
            new = graph not in before and kind != KG.CatalogueGraph.value
            _require(not new or kind in case.kinds, f"<{graph}> is a <{kind}>, which is not declared")
            _require(kind in graph_kinds.kinds(), f"<{graph}> is of the unknown kind <{kind}>")
            _require(kind != KG.QuarantineGraph.value, f"<{graph}> is in quarantine: its content failed its shape")
        violations = shacl.validate(kb.store, shacl.graph_shapes())
        _require(not violations, f"{len(violations)} violations of shapes, the first: {violations[:1]}")
        faults = [finding.message for finding in kb.doctor() if finding.fault]
        _require(not faults, f"the doctor finds: {faults[:3]}")


def _forgetting_a_document_leaves_nothing_of_it(case: _Case) -> None:
    with case.built_world() as kb:
        (done,) = kb.forget(_EXTRA.location)
        _require(not done.remains, f"a query still finds {done.remains[:3]}")
        _require_forgotten(case, kb, "after forgetting")
        case.build(kb)
        _require_forgotten(case, kb, "after the next build")


def _require_forgotten(case: _Case, kb: KnowledgeBase, when: str) -> None:
    for graph in (*_graphs(kb), kb.store.names.catalogue.value):
        found = next((str(each) for each in kb.store.triples(ox.NamedNode(graph)) if _NAME in str(each)), None)
        _require(found is None, f"{when}, <{graph}> still states {found}")
    violations = shacl.validate(kb.store, shacl.graph_shapes())
    _require(not violations, f"{when}, graphs violate their shapes: {violations[:1]}")
    hits = kb.retrieve(f"Who leads the {_NAME} station?", method=case.name, k=50)
    _require(not any(_NAME in hit.text for hit in hits), f"{when}, a hit still holds the text")


def _the_same_input_gives_the_same_graphs_and_hits(case: _Case) -> None:
    def outcome(kb: KnowledgeBase) -> tuple[list[str], list[tuple[str, str, float]]]:
        return sorted(_graphs(kb)), [(hit.iri, hit.text, hit.score) for hit in case.hits(kb)]

    with case.built_world() as again:
        first, second = outcome(case.shared), outcome(again)
    _require(first[0] == second[0], f"other graphs: {sorted(set(first[0]) ^ set(second[0]))[:3]}")
    _require(first[1] == second[1], f"other hits: {first[1][:2]} and {second[1][:2]}")


def _an_unknown_hyper_parameter_or_option_is_refused(case: _Case) -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        message = _refused(lambda: kb.method(f"{case.name}:no_such_thing=1"), InvalidSettings)
        _require("no_such_thing" in message, f"the message does not name it: {message}")
        _refused(lambda: kb.build(case.name, no_such_thing=1), InvalidSettings)


def _an_empty_question_or_no_hit_at_all_is_refused(case: _Case) -> None:
    _refused(lambda: case.shared.retrieve("  ", method=case.name), InputError)
    _refused(lambda: case.shared.retrieve(_QUESTION, method=case.name, k=0), InputError)
    _refused(lambda: case.shared.method(case.name).retrieve(_QUESTION, 0), InputError)


def _a_filter_limits_all_evidence(case: _Case) -> None:
    kb, question = case.shared, f"Who leads the {_NAME} station? {_QUESTION}"
    made = kb.method(case.name)
    if not isinstance(made, RetrievesAmong):
        _refused(lambda: kb.retrieve(question, method=case.name, where={"title": _EXTRA.title}), InvalidSettings)
        return
    names = sorted(kb.allowed("?document a kg:Document").documents)
    of_name = kb.allowed({"title": _EXTRA.title}).documents
    for part in (of_name, names[::2], names[1::2], names, ()):
        allowed = kb.allowed(DocumentFilter(within=(frozenset(part),)))
        hits = made.retrieve_among(question, 50, allowed)
        for hit in hits:
            outside = [span.chunk for span in hit.sources if span.chunk not in allowed.chunks]
            _require(bool(hit.sources) and not outside, f"{hit.iri} is found, and comes from {outside or 'nowhere'}")
            speaks = _NAME in hit.text and not of_name & allowed.documents
            _require(not speaks, f"{hit.iri} has words of a document that is not allowed: {hit.text[:80]!r}")
        _answers_from_allowed_documents(made, question, allowed)
        _require(bool(hits) or len(part) < len(names), "a filter that every document meets leaves nothing")


def _answers_from_allowed_documents(made: Method, question: str, allowed: Allowed) -> None:
    if isinstance(made, AnswersAmong):
        answer = made.answer_among(question, 50, allowed)
        spans = [span.chunk for hit in answer.hits for span in hit.sources]
        outside = {*spans, *(citation.chunk for citation in answer.citations)} - allowed.chunks
        _require(not outside, f"an answer rests on {sorted(outside)[:3]}, which a filter does not allow")


def _a_hostile_question_does_no_harm(case: _Case) -> None:
    before = len(case.shared.store), case.shared.store.revision
    hits = case.shared.retrieve(_HOSTILE, method=case.name, k=5)
    _require(len(hits) <= 5, f"{len(hits)} hits for k=5")
    after = len(case.shared.store), case.shared.store.revision
    _require(before == after, f"quads and revision were {before}, and are {after}")


_CHECKS = (
    _is_a_frozen_dataclass_with_the_methods_of_the_port,
    _has_its_shapes_and_queries,
    _refuses_before_it_is_built,
    _a_dry_run_writes_nothing,
    _building_again_changes_nothing,
    _hits_are_ranked_bounded_distinct_and_cite_source_chunks,
    _every_source_span_is_a_stored_text,
    _answers_cite_what_stands_in_the_store,
    _only_declared_kinds_of_graph_are_written_and_they_conform,
    _forgetting_a_document_leaves_nothing_of_it,
    _the_same_input_gives_the_same_graphs_and_hits,
    _an_unknown_hyper_parameter_or_option_is_refused,
    _an_empty_question_or_no_hit_at_all_is_refused,
    _a_filter_limits_all_evidence,
    _a_hostile_question_does_no_harm,
)
