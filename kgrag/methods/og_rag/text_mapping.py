"""The hypergraph of text: a language model maps windows of the documents onto the loaded ontologies.

OG-RAG, sections 3 and 4.1, appendix C.2: one completion per window. Windows are published as their completions arrive,
each with an activity that names the stretch of the document that was mapped; the next build asks for the other
stretches only. A window whose reply is cut is halved and asked again. One without a usable reply is reported as not
done and gets no activity; a reply that breaks the contract is in quarantine until its text is mapped. A window without
facts is reported, and so is a thing that a reply names in ``@id`` as its text does not. A fact that is part of one from
another window stays, because it has a source of its own.

Graphs written: assertions, hyperedges, hypernodes, provenance, quarantine. Prompt read: ``og_rag/map``. Queries read:
``og_rag/set_aside``, and those of ``windows`` and ``kgrag.mapping``.

Deviations:
    Where no property of the ontology says what things are called, "name" (rdfs:label) is shown to the model as one of
    every class; facts that do not name what they are about are of no use. An ``@id`` that stands in the text is a name.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.errors import MappingError, NotBuilt, ReplyUnusable, StateError
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.llm.reading_by_rules import notes_on
from kgrag.llm.reply_lengths import Plan, forecast
from kgrag.mapping import Ontology
from kgrag.mapping.factual_blocks import Edge, flatten
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.hyperedge_cover import greedy_cover
from kgrag.methods.og_rag.mapped_data import Tally, fresh_properties
from kgrag.methods.og_rag.windows import Window, halves, mapped_stretches, unmapped, windows
from kgrag.model import BuildReport, Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.text.chunking import context_before
from kgrag.text.quotes import locate
from kgrag.vocab import KG, PROV, XSD, Names, digest, number

__all__ = ["PROMPT", "build_from_text"]

PROMPT = "og_rag/map"

_WINDOWS_PER_REQUEST = 64  # windows whose prompts are in memory at once
_COMPLETIONS_PER_PUBLISH = 4  # few, because a killed build loses what was paid for and not published


@dataclass(frozen=True, slots=True)
class _Task:
    """A window with its text and its prompt."""

    window: Window
    text: str
    prompt: Prompt

    @property
    def chunks(self) -> list[ox.NamedNode]:
        """The chunks of its text."""
        return [ox.NamedNode(passage.iri) for passage in self.window.passages]


@dataclass(slots=True)
class _Unpublished:
    """The drafts of completions that are published together."""

    graphs: list[GraphDraft] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    properties: dict[str, ox.NamedNode] = field(default_factory=dict)
    completions: int = 0


def build_from_text(
    store: TripleStore,
    *,
    model: LanguageModel,
    embedder: Embedder,
    window_tokens: int,
    dry_run: bool = False,
    progress: Progress = None,
) -> BuildReport:
    """Publish the hypergraph of the documents in the store.

    Args:
        store: contains documents and ontologies.
        model: maps the windows.
        embedder: chooses the classes that are near a window, when the ontology is large.
        window_tokens: the largest window.
        dry_run: count what would be asked and write nothing.
        progress: called after each publish.

    Raises:
        StateError: no ontology is loaded.
        NotBuilt: there is no document.
        ServiceError: the model failed; what came before is published.
    """
    ontology = mapping.read_ontology(store).with_names()
    if not ontology.concepts:
        raise StateError("og_rag maps text onto an ontology, and none is loaded. Run `kgrag load ONTOLOGY` first.")
    planned = list(windows(store, window_tokens))
    if not planned:
        raise NotBuilt("og_rag has no text to map: no document is stored. Run `kgrag ingest PATH` first.")
    extraction = _Extraction(store, model, embedder, ontology)
    mapped = mapped_stretches(store, extraction.parameters)
    parts = [unmapped(window, mapped.get(window.document, ())) for window in planned]
    counts = {"windows": len(planned), "unchanged": sum(not part for part in parts)}
    wanted = [window for part in parts for window in part]
    if dry_run:
        return extraction.estimate(wanted, counts)
    extraction.run(wanted, progress)
    return extraction.report(counts)


class _Extraction:
    """One pass over windows: asks the model, reads its replies, publishes and counts."""

    def __init__(self, store: TripleStore, model: LanguageModel, embedder: Embedder, ontology: Ontology) -> None:
        self.store, self.model, self.embedder, self.ontology = store, model, embedder, ontology
        self.names: Names = store.names
        self.tally = Tally()
        self.usage = Usage()
        self.halved = 0
        self.pending: list[tuple[Window, str]] = []
        # Part of every activity: under another model, prompt or ontology all text is mapped again.
        whole = mapping.slice_for(ontology, [], embedder=embedder, limit=len(ontology.concepts))
        contract = prompting.render(
            PROMPT, ontology=mapping.described(whole), slice=whole, title="", before="", text=""
        ).text
        self.parameters = f"model={model.identity}; contract={digest(contract)}"

    def estimate(self, wanted: Sequence[Window], counts: dict[str, int]) -> BuildReport:
        """Return the completions and tokens that the windows would cost; nothing is asked."""
        plan = Plan(self._task(window).prompt for window in wanted)
        expected = forecast(plan, self.model)
        counts |= expected.counts()
        note = f"tokens are estimated: 4 characters a token, with the schema; {expected.note}".rstrip("; ")
        return BuildReport(method=hypergraph_drafts.METHOD, counts=counts, notes=(note,))

    def run(self, wanted: Sequence[Window], progress: Progress) -> None:
        """Ask for windows, for the halves of those whose replies are cut, and publish replies as they arrive."""
        waiting = deque(wanted)
        passed, total = 0, len(wanted)
        while waiting:
            tasks = [self._task(waiting.popleft()) for _ in range(min(_WINDOWS_PER_REQUEST, len(waiting)))]
            begun = _now()
            drafts = _Unpublished()
            for index, completion in self.model.as_completed([task.prompt for task in tasks]):
                parts = self._take(tasks[index], completion, drafts, begun)
                waiting.extend(parts)
                total += len(parts)
                passed += 1
                if drafts.completions >= _COMPLETIONS_PER_PUBLISH:
                    self._publish(drafts)
                    drafts = _Unpublished()
                    if progress:
                        progress("og_rag windows", passed, total)
            self._publish(drafts)
        if progress:
            progress("og_rag windows", passed, total)

    def report(self, counts: dict[str, int]) -> BuildReport:
        """Return the report of the build: ``counts`` with its own, what it cost, and what was not done and why."""
        counts |= {"pending": len(self.pending), **self.tally.counts()}
        in_reading_order = sorted(self.pending, key=lambda pair: (pair[0].document, pair[0].start))
        undone = (*(f"{window.label}: {problem}" for window, problem in in_reading_order), *self.tally.undone)
        notes = [*self.tally.notes, *notes_on(self.model.identity, len(self.tally.edges))]
        if self.halved:
            notes.append(f"{self.halved} windows were halved, because their replies were cut or their prompts too long")
        return BuildReport(hypergraph_drafts.METHOD, counts, self.usage, tuple(notes), undone)

    def _task(self, window: Window) -> _Task:
        whole = documents.document_text(self.store, window.document)
        pieces = [whole[passage.start : passage.end] for passage in window.passages]
        part = mapping.slice_for(self.ontology, pieces, embedder=self.embedder)
        text, title = whole[window.start : window.end], window.passages[0].title
        before = context_before(whole, window.start) if window.start else ""
        prompt = prompting.render(
            PROMPT,
            schema=mapping.contract(part),
            ontology=mapping.described(part),
            slice=part,
            title=title if locate(title, f"{before}\n{text}") is None else "",
            before=before,
            text=text,
        )
        return _Task(window, text, prompt)

    def _take(self, task: _Task, completion: Completion, drafts: _Unpublished, begun: ox.Literal) -> Sequence[Window]:
        """Add the drafts of a completion; return what is to be asked instead: the halves of a window too long."""
        self.usage += completion.usage
        drafts.completions += 1
        window = task.window
        is_cut = completion.finish in ("length", "prompt_length") or structured_output.lacks_end(completion.text)
        if is_cut and (parts := halves(window, task.text)):
            self.halved += 1
            return parts
        activity = self.names.activity(PROMPT, self.parameters, window.document, str(window.start), str(window.end))
        graph = self.names.assertion_graph(activity.value)
        try:
            blocks, nameless = _read(completion, task, self.ontology)
            edges = flatten(list(blocks), brief=True)
        except (ReplyUnusable, MappingError) as error:
            problem = str(error)
            # Only a whole reply is of use to a person; a cut one is asked for again.
            if completion.finish == "stop" and not is_cut:
                self.tally.quarantined += 1
                drafts.graphs.append(_quarantined(completion.text, problem, graph, task, self.names))
                problem = f"in quarantine: {problem}"
            self.pending.append((window, problem))
            return ()
        self.tally.refuse_names(nameless, window.label)
        deed = _deed(task, completion, activity, begun, self.parameters)
        drafts.deeds.append(deed)
        if edges:
            self._add_facts(task, blocks, edges, drafts, deed)
        else:
            self.tally.notes.append(f"no fact was found in {window.label}")
        return ()

    def _add_facts(
        self, task: _Task, blocks: tuple[Any, ...], edges: list[Edge], drafts: _Unpublished, deed: Deed
    ) -> None:
        """Add the assertions and hyperedges of a reply, each hyperedge with the chunks that contain its values."""
        assertions = mapping.assertions(
            blocks, source=deed.iri.value, ontology=self.ontology, names=self.names, brief=True
        )
        graph = self.names.assertion_graph(deed.iri.value)
        first = task.window.start
        texts = {
            passage.iri: _normalised(task.text[passage.start - first : passage.end - first])
            for passage in task.window.passages
        }
        hyperedges = [
            hypergraph_drafts.hyperedge_draft(
                edge,
                sources=[*(ox.NamedNode(iri) for iri in _source_chunks(edge, texts)), graph],
                activity=deed.iri,
                names=self.names,
            )
            for edge in edges
        ]
        self.tally.count(assertions, hyperedges)
        facts = hypergraph_drafts.assertion_draft(graph, assertions.triples, sources=task.chunks, activity=deed.iri)
        drafts.graphs += [facts, *hyperedges]
        drafts.edges += edges
        drafts.properties = {**assertions.properties, **drafts.properties}

    def _publish(self, drafts: _Unpublished) -> None:
        """Publish drafts together, and remove from quarantine what their chunks left there before."""
        if not drafts.graphs and not drafts.deeds:
            return
        batch = [*drafts.graphs]
        if drafts.deeds:
            batch.append(provenance_draft(drafts.deeds, method=hypergraph_drafts.METHOD, names=self.names))
            chunks = [chunk for deed in drafts.deeds for chunk in deed.used]
            query = queries.bind("og_rag/set_aside", catalogue=self.names.catalogue, chunks=chunks)
            self.store.remove([ox.NamedNode(graph) for (graph,) in self.store.select(query).values()])
        if drafts.edges:
            properties = fresh_properties(drafts.properties, self.store)
            nodes = list(hypergraph_drafts.hypernode_triples(drafts.edges, properties, self.names))
            batch.append(hypergraph_drafts.hypernodes_draft(nodes, self.names))
        self.tally.published(self.store.publish(batch))


def _read(completion: Completion, task: _Task, ontology: Ontology) -> tuple[tuple[Any, ...], list[str]]:
    """Return the blocks of a reply in the words of the ontology, and the names in ``@id`` that the text does not have.

    A reply without the frame around the blocks is read as well.

    Raises:
        ReplyUnusable: the reply was cut or withheld, or breaks the contract.
    """
    data = structured_output.json_of(completion, checked=False)
    blocks, problem = mapping.problem(data, task.prompt.schema or {})
    if problem:
        raise ReplyUnusable(completion.problem or problem)
    nameless: list[str] = []
    return mapping.canonical(blocks, ontology, task.text, nameless=nameless), nameless


def _quarantined(reply: str, problem: str, graph: ox.NamedNode, task: _Task, names: Names) -> GraphDraft:
    encodable = reply.encode("utf-8", "replace").decode()  # a reply may contain half a surrogate pair
    return hypergraph_drafts.quarantine_draft(encodable, problem, graph=graph, sources=task.chunks, names=names)


def _deed(task: _Task, completion: Completion, activity: ox.NamedNode, begun: ox.Literal, parameters: str) -> Deed:
    usage = completion.usage
    return Deed(
        activity,
        label=f"mapped text onto the ontology: {task.window.label}",
        used=task.chunks,
        said=[
            (KG.parameters, ox.Literal(parameters)),
            (KG.start, number(task.window.start)),
            (KG.end, number(task.window.end)),
            (KG.model, ox.Literal(completion.model)),
            (KG.promptHash, ox.Literal(hashlib.sha256(task.prompt.text.encode()).hexdigest())),
            (KG.inputTokens, number(usage.input_tokens)),
            (KG.outputTokens, number(usage.output_tokens)),
            (PROV.startedAtTime, begun),
            (PROV.endedAtTime, _now()),
        ],
    )


def _now() -> ox.Literal:
    return ox.Literal(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", datatype=XSD.dateTime)


def _source_chunks(edge: Edge, texts: dict[str, str]) -> list[str]:
    """Return the fewest chunks that together contain the values of a fact as words; all when none contains any."""
    patterns = {value: re.compile(rf"(?<!\w){re.escape(_normalised(value))}(?!\w)") for _, value in edge}
    values_in = {iri: {value for value in patterns if patterns[value].search(text)} for iri, text in texts.items()}
    # A long value says more about the place of a fact than a short one, which may stand anywhere.
    weights = {value: float(len(value)) for value in patterns}
    return greedy_cover(set(patterns), values_in, limit=len(texts), weights=weights) or list(texts)


def _normalised(text: str) -> str:
    return " ".join(text.casefold().split())
