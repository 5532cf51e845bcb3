"""The question sets of the evidence table: where they are, what is built for each, and which methods are asked.

A set is filled once and stays in the working folder with its rows: a file of scores for each method, one line per
question, so that an interrupted run asks only what is left. Embeddings are kept by text, across sets and methods.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import data_folder, dataset_layouts
from kgrag import KnowledgeBase, Settings
from kgrag.answering.passage_hits import passage_hits
from kgrag.evaluation import Question, evaluate
from kgrag.evaluation.datasets import Dataset
from kgrag.index import vector_spaces
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.methods.auto import name_graph
from kgrag.methods.auto.method import names_in
from kgrag.model import Hit
from kgrag.text import ingestion

__all__ = ["BASELINE", "DEFAULT", "SETS", "AskedSet", "Scores", "ask", "fill", "kept", "layers", "opened", "part_of"]

BASELINE, DEFAULT = "passages", "auto"
_TREES = {
    "RAPTOR's tree": "sire_rag:tree=similarity",
    "sire_rag": "sire_rag",
}
_PAGERANK = "PageRank over names"
_METHODS = {
    BASELINE: "passages",
    "BM25": "passages:signal=bm25",
    "dense": "passages:signal=dense",
    "RRF": "passages:signal=rrf",
    **_TREES,
    _PAGERANK: "",
    "auto without names": "auto:names=0",
    "auto without coverage": "auto:cover=0",
    DEFAULT: "auto",
}
_NEED_TREES = (*_TREES, _PAGERANK, "auto without names")
Scores = Mapping[str, Mapping[str, float]]
"""Question -> metric -> value."""


@dataclass(frozen=True, slots=True)
class AskedSet:
    """A question set.

    Attributes:
        folder: inside the data folder.
        own: the method that has a graph of its own here: "og_rag" of mapped facts, "poly_rag" of layers.
        metrics: what is read for each column of the table, where a set is not judged by documents.
        chunk_tokens: of the largest chunk; 0 leaves documents whole, as they are published.
        trees: whether sire_rag is built, which takes hours for large sets; without it auto has passages alone.
    """

    folder: str
    own: str = ""
    metrics: Mapping[str, str] | None = None
    chunk_tokens: int = 0
    trees: bool = True

    @property
    def methods(self) -> dict[str, str]:
        """The methods that are asked, by the name of their row."""
        asked = {name: spec for name, spec in _METHODS.items() if self.trees or name not in _NEED_TREES}
        return {**asked, **({self.own: self.own} if self.own else {})}


_OF_FACTS = {
    "hit@1": "gold fact hit@1",
    "recall@2": "answer-node recall@2",
    "recall@5": "answer-node recall@5",
}
SETS: Mapping[str, AskedSet] = {
    "2wiki_dev": AskedSet("multihop/2wiki_dev"),
    "2wiki_6119": AskedSet("multihop/2wiki_6119"),
    "hotpot_dev": AskedSet("multihop/hotpot_dev"),
    "hotpot_train100": AskedSet("multihop/hotpot_train100"),
    "musique_dev": AskedSet("multihop/musique_dev"),
    "musique_train100": AskedSet("multihop/musique_train100"),
    "multihoprag_facts": AskedSet("multihoprag_facts"),
    "news": AskedSet("ograg/news", own="og_rag"),
    "soybean": AskedSet("ograg/soybean", own="og_rag", metrics=_OF_FACTS),
    "pubmedqa": AskedSet("pubmedqa", trees=False),
    "scifact": AskedSet("scifact", trees=False),
    "popqa": AskedSet("popqa", own="poly_rag"),
    "pyramid": AskedSet("pyramid", own="poly_rag"),
    "scisumm": AskedSet("scisumm", own="cg_rag", chunk_tokens=180, trees=False),
}


def part_of(place: int) -> str:
    """Return which part a question belongs to, by its place in its set: every third was kept unseen."""
    return "unseen" if place % 3 == 2 else "dev"


def dataset_of(name: str) -> Dataset | None:
    """Read a set; None where its data is absent."""
    folder = data_folder() / SETS[name].folder
    if not folder.is_dir():
        return None
    dataset = dataset_layouts.read(folder)
    return replace(dataset, chunk_tokens=SETS[name].chunk_tokens or dataset.chunk_tokens)


@contextmanager
def opened(name: str, dataset: Dataset, work: Path) -> Iterator[KnowledgeBase]:
    """Open the knowledge base of a set in the working folder, filled and built where that was not done yet."""
    work.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), work / "embeddings.sqlite")
    with KnowledgeBase(work / f"{name}.kb", settings=Settings(), embedder=embedder) as kb:
        fill(kb, dataset)
        if SETS[name].own in ("cg_rag", "poly_rag"):
            kb.build(SETS[name].own, **layers(name))
        if SETS[name].trees:
            kb.build("sire_rag")
        kb.build("auto")
        yield kb


def fill(kb: KnowledgeBase, dataset: Dataset) -> None:
    """Take in the documents of a set, and the facts that it publishes, which are all that some sets have."""
    if dataset.corpus:
        ingestion.ingest(dataset.documents(), store=kb.store, chunk_tokens=dataset.chunk_tokens)
    if dataset.mapped:
        kb.build("og_rag", mapped=dataset.mapped)


def layers(name: str) -> dict[str, Any]:
    """Return the options that the layers of PolyRAG are built with, {} for a set that has none of its own."""
    if name != "pyramid":
        return {}
    folder = data_folder()
    return {
        "schema": [folder / "text2kgbench" / "dbpedia_webnlg"],
        "instances": folder / name / "ontology_instances.jsonl.gz",
        "triples": folder / name / "kg_triples.jsonl.gz",
    }


def ask(
    kb: KnowledgeBase, name: str, method: str, questions: Sequence[Question], work: Path, *, again: bool = False
) -> None:
    """Ask a method what it was not asked yet (all with ``again``), and keep the scores."""
    path = _rows(work, name, method)
    if again:
        path.unlink(missing_ok=True)
    known = kept(work, name, method)
    left = [question for question in questions if question.id not in known]
    if not left:
        return
    spec = SETS[name].methods[method]
    retriever = kb.method(spec) if spec else _NamesWalk(kb)
    outcome = evaluate(kb, {method: retriever}, left, k=5)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for row in outcome.rows:
            scores = {**row.scores, "ms": row.milliseconds}
            file.write(json.dumps({"id": row.question.id, "scores": scores}) + "\n")


def kept(work: Path, name: str, method: str) -> dict[str, dict[str, float]]:
    """Return the scores that were kept of a method on a set, with the columns of the table by their names."""
    path, renamed = _rows(work, name, method), SETS[name].metrics or {}
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    rows = {row["id"]: row["scores"] for row in map(json.loads, lines)}
    return {
        question: scores | {column: scores[own] for column, own in renamed.items() if own in scores}
        for question, scores in rows.items()
    }


def _rows(work: Path, name: str, method: str) -> Path:
    digest = hashlib.sha256(f"{method} {SETS[name].methods[method]}".encode()).hexdigest()[:8]
    word = "".join(letter if letter.isalnum() else "-" for letter in method)
    return work / "rows" / name / f"{word}-{digest}.jsonl"


@dataclass(frozen=True, slots=True)
class _NamesWalk:
    """PageRank alone, after HippoRAG: a walk over chunks and names from those of the question and the chunks near it.

    Gutiérrez et al. 2024 for the walk and the weight of a name, which is smaller the more chunks have it; what is near
    by meaning starts at a twentieth, as in their second version. No word is matched and no aggregate read.
    """

    kb: KnowledgeBase

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k chunks that the walk comes to most."""
        kb = self.kb
        graph = name_graph.fresh(kb.store, None)
        names = names_in(question, graph, kb.store.names)
        seeds = {name: 1 / count for name, count in zip(names, graph.mentions(names), strict=True) if count}
        index = vector_spaces.fresh("chunk", store=kb.store, spaces=kb.spaces, embedder=kb.embedder)
        near = index.search(kb.embedder.embed([question], "query")[0], 100)
        best = max((score for _, score in near), default=0.0) or 1.0
        seeds |= {chunk: 0.05 * max(score, 0.0) / best for chunk, score in near}
        return passage_hits(kb.store, graph.walk(seeds, damping=0.5, take=k))
