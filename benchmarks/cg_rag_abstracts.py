"""CG-RAG on PubMedQA and SciFact: collections without citations, so this is the case of Proposition 4.1.

Run ``python -m benchmarks.cg_rag_abstracts [--set pubmedqa] [--set scifact] [--seeds 3] [--json FILE]`` (data from
KGRAG_DATA). Half of the questions are learned from (a fifth of those says when to stop), the other half is the test,
and every method is measured on it; another half for every seed. An abstract is one chunk, as in the published figures,
and has no edge; with ``--chunk-tokens 180`` it is cut, its chunks are neighbours, and its best chunk counts.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data_folder, dataset_layouts
from benchmarks.cg_rag_world import Asked, World, rank_documents
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation.intervals import bootstrap
from kgrag.methods.cg_rag import lesegr
from kgrag.methods.cg_rag.training_examples import TrainingRecipe
from kgrag.text import ingestion

__all__ = ["main"]

_METHODS = ("BM25", "dense", "score fusion", "LeSeGR, untrained", "LeSeGR, trained")
_METRICS = ("Hit@1", "Hit@3", "nDCG@10")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", action="append", choices=["pubmedqa", "scifact"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--chunk-tokens", type=int, default=100_000)
    parser.add_argument("--kb", type=Path, help="folder of knowledge bases to keep")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    told = {}
    for name in options.set or ["pubmedqa", "scifact"]:
        folder = data_folder() / name
        if not folder.is_dir():
            print(f"skipped: no {folder}; set KGRAG_DATA")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            path = (options.kb or Path(scratch)) / f"{name}.kb"
            told[name] = _measured(folder, path, options.seeds, options.chunk_tokens)
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


def _measured(folder: Path, path: Path, seeds: int, tokens: int) -> dict[str, Any]:
    dataset = dataset_layouts.read(folder)
    with KnowledgeBase(path, settings=Settings()) as kb:
        ingestion.ingest(dataset.documents(), store=kb.store, chunk_tokens=tokens)
        kb.build("cg_rag")
        world = World.of(kb)
        asked = world.asked(dataset.scored)
    runs = [_run(world, asked, seed) for seed in range(seeds)]
    print(f"\n### {folder.name}: {len(world.mirror):,} chunks; {len(asked)} questions, half of them tested a seed\n")
    print(f"| method | {' | '.join(_METRICS)} |\n|:--|{'--:|' * len(_METRICS)}")
    told = {}
    for method in _METHODS:
        means = np.array([np.mean(run[method], axis=0) for run in runs])
        whole = np.concatenate([run[method] for run in runs])
        spans = [bootstrap(whole[:, i].tolist()) for i in range(len(_METRICS))]
        cells = [
            f"{means[:, i].mean():.3f} ± {means[:, i].std():.3f} [{spans[i].low:.3f}, {spans[i].high:.3f}]"
            for i in range(len(_METRICS))
        ]
        print(f"| {method} | {' | '.join(cells)} |", flush=True)
        told[method] = means.tolist()
    return told


def _run(world: World, asked: Sequence[Asked], seed: int) -> dict[str, list[list[float]]]:
    from kgrag.methods.cg_rag import encoder

    order = np.random.default_rng(seed).permutation(len(asked)).tolist()
    half, fifth = len(order) // 2, len(order) // 10
    chosen, learned = ([world.example(asked[i]) for i in part] for part in (order[:fifth], order[fifth:half]))
    module = encoder.fit([each for each in learned if each.right.any()], chosen, TrainingRecipe(seed=seed)).encoder
    rows: dict[str, list[list[float]]] = defaultdict(list)
    for number in order[half:]:
        for method, scores in _scored(world, asked[number], module).items():
            rows[method].append(_values(world, asked[number], scores))
    return rows


def _scored(world: World, asked: Asked, module: Any) -> dict[str, Any]:
    """Return the score of every document by every method."""
    from kgrag.methods.cg_rag import encoder

    relevance, cosines = world.signals(asked)
    semantic = np.clip(cosines, 0, 1)
    fused = relevance / max(float(relevance.max()), 1e-9) + semantic / max(float(semantic.max()), 1e-9)
    seen = world.seen(asked)
    untrained = lesegr.scores(seen.subgraph, seen.gates, seen.dense, seen.question, layers=1, aggregation="mean")
    documents, count = world.mirror.documents, int(world.mirror.documents.max()) + 1
    scored = {
        name: rank_documents(documents, values.astype(np.float64), count)
        for name, values in (("BM25", relevance), ("dense", cosines), ("score fusion", fused))
    }
    scored["LeSeGR, untrained"] = rank_documents(documents[seen.nodes], untrained, count)
    scored["LeSeGR, trained"] = rank_documents(documents[seen.nodes], encoder.scores(module, seen), count)
    return scored


def _values(world: World, asked: Asked, scores: Any) -> list[float]:
    """Return Hit@1, Hit@3 and nDCG@10 over all documents that answer a question."""
    right = {world.numbers[name] for name in asked.question.relevant if name in world.numbers}
    order = [number for number in np.argsort(-scores, kind="stable")[:10].tolist() if scores[number] > -1e8]
    gains = [1 / math.log2(place + 2) for place, number in enumerate(order) if number in right]
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(right))))
    return [float(bool(right & set(order[:1]))), float(bool(right & set(order[:3]))), sum(gains) / best]


if __name__ == "__main__":
    main()
