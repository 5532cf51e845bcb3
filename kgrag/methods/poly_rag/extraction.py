"""Layers out of text: the model is asked for triples and instances, chunk by chunk, and each batch is published.

A chunk that the same model was asked about is passed over, so that a killed build goes on where it stopped. Graphs
written: triple graphs, assertion graphs, quarantine graphs, provenance. Queries read: ``poly_rag/{passages,layers}``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag import queries
from kgrag.methods.poly_rag import drafts
from kgrag.methods.poly_rag.drafts import METHOD, Origin
from kgrag.methods.poly_rag.facts import Fact
from kgrag.model import GraphDraft, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore
from kgrag.stages import cascade, mapping
from kgrag.stages.cascade import Paragraph, Taken
from kgrag.stages.provenance import Deed, provenance_draft
from kgrag.stages.sync import Progress
from kgrag.vocab import KG, number

__all__ = ["Extraction", "estimate", "extract_instances", "extract_triples", "layer_graphs", "paragraphs"]

_AT_ONCE = 64  # chunks asked for and published together
_STEPS = 4  # of the cascade
_FRAME = 180  # tokens of a prompt beside its data, about
_CHARACTERS_A_TOKEN = 4


@dataclass(slots=True)
class Extraction:
    """What an extraction did: facts published, chunks asked about, what it cost, and notes for a person."""

    facts: int = 0
    asked: int = 0
    refused: int = 0
    usage: Usage = field(default_factory=Usage)
    notes: list[str] = field(default_factory=list)


def paragraphs(store: TripleStore) -> list[Paragraph]:
    """Give the chunks of the text layer in reading order."""
    rows = store.select(queries.bind("poly_rag/passages", catalogue=store.names.catalogue)).values()
    return [Paragraph(chunk, title, text) for chunk, title, text in rows]


def layer_graphs(store: TripleStore) -> dict[str, dict[str, str]]:
    """Give layer -> graph -> what it was made with ("" where that is not said)."""
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    found: dict[str, dict[str, str]] = {}
    for graph, _, layer, parameters in rows:
        found.setdefault(layer, {})[graph] = parameters
    return found


def extract_triples(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, progress: Progress
) -> Extraction:
    """Ask for the triples of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft = drafts.triples_draft(facts, origin, store.names)
        kept = sum(triple.object == KG.Statement for triple in draft.triples)
        done.facts += kept
        done.refused += len(facts) - kept
        return [draft]

    known = layer_graphs(store).get("graph", {})
    left = _left(wanted, known, store.names.triple_graph, model)
    return _run(
        left, lambda batch: cascade.triples_of(batch, model=model), drafted, _Desk(store, model, progress, "triples")
    )


def extract_instances(
    wanted: Sequence[Paragraph], *, store: TripleStore, model: LanguageModel, embedder: Embedder, progress: Progress
) -> Extraction:
    """Ask for the instances of every chunk that this model was not asked about, and publish them.

    Raises:
        ServiceError: the model failed; what came before is published.
    """
    ontology = mapping.read_ontology(store)

    def taken(batch: Sequence[Paragraph]) -> list[Taken]:
        found = cascade.evidence(batch, ontology, embedder=embedder)
        return cascade.instances_of(batch, found, ontology, model=model)

    def drafted(facts: Sequence[Fact], origin: Origin, done: Extraction) -> list[GraphDraft]:
        draft, said = drafts.instances_draft(facts, ontology, origin, store.names)
        done.facts += len(facts) - len(said.refused)
        done.refused += len(said.refused)
        return [draft, *([drafts.refused_draft(said.refused, origin, store.names)] if said.refused else [])]

    known = layer_graphs(store).get("ontology", {})
    left = _left(wanted, known, store.names.instance_graph, model)
    return _run(left, taken, drafted, _Desk(store, model, progress, "instances"))


def estimate(
    wanted: Sequence[Paragraph],
    *,
    store: TripleStore,
    model: LanguageModel,
    embedder: Embedder,
    loaded: Collection[str],
) -> dict[str, int]:
    """Give how many completions a build would ask for, and about how many tokens; nothing is asked or written.

    Args:
        wanted: the chunks of the text layer.
        store: holds what was taken already.
        model: who would be asked.
        embedder: finds the evidence for classes.
        loaded: layers that came from files, which are not asked for.
    """
    known = layer_graphs(store)
    texts: list[str] = []
    if "graph" not in loaded:
        left = _left(wanted, known.get("graph", {}), store.names.triple_graph, model)
        texts += [one.text for one in left for _ in range(_STEPS)]
    ontology = mapping.read_ontology(store)
    if "ontology" not in loaded and ontology:
        left = _left(wanted, known.get("ontology", {}), store.names.instance_graph, model)
        for one, found in zip(left, cascade.evidence(left, ontology, embedder=embedder), strict=True):
            texts += [f"{one.text} {' '.join(each.label for each in part.attributes)}" for part in found]
    tokens = sum(len(text) for text in texts) // _CHARACTERS_A_TOKEN
    return {
        "completions": len(texts),
        "input_tokens": tokens + _FRAME * len(texts),
        "output_tokens": tokens,
    }


def _left(
    wanted: Sequence[Paragraph],
    known: dict[str, str],
    name: Callable[[ox.NamedNode], ox.NamedNode],
    model: LanguageModel,
) -> list[Paragraph]:
    by = f"model={model.identity}"
    return [one for one in wanted if known.get(name(ox.NamedNode(one.chunk)).value) != by]


@dataclass(frozen=True, slots=True)
class _Desk:
    """What every batch needs: where to, by whom, and who is told."""

    store: TripleStore
    model: LanguageModel
    progress: Progress
    label: str


_Drafted = Callable[[Sequence[Fact], Origin, Extraction], list[GraphDraft]]


def _run(
    left: Sequence[Paragraph], taken: Callable[[Sequence[Paragraph]], list[Taken]], drafted: _Drafted, desk: _Desk
) -> Extraction:
    done = Extraction(asked=len(left))
    for first in range(0, len(left), _AT_ONCE):
        batch = left[first : first + _AT_ONCE]
        _publish(zip(batch, taken(batch), strict=True), drafted, desk, done)
        if desk.progress:
            desk.progress(f"{METHOD} {desk.label}", first + len(batch), len(left))
    return done


def _publish(found: Iterable[tuple[Paragraph, Taken]], drafted: _Drafted, desk: _Desk, done: Extraction) -> None:
    batch: list[GraphDraft] = []
    deeds: list[Deed] = []
    by = f"model={desk.model.identity}"
    for paragraph, one in found:
        done.usage += one.usage
        done.notes += [f"{paragraph.chunk}: {problem}" for problem in one.problems]
        if one.problems and not one.triples:
            continue
        chunk = ox.NamedNode(paragraph.chunk)
        activity = desk.store.names.activity(METHOD, desk.label, by, chunk.value)
        said = [(KG.inputTokens, number(one.usage.input_tokens)), (KG.outputTokens, number(one.usage.output_tokens))]
        label = f"took {desk.label} from {paragraph.title or paragraph.chunk}: {by}"
        deeds.append(Deed(activity, label, [chunk], [(KG.model, ox.Literal(desk.model.identity)), *said]))
        facts = [Fact(*triple) for triple in one.triples if all(triple)]
        batch += drafted(facts, Origin(chunk, activity, by), done)
    publication = desk.store.publish([*batch, provenance_draft(deeds, method=METHOD, names=desk.store.names)])
    done.notes += [f"in quarantine: {violation.focus}: {violation.message}" for violation in publication.violations]
