"""Build from text: a language model maps windows of the documents onto the loaded ontologies.

OG-RAG, sections 3 and 4.1, appendix C.2: windows of up to 8,192 tokens, one completion each. A window is published as
its completion arrives; one that was mapped before, by the same model from the same prompt, is passed over. A reply that
keeps no contract is put in quarantine with what is wrong; a window that states nothing is reported. A fact that is part
of one from another window stays: it has a source of its own. Prompt: ``og_rag/map``. Queries read: ``og_rag/passages``,
``og_rag/activities``, those of ``kgrag.mapping``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import pyoxigraph as ox

from kgrag import mapping, prompting, queries
from kgrag.errors import MappingError, NotBuilt, StateError
from kgrag.index.vector_spaces import Progress
from kgrag.llm import structured_output
from kgrag.mapping import Ontology
from kgrag.mapping.factual_blocks import Edge, flatten
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.hyperedge_cover import greedy_cover
from kgrag.methods.og_rag.mapped_data import Tally, fresh_properties
from kgrag.model import BuildReport, Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.vocab import KG, PROV, XSD, Names, number

__all__ = ["PROMPT", "build_from_text"]

PROMPT = "og_rag/map"

_AT_ONCE = 64  # windows rendered and asked together
_PUBLISH = 4  # completions published together
_CHARACTERS_A_TOKEN = 4  # for the estimate of a dry run


@dataclass(frozen=True, slots=True)
class _Passage:
    """A chunk: its place in its document, and its tokens."""

    document: str
    title: str
    iri: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class _Window:
    """Consecutive chunks of one document."""

    passages: tuple[_Passage, ...]

    @property
    def label(self) -> str:
        """Name it for a person."""
        first, last = self.passages[0], self.passages[-1]
        return f"{first.title or first.document}, characters {first.start} to {last.end}"


@dataclass(frozen=True, slots=True)
class _Task:
    """A window with what is asked of the model, and the activity that this is."""

    window: _Window
    text: str
    prompt: Prompt
    activity: ox.NamedNode


@dataclass(slots=True)
class _Yield:
    """What completions gave, until it is published."""

    graphs: list[GraphDraft] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    properties: dict[str, ox.NamedNode] = field(default_factory=dict)


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
        store: holds documents and ontologies.
        model: maps windows.
        embedder: chooses the classes that are near a window, when the ontology is large.
        window_tokens: the largest window.
        dry_run: count what would be asked and write nothing.
        progress: told after each publish.

    Raises:
        StateError: no ontology is loaded.
        NotBuilt: there is no document.
        ServiceError: the model failed; what came before is published.
    """
    ontology = mapping.read_ontology(store)
    if not ontology.concepts:
        raise StateError("og_rag maps text onto an ontology, and none is loaded. Run `kgrag load ONTOLOGY` first.")
    windows = list(_windows(store, window_tokens))
    if not windows:
        raise NotBuilt("og_rag has no text to map: no document is stored. Run `kgrag ingest PATH` first.")
    extraction = _Extraction(store, model, embedder, ontology)
    if dry_run:
        return extraction.estimate(windows)
    extraction.run(windows, progress)
    return extraction.report(windows)


def _windows(store: TripleStore, size: int) -> Iterator[_Window]:
    """Yield windows of consecutive chunks; one chunk that is larger than a window is one by itself."""
    rows = store.select(queries.bind("og_rag/passages", catalogue=store.names.catalogue)).values()
    passages = [_Passage(row[0], row[1], row[2], int(row[3]), int(row[4]), int(row[5])) for row in rows]
    for _, group in groupby(passages, key=lambda passage: passage.document):
        held: list[_Passage] = []
        for passage in group:
            if held and sum(one.tokens for one in held) + passage.tokens > size:
                yield _Window(tuple(held))
                held = []
            held.append(passage)
        yield _Window(tuple(held))


class _Extraction:
    """One run over the windows: asks, reads, publishes, counts."""

    def __init__(self, store: TripleStore, model: LanguageModel, embedder: Embedder, ontology: Ontology) -> None:
        self.store, self.model, self.embedder, self.ontology = store, model, embedder, ontology
        self.names: Names = store.names
        self.tally = Tally()
        self.usage = Usage()
        self.asked = 0

    def estimate(self, windows: Sequence[_Window]) -> BuildReport:
        """Count completions and tokens without asking."""
        tokens = [(len(task.prompt.text), len(task.text)) for tasks in self._pending(windows) for task in tasks]
        counts = {
            "windows": len(windows),
            "completions": len(tokens),
            "input_tokens": sum(asked // _CHARACTERS_A_TOKEN for asked, _ in tokens),
            "output_tokens": sum(text // _CHARACTERS_A_TOKEN for _, text in tokens),
        }
        note = "tokens are estimated: 4 characters a token, a reply as long as its window"
        return BuildReport(method=hypergraph_drafts.METHOD, counts=counts, notes=(note,))

    def run(self, windows: Sequence[_Window], progress: Progress) -> None:
        """Ask for every window that was not mapped before, and publish replies as they arrive."""
        passed = 0
        for tasks in self._pending(windows):
            begun = _now()
            held = _Yield()
            for index, completion in self.model.as_completed([task.prompt for task in tasks]):
                self._take(tasks[index], completion, held, begun)
                passed += 1
                if len(held.deeds) >= _PUBLISH:
                    self._publish(held)
                    held = _Yield()
                    if progress:
                        progress("og_rag windows", passed, len(windows))
            self._publish(held)
        if progress:
            progress("og_rag windows", len(windows), len(windows))

    def report(self, windows: Sequence[_Window]) -> BuildReport:
        """Say what was done."""
        counts = {"windows": len(windows), "unchanged": len(windows) - self.asked, **self.tally.counts()}
        return BuildReport(
            method=hypergraph_drafts.METHOD, counts=counts, usage=self.usage, notes=tuple(self.tally.notes)
        )

    def _pending(self, windows: Sequence[_Window]) -> Iterator[list[_Task]]:
        """Yield the tasks that are not done, some at a time, so that not all prompts are held at once."""
        for first in range(0, len(windows), _AT_ONCE):
            tasks = [self._task(window) for window in windows[first : first + _AT_ONCE]]
            query = queries.bind(
                "og_rag/activities", provenance=self.names.provenance, activities=[task.activity for task in tasks]
            )
            done = {iri for (iri,) in self.store.select(query).values()}
            if left := [task for task in tasks if task.activity.value not in done]:
                yield left

    def _task(self, window: _Window) -> _Task:
        first, last = window.passages[0], window.passages[-1]
        whole = documents.document_text(self.store, first.document)
        text = whole[first.start : last.end]
        pieces = [whole[passage.start : passage.end] for passage in window.passages]
        part = mapping.slice_for(self.ontology, pieces, embedder=self.embedder)
        prompt = prompting.render(
            PROMPT, schema=mapping.contract(part), ontology=mapping.described(part), slice=part, text=text
        )
        origin = (first.document, str(first.start), str(last.end))
        return _Task(window, text, prompt, self.names.activity(PROMPT, self.model.identity, *origin, prompt.text))

    def _take(self, task: _Task, completion: Completion, held: _Yield, begun: ox.Literal) -> None:
        """Turn a completion into drafts: facts, or a reply in quarantine, and in any case the activity."""
        self.asked += 1
        self.usage += completion.usage
        deed = _deed(task, completion, begun)
        held.deeds.append(deed)
        blocks, wrong = _read(completion, task.prompt)
        graph = self.names.assertion_graph(deed.iri.value)
        chunks = [ox.NamedNode(passage.iri) for passage in task.window.passages]
        try:
            edges = flatten(list(blocks))
        except MappingError as error:
            edges, wrong = [], str(error)
        if wrong:
            self.tally.quarantined += 1
            self.tally.notes.append(f"in quarantine: {task.window.label}: {wrong}")
            held.graphs.append(
                hypergraph_drafts.quarantine_draft(
                    _sound(completion.text), wrong, graph=graph, sources=chunks, deed=deed, names=self.names
                )
            )
        elif not edges:
            self.tally.notes.append(f"no fact was found in {task.window.label}")
        else:
            self._facts(task, blocks, edges, held, deed)

    def _facts(self, task: _Task, blocks: tuple[Any, ...], edges: list[Edge], held: _Yield, deed: Deed) -> None:
        said = mapping.assertions(blocks, source=deed.iri.value, ontology=self.ontology, names=self.names)
        graph = self.names.assertion_graph(deed.iri.value)
        chunks = [ox.NamedNode(passage.iri) for passage in task.window.passages]
        held.graphs.append(hypergraph_drafts.assertion_draft(graph, said.triples, sources=chunks, activity=deed.iri))
        texts = _texts(task)
        made = [
            hypergraph_drafts.hyperedge_draft(
                edge,
                sources=[*(ox.NamedNode(iri) for iri in _origin(edge, texts)), graph],
                activity=deed.iri,
                names=self.names,
            )
            for edge in edges
        ]
        self.tally.count(said, made)
        held.graphs += made
        held.edges += edges
        held.properties = {**said.properties, **held.properties}

    def _publish(self, held: _Yield) -> None:
        if not held.deeds:
            return
        batch = [*held.graphs, provenance_draft(held.deeds, method=hypergraph_drafts.METHOD, names=self.names)]
        if held.edges:
            fresh = fresh_properties(held.properties, self.store)
            nodes = list(hypergraph_drafts.hypernode_triples(held.edges, fresh, self.names))
            batch.append(hypergraph_drafts.hypernodes_draft(nodes, self.names))
        self.tally.published(self.store.publish(batch))


def _read(completion: Completion, prompt: Prompt) -> tuple[tuple[Any, ...], str]:
    """Give the blocks of a reply and what is wrong with it; a frame that the model left away is no fault."""
    schema = prompt.schema or {}
    if not completion.problem:
        return mapping.problem(completion.data, schema)
    try:
        blocks, wrong = mapping.problem(structured_output.parse_json(completion.text), schema)
    except ValueError:
        return (), completion.problem
    return (blocks, "") if not wrong else ((), completion.problem)


def _deed(task: _Task, completion: Completion, begun: ox.Literal) -> Deed:
    usage = completion.usage
    return Deed(
        task.activity,
        label=f"mapped text onto the ontology: {task.window.label}",
        used=[ox.NamedNode(passage.iri) for passage in task.window.passages],
        said=[
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


def _texts(task: _Task) -> dict[str, str]:
    """Give the text of each chunk of a window, as it is compared with values."""
    first = task.window.passages[0].start
    return {
        passage.iri: _plain(task.text[passage.start - first : passage.end - first]) for passage in task.window.passages
    }


def _origin(edge: Edge, texts: dict[str, str]) -> list[str]:
    """Give the fewest chunks that together hold the values of a fact word by word; all when none holds any."""
    values = {value: re.compile(rf"(?<!\w){re.escape(_plain(value))}(?!\w)") for _, value in edge}
    held = {iri: {value for value in values if values[value].search(text)} for iri, text in texts.items()}
    weights = {value: float(len(value)) for value in values}
    return greedy_cover(set(values), held, limit=len(texts), weights=weights) or list(texts)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _sound(text: str) -> str:
    """Replace what is no Unicode text, so that any reply can be kept."""
    return text.encode("utf-8", "replace").decode()
