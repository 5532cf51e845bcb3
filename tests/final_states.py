"""What a knowledge base is in the end: hashes of its graphs, and its answers; for comparing one with a fresh one."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.errors import NotBuilt
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import DCTERMS, KG

METHODS = ("passages", "cg_rag", "og_rag", "poly_rag", "sire_rag")
_WHOLE = {"cg_rag": {"redraw": True}, "sire_rag": {"regrow": True}}
"""Options that make an incremental build what a first one is; without them a build says what it left as it was."""
QUESTIONS = (
    "In which month is barley sown in the Hill Zone?",
    "Which fungicide controls blight of chickpea?",
    "Who leads the trial station of Ostrel?",
    "What follows lentil on the Quarry farm?",
)
_HISTORY = {DCTERMS.created, KG.publication, KG.revision, KG.lineage, KG.removedKind, KG.checksum}
"""What a catalogue says of when and how something was done: an update leaves no checksum, which the doctor compares."""


def opened(path: Path | None) -> KnowledgeBase:
    return KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder())


def created(path: Path | None = None) -> KnowledgeBase:
    """Return a knowledge base with an ontology and without documents."""
    kb = opened(path)
    kb.load(folder("ontologies") / "crops.ttl")
    return kb


def build_all(kb: KnowledgeBase) -> None:
    """Build every method as a first build would; none when there is no document. Some keep the data profile, which stays."""
    if kb.documents():
        for method in METHODS:
            kb.build(method, **_WHOLE.get(method, {}))
    kb.profile(keep=True)


def _triples(kb: KnowledgeBase, graph: str) -> set[ox.Triple]:
    """Return the triples of a graph; of the catalogue those that say what there is, not when or how it came."""
    triples = set(kb.store.triples(ox.NamedNode(graph)))
    if graph == kb.store.names.profile_graph.value:
        return {t for t in triples if t.predicate != KG.revision}
    if graph != kb.store.names.catalogue.value:
        return triples
    history = {t.subject for t in triples if t.object in (KG.Publication, KG.Rewrite, KG.Build, KG.Source)}
    history |= {kb.store.names.provenance}
    return {t for t in triples if t.subject not in history and t.predicate not in _HISTORY}


def _canonical_hash(triples: set[ox.Triple]) -> str:
    dataset = ox.Dataset(ox.Quad(triple.subject, triple.predicate, triple.object) for triple in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return hashlib.sha256("".join(sorted(f"{quad}\n" for quad in dataset)).encode()).hexdigest()


def _answers(kb: KnowledgeBase) -> dict[tuple[str, str], tuple[object, ...]]:
    """Return the answer of each method to every second question: what was retrieved in its order, the text, what was cited."""
    return {
        (method, question): _answer(kb, method, question)
        for number, method in enumerate(METHODS)
        for question in QUESTIONS[number % 2 :: 2]
    }


def _answer(kb: KnowledgeBase, method: str, question: str) -> tuple[object, ...]:
    try:
        hits = kb.retrieve(question, method=method, k=5)
    except NotBuilt:
        return ("not built",)
    answer = kb.answer_from(question, hits, method=method)
    found = tuple((hit.iri, round(hit.score, 5)) for hit in hits)
    return found, answer.text, tuple(citation.quote for citation in answer.citations)


@dataclass(frozen=True)
class State:
    """What a knowledge base is: triples and hash of every graph, faults that doctor finds, and answers."""

    graphs: dict[str, set[ox.Triple]]
    hashes: dict[str, str]
    faults: list[str]
    answers: dict[tuple[str, str], tuple[object, ...]]

    def differences(self, other: "State") -> list[str]:
        """Return in which graphs, health and answers another one is not as this one."""
        found = [f"doctor: {fault}" for fault in other.faults if fault not in self.faults]
        for graph in sorted(self.hashes.keys() | other.hashes.keys()):
            if self.hashes.get(graph) != other.hashes.get(graph):
                wanted, there = self.graphs.get(graph, set()), other.graphs.get(graph, set())
                found += [f"{graph} has {triple}" for triple in sorted(map(str, there - wanted))[:9]]
                found += [f"{graph} lacks {triple}" for triple in sorted(map(str, wanted - there))[:9]]
        for where, answer in self.answers.items():
            if other.answers[where] != answer:
                found.append(f"{where}: {other.answers[where]} is not {answer}")
        return found


def state(kb: KnowledgeBase) -> State:
    """Return the state of a knowledge base."""
    graphs = {graph: _triples(kb, graph) for graph in kb._store.graphs() if graph != kb.store.names.provenance.value}
    faults = [finding.message for finding in kb.doctor() if finding.fault]
    return State(graphs, {graph: _canonical_hash(triples) for graph, triples in graphs.items()}, faults, _answers(kb))
