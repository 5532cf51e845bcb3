"""Build from text: a language model maps windows of the documents onto the loaded ontologies.

OG-RAG, sections 3 and 4.1, appendix C.2: one completion a window. A window is published as its completion arrives, with
an activity that says which stretch of which document was mapped; the next build asks for the other stretches only. A
window whose reply is cut is halved and asked again. One without a usable reply is reported as not done and stays
without an activity; a reply that keeps no contract is in quarantine until its text is mapped. A window that states
nothing is reported. A fact that is part of one from another window stays: it has a source of its own. Prompt:
``og_rag/map``. Queries read: ``og_rag/passages``, ``og_rag/mapped``, ``og_rag/set_aside``, those of
``kgrag.mapping``.
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
from kgrag.mapping import Ontology
from kgrag.mapping.factual_blocks import Edge, flatten
from kgrag.methods.og_rag import hypergraph_drafts
from kgrag.methods.og_rag.hyperedge_cover import greedy_cover
from kgrag.methods.og_rag.mapped_data import Tally, fresh_properties
from kgrag.methods.og_rag.windows import REPLY_GROWTH, Window, halves, left, mapped_stretches, windows
from kgrag.model import BuildReport, Completion, GraphDraft, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text import documents
from kgrag.vocab import KG, PROV, XSD, Names, digest, number

__all__ = ["PROMPT", "build_from_text"]

PROMPT = "og_rag/map"

_AT_ONCE = 64  # windows rendered and asked together
_PUBLISH = 4  # completions published together
_CHARACTERS_A_TOKEN = 4  # for the estimate of a dry run


@dataclass(frozen=True, slots=True)
class _Task:
    """A window with its text and what is asked of the model."""

    window: Window
    text: str
    prompt: Prompt

    @property
    def chunks(self) -> list[ox.NamedNode]:
        """The chunks that it reads."""
        return [ox.NamedNode(passage.iri) for passage in self.window.passages]


@dataclass(slots=True)
class _Yield:
    """What completions gave, until it is published."""

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
    planned = list(windows(store, window_tokens))
    if not planned:
        raise NotBuilt("og_rag has no text to map: no document is stored. Run `kgrag ingest PATH` first.")
    extraction = _Extraction(store, model, embedder, ontology)
    mapped = mapped_stretches(store, extraction.parameters)
    rests = [left(window, mapped.get(window.document, ())) for window in planned]
    counts = {"windows": len(planned), "unchanged": sum(not rest for rest in rests)}
    wanted = [window for rest in rests for window in rest]
    if dry_run:
        return extraction.estimate(wanted, counts)
    extraction.run(wanted, progress)
    return extraction.report(counts)


class _Extraction:
    """One run over windows: asks, reads, publishes, counts."""

    def __init__(self, store: TripleStore, model: LanguageModel, embedder: Embedder, ontology: Ontology) -> None:
        self.store, self.model, self.embedder, self.ontology = store, model, embedder, ontology
        self.names: Names = store.names
        self.tally = Tally()
        self.usage = Usage()
        self.halved = 0
        self.pending: list[tuple[Window, str]] = []
        whole = mapping.slice_for(ontology, [], embedder=embedder, limit=len(ontology.concepts))
        contract = prompting.render(PROMPT, ontology=mapping.described(whole), slice=whole, text="").text
        self.parameters = f"model={model.identity}; contract={digest(contract)}"

    def estimate(self, wanted: Sequence[Window], counts: dict[str, int]) -> BuildReport:
        """Count completions and tokens without asking."""
        tokens = [passage.tokens for window in wanted for passage in window.passages]
        counts |= {
            "completions": len(wanted),
            "input_tokens": sum(len(self._task(window).prompt.text) // _CHARACTERS_A_TOKEN for window in wanted),
            "output_tokens": REPLY_GROWTH * sum(tokens),
        }
        note = (
            f"tokens are estimated: 4 characters a token, a reply of {REPLY_GROWTH} tokens for each word of its window"
        )
        return BuildReport(method=hypergraph_drafts.METHOD, counts=counts, notes=(note,))

    def run(self, wanted: Sequence[Window], progress: Progress) -> None:
        """Ask for windows, for the halves of those whose replies are cut, and publish replies as they arrive."""
        waiting = deque(wanted)
        passed, total = 0, len(wanted)
        while waiting:
            tasks = [self._task(waiting.popleft()) for _ in range(min(_AT_ONCE, len(waiting)))]
            begun = _now()
            held = _Yield()
            for index, completion in self.model.as_completed([task.prompt for task in tasks]):
                parts = self._take(tasks[index], completion, held, begun)
                waiting.extend(parts)
                total += len(parts)
                passed += 1
                if held.completions >= _PUBLISH:
                    self._publish(held)
                    held = _Yield()
                    if progress:
                        progress("og_rag windows", passed, total)
            self._publish(held)
        if progress:
            progress("og_rag windows", passed, total)

    def report(self, counts: dict[str, int]) -> BuildReport:
        """Say what was done, and what was not."""
        counts |= {"pending": len(self.pending), **self.tally.counts()}
        waiting = sorted(self.pending, key=lambda pair: (pair[0].document, pair[0].start))
        undone = (*(f"{window.label}: {wrong}" for window, wrong in waiting), *self.tally.undone)
        notes = [*self.tally.notes]
        if self.halved:
            notes.append(f"{self.halved} windows were halved, because their replies were cut or their prompts too long")
        return BuildReport(hypergraph_drafts.METHOD, counts, self.usage, tuple(notes), undone)

    def _task(self, window: Window) -> _Task:
        whole = documents.document_text(self.store, window.document)
        pieces = [whole[passage.start : passage.end] for passage in window.passages]
        part = mapping.slice_for(self.ontology, pieces, embedder=self.embedder)
        text = whole[window.start : window.end]
        prompt = prompting.render(
            PROMPT, schema=mapping.contract(part), ontology=mapping.described(part), slice=part, text=text
        )
        return _Task(window, text, prompt)

    def _take(self, task: _Task, completion: Completion, held: _Yield, begun: ox.Literal) -> Sequence[Window]:
        """Turn a completion into drafts, and give what is to be asked instead: the halves of a window too long."""
        self.usage += completion.usage
        held.completions += 1
        if completion.finish in ("length", "prompt_length") and (parts := halves(task.window, task.text)):
            self.halved += 1
            return parts
        place = (task.window.document, str(task.window.start), str(task.window.end))
        activity = self.names.activity(PROMPT, self.parameters, *place)
        try:
            blocks, edges = _read(completion, task.prompt)
        except (ReplyUnusable, MappingError) as error:
            self._set_aside(task, completion, str(error), held, self.names.assertion_graph(activity.value))
            return ()
        deed = _deed(task, completion, activity, begun, self.parameters)
        held.deeds.append(deed)
        if edges:
            self._facts(task, blocks, edges, held, deed)
        else:
            self.tally.notes.append(f"no fact was found in {task.window.label}")
        return ()

    def _set_aside(self, task: _Task, completion: Completion, wrong: str, held: _Yield, graph: ox.NamedNode) -> None:
        """Report a window that was not mapped; a reply that is whole and keeps no contract goes to quarantine."""
        if completion.finish == "stop":
            self.tally.quarantined += 1
            content = _sound(completion.text)
            held.graphs.append(
                hypergraph_drafts.quarantine_draft(content, wrong, graph=graph, sources=task.chunks, names=self.names)
            )
            wrong = f"in quarantine: {wrong}"
        self.pending.append((task.window, wrong))

    def _facts(self, task: _Task, blocks: tuple[Any, ...], edges: list[Edge], held: _Yield, deed: Deed) -> None:
        said = mapping.assertions(blocks, source=deed.iri.value, ontology=self.ontology, names=self.names)
        graph = self.names.assertion_graph(deed.iri.value)
        held.graphs.append(
            hypergraph_drafts.assertion_draft(graph, said.triples, sources=task.chunks, activity=deed.iri)
        )
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
        if not held.graphs and not held.deeds:
            return
        batch = [*held.graphs]
        if held.deeds:
            batch.append(provenance_draft(held.deeds, method=hypergraph_drafts.METHOD, names=self.names))
            chunks = [chunk for deed in held.deeds for chunk in deed.used]
            query = queries.bind("og_rag/set_aside", catalogue=self.names.catalogue, chunks=chunks)
            self.store.remove([ox.NamedNode(graph) for (graph,) in self.store.select(query).values()])
        if held.edges:
            fresh = fresh_properties(held.properties, self.store)
            nodes = list(hypergraph_drafts.hypernode_triples(held.edges, fresh, self.names))
            batch.append(hypergraph_drafts.hypernodes_draft(nodes, self.names))
        self.tally.published(self.store.publish(batch))


def _read(completion: Completion, prompt: Prompt) -> tuple[tuple[Any, ...], list[Edge]]:
    """Give the blocks of a reply and its hyperedges; a frame that the model left away is no fault.

    Raises:
        ReplyUnusable: it was cut or withheld, or keeps no contract.
        MappingError: it is nested too deep.
    """
    data = structured_output.json_of(completion, checked=False)
    blocks, wrong = mapping.problem(data, prompt.schema or {})
    if wrong:
        raise ReplyUnusable(completion.problem or wrong)
    return blocks, flatten(list(blocks))


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


def _texts(task: _Task) -> dict[str, str]:
    """Give the text of each chunk of a window, as it is compared with values."""
    first = task.window.start
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
