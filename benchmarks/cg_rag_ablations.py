"""CG-RAG, Table 5, on CL-SciSumm: which graph encoder, how many edges into a cited paper, which signals?

Run ``python -m benchmarks.cg_rag_ablations [--kb FOLDER] [--seeds 1] [--json FILE]`` (data from KGRAG_DATA). Figures
are of the *validation* papers of ``benchmarks.cg_rag_scisumm``, by which the epoch is chosen as well: they compare
choices and are no result. The paper compares four sparse and four dense models; here there is one of each, so each is
left out in turn.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cg_rag_scisumm import Split, prepared, split
from benchmarks.cg_rag_world import Asked, World
from kgrag.methods.cg_rag import lesegr
from kgrag.methods.cg_rag.citation_arrays import QuestionView, ReachLimits
from kgrag.methods.cg_rag.training_examples import TrainingRecipe

__all__ = ["main", "measure"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = prepared(options.kb)
    if found is None:
        return
    world, hand, machine = found
    splits = [split(hand, machine, seed) for seed in range(options.seeds)]
    told = measure(world, splits, TrainingRecipe(hidden=options.hidden))
    if options.json:
        options.json.write_text(json.dumps(told, indent=1), encoding="utf-8")


def measure(world: World, splits: Sequence[Split], recipe: TrainingRecipe) -> dict[str, Any]:
    """Print a row a choice: untrained and trained, means over the splits."""
    told = {}
    print(
        "| choice | untrained Hit@1 | Hit@3 | MRR | trained Hit@1 | Hit@3 | MRR | s |\n"
        "|:--|--:|--:|--:|--:|--:|--:|--:|"
    )
    for name, chosen, how in _choices(world, recipe):
        started = time.perf_counter()
        rows = [_row(chosen, parts, replace(how, seed=seed)) for seed, parts in enumerate(splits)]
        means = np.mean(rows, axis=0)
        cells = " | ".join(f"{mean:.3f}" for mean in means)
        print(f"| {name} | {cells} | {time.perf_counter() - started:.0f} |", flush=True)
        told[name] = means.tolist()
    return told


def _choices(world: World, recipe: TrainingRecipe) -> Iterator[tuple[str, World, TrainingRecipe]]:
    pairs = [(int(citing), int(cited)) for citing, cited in world.citations()]
    yield "graph transformer, K = 4, both signals", world, recipe
    yield "GAT", world, replace(recipe, kind="gat")
    yield "GCN", world, replace(recipe, kind="gcn")
    for top in (2, 8):
        yield f"K = {top}", world.at(mirror=world.rewired(pairs, top)), recipe
    yield "sparse only (BM25)", world.at(semantic=False), recipe
    yield "dense only (MiniLM)", world.at(sparse=False), recipe
    yield "one layer", world, replace(recipe, layers=1)
    yield "no hop: edges among candidates alone", world.at(reach=ReachLimits(hops=0, width=0)), recipe


def _row(world: World, parts: Split, recipe: TrainingRecipe) -> list[float]:
    """Return Hit@1, Hit@3 and MRR of the validation questions, untrained and trained."""
    from kgrag.methods.cg_rag import encoder

    learned = [example for asked in parts.learned if (example := world.example(asked)).right.any()]
    chosen = [world.example(asked) for asked in parts.validation]
    fitted = encoder.fit(learned, chosen, recipe)
    untrained = [_rank(world, asked, example.view, _plain(example.view)) for asked, example in _both(parts, chosen)]
    trained = [
        _rank(world, asked, example.view, encoder.scores(fitted.encoder, example.view))
        for asked, example in _both(parts, chosen)
    ]
    return [*_figures(untrained), *_figures(trained)]


def _both(parts: Split, chosen: Sequence[Any]) -> Iterator[tuple[Asked, Any]]:
    return zip(parts.validation, chosen, strict=True)


def _plain(seen: QuestionView) -> Any:
    return lesegr.scores(seen.subgraph, seen.gates, seen.dense, seen.question, layers=1, aggregation="mean")


def _rank(world: World, asked: Asked, seen: QuestionView, scores: Any) -> int:
    degrees = np.zeros(int(world.mirror.documents.max()) + 1)
    return world.ranked(asked, seen.nodes, scores, degrees).rank


def _figures(ranks: Sequence[int]) -> list[float]:
    found = np.array(ranks)
    return [float((found <= 1).mean()), float((found <= 3).mean()), float((1 / found).mean())]


if __name__ == "__main__":
    main()
