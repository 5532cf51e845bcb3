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
    Where no property of the ontology says what things of a class are called, "name" (rdfs:label) is shown to the model
    as one of that class; facts that do not name what they are about are of no use. An ``@id`` that stands in the text
    is a name.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.errors import NotBuilt, StateError
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.llm.reading_by_rules import notes_on
from kgrag.llm.reply_lengths import Plan, forecast
from kgrag.mapping.factual_blocks import Edge
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.mapped_data import Tally, fresh_properties
from kgrag.methods.og_rag.window_facts import PROMPT, Asked, Reply, WindowFacts, WindowReader
from kgrag.methods.og_rag.windows import (
    Window,
    halves,
    mapped_passages,
    mapped_stretches,
    passages,
    unmapped,
    windows,
)
from kgrag.model import BuildReport, Completion, GraphDraft, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore, Workers
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.text.chunking import context_before
from kgrag.text.quotes import locate
from kgrag.vocab import KG, PROV, XSD, digest, number

__all__ = ["Extractor", "build_from_text"]

_WINDOWS_PER_REQUEST = 64  # windows whose prompts are in memory at once
_COMPLETIONS_PER_PUBLISH = 4  # few, because a killed build loses what was paid for and not published


@dataclass(slots=True)
class _Unpublished:
    """The drafts of completions that are published together."""

    graphs: list[GraphDraft] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    properties: dict[str, ox.NamedNode] = field(default_factory=dict)
    conforming: frozenset[str] = frozenset()
    completions: int = 0


@dataclass(frozen=True, slots=True)
class Extractor:
    """Who maps windows.

    Args:
        model: maps the windows.
        embedder: chooses the classes that are near a window, when the ontology is large.
        workers: read the replies, by the stage of ``facts_stage``; None: this process.
    """

    model: LanguageModel
    embedder: Embedder
    workers: Workers | None = None

    def reader(self, store: TripleStore) -> WindowReader:
        """Return what reads the replies of the model under the ontologies of a store.

        Its parameters are part of every activity: under another model, prompt or ontology all text is mapped again.

        Raises:
            StateError: no ontology is loaded.
        """
        ontology = mapping.read_ontology(store).with_names()
        if not ontology.concepts:
            raise StateError("og_rag maps text onto an ontology, and none is loaded. Run `kgrag load ONTOLOGY` first.")
        whole = mapping.slice_for(ontology, [], embedder=self.embedder, limit=len(ontology.concepts))
        described = mapping.described(whole)
        contract = prompting.render(PROMPT, ontology=described, slice=whole, title="", before="", text="").text
        return WindowReader(ontology, store.names, f"model={self.model.identity}; contract={digest(contract)}")


def build_from_text(
    store: TripleStore,
    extractor: Extractor,
    *,
    window_tokens: int,
    triage: mapping.Triage | None = None,
    dry_run: bool = False,
    progress: Progress = None,
) -> BuildReport:
    """Publish the hypergraph of the documents in the store.

    Args:
        store: contains documents and ontologies.
        extractor: maps the windows.
        window_tokens: the largest window.
        triage: chooses the chunks that are mapped; None: all.
        dry_run: count what would be asked and write nothing.
        progress: called after each publish.

    Raises:
        StateError: no ontology is loaded.
        NotBuilt: there is no document.
        ServiceError: the model failed; what came before is published.
    """
    extraction = _Extraction(store, extractor)
    read = passages(store)
    if not read:
        raise NotBuilt("og_rag has no text to map: no document is stored. Run `kgrag ingest PATH` first.")
    mapped = mapped_stretches(store, extraction.reader.parameters)
    choice = triage and triage.choose([passage.iri for passage in read], mapped_passages(read, mapped))
    planned = list(windows(read, window_tokens, choice.chunks if choice else None))
    parts = [unmapped(window, mapped.get(window.document, ())) for window in planned]
    counts = {"windows": len(planned), "unchanged": sum(not part for part in parts)}
    wanted = [window for part in parts for window in part]
    if dry_run:
        report = extraction.estimate(wanted, counts)
    else:
        extraction.run(wanted, progress)
        report = extraction.report(counts)
    return choice.noted(report) if choice else report


class _Extraction:
    """One pass over windows: asks the model, reads its replies, publishes and counts."""

    def __init__(self, store: TripleStore, extractor: Extractor) -> None:
        self.store, self.model, self.embedder = store, extractor.model, extractor.embedder
        self.workers = extractor.workers
        self.reader = extractor.reader(store)
        self.slices = mapping.Slices(self.reader.ontology, self.embedder)
        self.tally = Tally()
        self.usage = Usage()
        self.passed = self.total = self.halved = 0
        self.pending: list[tuple[Window, str]] = []

    def estimate(self, wanted: Sequence[Window], counts: dict[str, int]) -> BuildReport:
        """Return the completions and tokens that the windows would cost; nothing is asked."""
        plan = Plan(self._task(window).prompt for window in wanted)
        expected = forecast(plan, self.model)
        counts |= expected.counts()
        note = f"tokens are estimated: 4 characters a token; {expected.note}".rstrip("; ")
        return BuildReport(method=hypergraph_drafts.METHOD, counts=counts, notes=(note,))

    def run(self, wanted: Sequence[Window], progress: Progress) -> None:
        """Ask for windows, for the halves of those whose replies are cut, and publish replies as they arrive."""
        waiting = deque(wanted)
        self.total = len(wanted)
        while waiting:
            tasks = [self._task(waiting.popleft()) for _ in range(min(_WINDOWS_PER_REQUEST, len(waiting)))]
            begun = _now()
            drafts = _Unpublished()
            for reply, facts in self._read(self._replies(tasks, waiting)):
                self._take(reply, facts, drafts, begun)
                if drafts.completions >= _COMPLETIONS_PER_PUBLISH:
                    self._publish(drafts)
                    drafts = _Unpublished()
                    if progress:
                        progress("og_rag windows", self.passed, self.total)
            self._publish(drafts)
        if progress:
            progress("og_rag windows", self.passed, self.total)

    def report(self, counts: dict[str, int]) -> BuildReport:
        """Return the report of the build: ``counts`` with its own, what it cost, and what was not done and why."""
        counts |= {"pending": len(self.pending), **self.tally.counts()}
        in_reading_order = sorted(self.pending, key=lambda pair: (pair[0].document, pair[0].start))
        undone = (*(f"{window.label}: {problem}" for window, problem in in_reading_order), *self.tally.undone)
        notes = [*self.tally.notes, *notes_on(self.model.identity, len(self.tally.edges))]
        if self.halved:
            notes.append(f"{self.halved} windows were halved, because their replies were cut or their prompts too long")
        return BuildReport(hypergraph_drafts.METHOD, counts, self.usage, tuple(notes), undone)

    def _task(self, window: Window) -> Asked:
        whole = documents.document_text(self.store, window.document)
        pieces = [whole[passage.start : passage.end] for passage in window.passages]
        shown = self.slices.of(pieces)
        text, title = whole[window.start : window.end], window.passages[0].title
        before = context_before(whole, window.start) if window.start else ""
        prompt = prompting.render(
            PROMPT,
            schema=shown.contract,
            ontology=shown.described,
            slice=shown.part,
            title=title if locate(title, f"{before}\n{text}") is None else "",
            before=before,
            text=text,
        )
        return Asked(window, text, replace(prompt, divisible=bool(halves(window, text))))

    def _replies(self, tasks: Sequence[Asked], waiting: deque[Window]) -> Iterator[Reply]:
        """Yield replies as they arrive; the halves of a window that was too long wait to be asked instead."""
        for index, completion in self.model.as_completed([task.prompt for task in tasks]):
            task = tasks[index]
            self.usage += completion.usage
            self.passed += 1
            if _is_cut(completion) and (parts := halves(task.window, task.text)):
                self.halved += 1
                self.total += len(parts)
                waiting.extend(parts)
                continue
            yield Reply(task, completion)

    def _read(self, replies: Iterable[Reply]) -> Iterator[tuple[Reply, WindowFacts]]:
        """Yield replies with what they state, read by workers where there are some."""
        if self.workers is not None:
            from kgrag.methods.og_rag import facts_stage

            return facts_stage.read(replies, self.reader, self.workers)
        return ((reply, self.reader.read(reply)) for reply in replies)

    def _take(self, reply: Reply, facts: WindowFacts, drafts: _Unpublished, begun: ox.Literal) -> None:
        """Add the drafts of a reply."""
        drafts.completions += 1
        window, completion = reply.asked.window, reply.completion
        if facts.problem:
            problem = facts.problem
            # Only a whole reply is of use to a person; a cut one is asked for again.
            if facts.is_read and completion.finish == "stop" and not _is_cut(completion):
                self.tally.quarantined += 1
                drafts.graphs.append(_quarantined(reply, problem, self.reader))
                problem = f"in quarantine: {problem}"
            self.pending.append((window, problem))
            return
        self.tally.refuse_names(facts.nameless, window.label)
        drafts.deeds.append(_deed(reply, begun, self.reader))
        if facts.facts is None:
            self.tally.notes.append(f"no fact was found in {window.label}")
            return
        self.tally.count(facts.minted_classes, facts.minted_properties, facts.hyperedges)
        drafts.graphs += facts.graphs
        drafts.edges += facts.edges
        drafts.properties = {**facts.properties, **drafts.properties}
        drafts.conforming |= facts.conforming

    def _publish(self, drafts: _Unpublished) -> None:
        """Publish drafts together, and remove from quarantine what their chunks left there before."""
        if not drafts.graphs and not drafts.deeds:
            return
        batch, names = [*drafts.graphs], self.store.names
        if drafts.deeds:
            batch.append(provenance_draft(drafts.deeds, method=hypergraph_drafts.METHOD, names=names))
            chunks = [chunk for deed in drafts.deeds for chunk in deed.used]
            query = queries.bind("og_rag/set_aside", catalogue=names.catalogue, chunks=chunks)
            self.store.remove([ox.NamedNode(graph) for (graph,) in self.store.select(query).values()])
        if drafts.edges:
            properties = fresh_properties(drafts.properties, self.store)
            nodes = list(hypergraph_drafts.hypernode_triples(drafts.edges, properties, names))
            batch.append(hypergraph_drafts.hypernodes_draft(nodes, names))
        conforming = {ox.NamedNode(iri) for iri in drafts.conforming}
        self.tally.published(self.store.publish(batch, conforming=conforming))


def _is_cut(completion: Completion) -> bool:
    return completion.finish in ("length", "prompt_length") or structured_output.lacks_end(completion.text)


def _quarantined(reply: Reply, problem: str, reader: WindowReader) -> GraphDraft:
    # a reply may contain half a surrogate pair
    encodable = reply.completion.text.encode("utf-8", "replace").decode()
    window, names = reply.asked.window, reader.names
    graph = names.assertion_graph(reader.activity(window).value)
    return hypergraph_drafts.quarantine_draft(encodable, problem, graph=graph, sources=window.chunks, names=names)


def _deed(reply: Reply, begun: ox.Literal, reader: WindowReader) -> Deed:
    window, completion = reply.asked.window, reply.completion
    usage = completion.usage
    return Deed(
        reader.activity(window),
        label=f"mapped text onto the ontology: {window.label}",
        used=window.chunks,
        said=[
            (KG.parameters, ox.Literal(reader.parameters)),
            (KG.start, number(window.start)),
            (KG.end, number(window.end)),
            (KG.model, ox.Literal(completion.model)),
            (KG.promptHash, ox.Literal(hashlib.sha256(reply.asked.prompt.text.encode()).hexdigest())),
            (KG.inputTokens, number(usage.input_tokens)),
            (KG.outputTokens, number(usage.output_tokens)),
            (PROV.startedAtTime, begun),
            (PROV.endedAtTime, _now()),
        ],
    )


def _now() -> ox.Literal:
    return ox.Literal(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", datatype=XSD.dateTime)
