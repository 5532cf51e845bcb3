"""What growing a tree costs, beside RAPTOR's own procedure: time, memory, and recall of the similarity tree.

``python -m benchmarks.sire_rag_growth [--leaves 1000 10000 50000] [--procedures kgrag] [--sets hotpot_dev …]
[--limit 900] [--work FOLDER]``

Speed: leaves are the passages of ``2wiki_6119``; past their number, noisy copies of their vectors (seeded). No model:
a summary has 120 tokens and the middle of its children as its vector, so that what is timed is the clustering. Every
measurement runs in a process of its own on one thread, which is stopped after ``--limit`` seconds by the clock; seconds
in the table are of the processor.

Recall: passages of a set are clustered by either procedure, clusters are summarised by the extractive model, and the
flat pool of chunks and summaries is ranked by cosine. ``--work`` keeps the embeddings. RAPTOR's procedure needs
``umap-learn``; its rows are left out without it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data_folder, dataset_layouts
from benchmarks.sire_rag_raptor import raptor_clusters
from kgrag import prompting
from kgrag.evaluation import metrics
from kgrag.evaluation.intervals import bootstrap
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.llm.extractive import ExtractiveModel
from kgrag.methods.sire_rag import summary_trees
from kgrag.methods.sire_rag.clustering import clusters
from kgrag.methods.sire_rag.summary_trees import TreeBuilder, TreeLeaf, grow
from kgrag.vocab import digest

__all__ = ["PROCEDURES", "main"]

PROCEDURES: dict[str, Callable[..., list[list[int]]]] = {"kgrag": clusters, "RAPTOR": raptor_clusters}
_SUMMARY_TOKENS = 120
_CITED = 3


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--leaves", type=int, nargs="*", default=[1000, 10_000, 50_000])
    parser.add_argument("--procedures", nargs="+", choices=list(PROCEDURES), default=list(PROCEDURES))
    parser.add_argument("--sets", nargs="*", default=["2wiki_dev", "hotpot_dev"])
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--one", nargs=3, metavar=("PROCEDURE", "LEAVES", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        _grow_one(*options.one)
        return
    if not data_folder().is_dir():
        print(f"skipped: no {data_folder()}; set KGRAG_DATA")
        return
    with tempfile.TemporaryDirectory(prefix="kgrag-growth-") as folder:
        embedder = CachedEmbedder(SentenceTransformerEmbedder(), (options.work or Path(folder)) / "embeddings.sqlite")
        wanted = [name for name in options.procedures if name == "kgrag" or importlib.util.find_spec("umap")]
        if options.leaves:
            print(_speed(wanted, options.leaves, embedder, Path(folder), options.limit), flush=True)
        for name in options.sets:
            print(_recall(name, wanted, embedder), flush=True)


def _speed(
    procedures: Sequence[str], sizes: Sequence[int], embedder: CachedEmbedder, folder: Path, limit: float
) -> str:
    passages = list(dataset_layouts.read(data_folder() / "multihop" / "2wiki_6119").documents())
    texts = [f"{one.title}\n{one.text}" for one in passages[: max(sizes)]]
    file = folder / "leaves.npz"
    np.savez(file, rows=embedder.embed(texts, "passage"), tokens=[len(text.split()) for text in texts])
    lines = ["| leaves | procedure | CPU s | peak memory, MB | summaries | levels |", "|--:|---|--:|--:|--:|--:|"]
    for size in sizes:
        for name in procedures:
            lines.append(f"| {size:,} | {name} | {_measured(name, size, file, limit)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def _measured(name: str, size: int, file: Path, limit: float) -> str:
    command = [sys.executable, "-m", "benchmarks.sire_rag_growth", "--one", name, str(size), str(file)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return f"not done after {limit:.0f} s by the clock | – | – | –"
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines() or [str(error)]
        return f"failed: {said[-1]} | – | – | –"
    found = json.loads(done.stdout)
    return f"{found['seconds']:.1f} | {found['megabytes']:.0f} | {found['summaries']:,} | {found['levels']}"


def _grow_one(name: str, size: str, file: str) -> None:
    """Grow one tree over vectors from a file and print what it cost as JSON."""
    stored = np.load(file)
    rows, tokens = _copies(stored["rows"], stored["tokens"], int(size))
    vectors = {str(number): row for number, row in enumerate(rows)}
    lengths = {str(number): int(length) for number, length in enumerate(tokens)}
    summary_trees.clusters, summary_trees.count_tokens = PROCEDURES[name], lengths.__getitem__  # type: ignore[attr-defined,assignment]

    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        names = []
        for group in groups:
            middle = np.mean([vectors[text] for text in group], axis=0)
            names.append(str(len(vectors)))
            vectors[names[-1]] = middle / np.linalg.norm(middle)
            lengths[names[-1]] = _SUMMARY_TOKENS
        return names

    forester = TreeBuilder(
        summarise, lambda texts: np.stack([vectors[text] for text in texts]), lambda _, text, __: f"n{int(text):09}"
    )
    leaves = [TreeLeaf(f"l{number:09}", str(number)) for number in range(int(size))]
    start = time.process_time()
    grown = grow(leaves, forester)
    found = {
        "seconds": time.process_time() - start,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "summaries": len(grown),
        "levels": 1 + max((node.level for node in grown), default=0),
    }
    print(json.dumps(found))


def _copies(rows: Any, tokens: Any, size: int) -> tuple[Any, Any]:
    """Return so many rows: the real ones, then copies of them with noise of a tenth of their length."""
    if size <= len(rows):
        return rows[:size], tokens[:size]
    random = np.random.default_rng(7)
    chosen = random.integers(len(rows), size=size - len(rows))
    noise = random.normal(size=(len(chosen), rows.shape[1])).astype(np.float32)
    more = rows[chosen] + 0.1 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    return np.concatenate([rows, more]), np.concatenate([tokens, tokens[chosen]])


def _recall(name: str, procedures: Sequence[str], embedder: CachedEmbedder) -> str:
    dataset = dataset_layouts.read(data_folder() / "multihop" / name)
    leaves = [TreeLeaf(one.id, f"{one.title}\n{one.text}") for one in dataset.documents()]
    lines = [f"\n{name}, {len(dataset.scored)} questions, the similarity tree by cosine\n"]
    lines += ["| procedure | summaries | recall@5 | recall@20 | all@20 |", "|---|--:|--:|--:|--:|"]
    for procedure in procedures:
        summary_trees.clusters = PROCEDURES[procedure]  # type: ignore[attr-defined]
        grown = grow(leaves, _forester(embedder))
        scores = _scores(leaves, grown, dataset.scored, embedder)
        cells = (f"{one.mean:.3f} [{one.low:.2f}, {one.high:.2f}]" for one in map(bootstrap, scores))
        lines.append(f"| {procedure} | {len(grown)} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _forester(embedder: CachedEmbedder) -> TreeBuilder:
    model = ExtractiveModel()

    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        prompts = [prompting.render("sire_rag/summary", texts=list(group)) for group in groups]
        return [completion.text for completion in model.complete(prompts)]

    return TreeBuilder(
        summarise, lambda texts: embedder.embed(texts, "passage"), lambda level, text, _: f"n{level}-{digest(text)}"
    )


def _scores(
    leaves: Sequence[TreeLeaf], grown: Sequence[Any], questions: Sequence[Any], embedder: CachedEmbedder
) -> list[list[float]]:
    names = [*(leaf.iri for leaf in leaves), *(node.iri for node in grown)]
    rows = embedder.embed([*(leaf.text for leaf in leaves), *(node.text for node in grown)], "passage")
    at = {name: number for number, name in enumerate(names)}
    below = {leaf.iri: [leaf.iri] for leaf in leaves}
    for node in grown:
        below[node.iri] = list(dict.fromkeys(leaf for child in node.children for leaf in below[child]))
    scores: list[list[float]] = [[], [], []]
    for question, vector in zip(questions, embedder.embed([one.text for one in questions], "query"), strict=True):
        cosines = rows @ vector
        found: dict[str, None] = {}
        for number in np.argsort(-cosines, kind="stable")[:60]:
            near = sorted(below[names[number]], key=lambda leaf: (-cosines[at[leaf]], leaf))
            found |= dict.fromkeys(near[:_CITED])
        ranking = list(found)
        scores[0].append(metrics.recall(ranking, question.relevant, 5))
        scores[1].append(metrics.recall(ranking, question.relevant, 20))
        scores[2].append(metrics.all_found(ranking, question.relevant, 20))
    return scores


if __name__ == "__main__":
    main()
