"""CG-RAG on CL-SciSumm: which paper does a citing sentence speak of, and which of its sentences?

Run ``python -m benchmarks.cg_rag_scisumm [--kb FOLDER] [--seeds 3] [--json FILE]`` (data from KGRAG_DATA; the first
run embeds 60,498 chunks, which a ``--kb`` keeps). Every question is asked as if its citing paper were not in the
collection: it is no candidate, no neighbour, and its citations count for nothing. Papers are split by *cited* paper:
of the 40 with hand-labelled questions 12 are learned from, 8 decide when to stop and how much a control counts, 20 are
the test. Machine-labelled questions speak of other papers, that few of the collection cite: 15 % of these papers are a
second test, and ``--taught N`` learns from N questions of the rest as well (this costs on the hand-labelled validation
papers, so it is 0). A question whose text also stands on another side is not learned from. Intervals are 95 %,
bootstrap over cited papers, all seeds together.

Controls: a *degree prior* adds to score fusion a share of log(1 + how many papers cite it), the share chosen on the
validation papers; *shuffled* keeps how many papers each cites and is cited by, and deals out the rest at random, for
the untrained and for an encoder trained and chosen in the same way.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data_folder, dataset_layouts
from benchmarks.cg_rag_world import Asked, Ranked, World, rank_documents
from kgrag import KnowledgeBase, Settings
from kgrag.answering.labelled_questions import wording
from kgrag.evaluation.datasets import Question, read_dataset, read_questions
from kgrag.evaluation.experiments import prepare
from kgrag.methods.cg_rag import lesegr
from kgrag.methods.cg_rag.citation_arrays import CitationArrays
from kgrag.methods.cg_rag.training_examples import TrainingRecipe

__all__ = ["Split", "filled", "interval", "main", "measure", "prepared", "shuffled", "split"]

_SHARES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)
_METRICS = ("Hit@1", "Hit@3", "Hit@5", "MRR", "sentence Hit@5", "sentence Hit@5 in the paper")
_METHODS = (
    "BM25",
    "dense",
    "score fusion",
    "LeSeGR, untrained (mean)",
    "LeSeGR, untrained (sum)",
    "LeSeGR, trained",
    "control: degree prior",
    "control: shuffled, untrained (sum)",
    "control: shuffled, trained",
)


@dataclass(frozen=True)
class Split:
    """Questions by what they are for."""

    learned: list[Asked]
    validation: list[Asked]
    test: list[Asked]
    machine: list[Asked]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--machine", type=int, default=500, help="machine-labelled questions of the second test")
    parser.add_argument("--taught", type=int, default=0, help="machine-labelled questions that are learned from")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = prepared(options.kb)
    if found is None:
        return
    world, hand, machine = found
    counts = {"most": options.machine, "taught": options.taught}
    report = measure(world, hand, machine, range(options.seeds), TrainingRecipe(hidden=options.hidden), **counts)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1), encoding="utf-8")


def prepared(kb: Path | None) -> tuple[World, list[Asked], list[Asked]] | None:
    """Return the collection in ``kb`` (else in one for now), and its hand- and machine-labelled questions."""
    folder = data_folder() / "scisumm"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set KGRAG_DATA")
        return None
    with tempfile.TemporaryDirectory() as scratch:
        hand, machine, world = filled(folder, kb or Path(scratch) / "scisumm.kb")
    gold = dataset_layouts.scisumm_gold_spans(folder)
    return world, world.asked(hand, gold), world.asked(machine, gold)


def measure(
    world: World,
    hand: Sequence[Asked],
    machine: Sequence[Asked],
    seeds: Sequence[int],
    recipe: TrainingRecipe,
    **parts: int,
) -> dict[str, Any]:
    """Train and rank with every seed, print the tables, and give their figures."""
    edges = len(world.mirror.neighbours) // 2
    print(f"{len(world.mirror):,} chunks, {edges:,} edges, {len(hand)} + {len(machine)} questions")
    results: dict[str, list[dict[str, dict[str, Ranked]]]] = {"test": [], "machine": []}
    for seed in seeds:
        found = _run(world, split(hand, machine, seed, **parts), replace(recipe, seed=seed))
        for name, each in found.items():
            results[name].append(each)
    everyone = {asked.question.id: asked for asked in (*hand, *machine)}
    return {name: _report(name, runs, everyone) for name, runs in results.items()}


def filled(folder: Path, path: Path) -> tuple[Sequence[Question], Sequence[Question], World]:
    """Return hand- and machine-labelled questions, and the world of a knowledge base filled with their papers."""
    general = dataset_layouts.general_folder(folder)
    dataset = replace(read_dataset(general), chunk_tokens=180)
    machine = read_questions(general / "questions_noisy.jsonl")
    texts = [question.text for question in (*dataset.questions, *machine)]
    with KnowledgeBase(path, settings=Settings()) as kb:
        started = time.perf_counter()
        prepare(kb, dataset, ["cg_rag"])
        world = World.of(kb)
        vectors = dict(zip(texts, kb.embedder.embed(texts, "query"), strict=True))
        print(f"filled in {time.perf_counter() - started:.0f} s")
    return dataset.questions, machine, world.at(embed=lambda wanted: np.stack([vectors[text] for text in wanted]))


def split(hand: Sequence[Asked], machine: Sequence[Asked], seed: int, *, most: int = 500, taught: int = 0) -> Split:
    """Split by cited paper; ``most`` machine-labelled questions are a second test, ``taught`` are learned from too."""
    draw = np.random.default_rng(seed)
    papers = draw.permutation(sorted({asked.group for asked in hand})).tolist()
    others = draw.permutation(sorted({asked.group for asked in machine} - set(papers))).tolist()
    learned, validation = set(papers[:12]), set(papers[12:20])
    known = set(others[: round(0.85 * len(others))])
    tests = [asked for asked in hand if asked.group not in learned | validation]
    chosen = [asked for asked in hand if asked.group in validation]
    second = [asked for asked in machine if asked.group in set(others) - known]
    second = [second[i] for i in draw.permutation(len(second))[:most]]
    held_out = {wording(asked.question.text) for asked in (*tests, *chosen, *second)}
    more = [asked for asked in machine if asked.group in known and wording(asked.question.text) not in held_out]
    first = [asked for asked in hand if asked.group in learned and wording(asked.question.text) not in held_out]
    return Split([*first, *(more[i] for i in draw.permutation(len(more))[:taught])], chosen, tests, second)


def _run(world: World, parts: Split, recipe: TrainingRecipe) -> dict[str, dict[str, dict[str, Ranked]]]:
    """Return the ranks of every method on both tests, by method and question."""
    from kgrag.methods.cg_rag import encoder

    pairs, seed = world.citations(), recipe.seed
    mixed = world.rewired(shuffled(pairs, seed))
    share = _share(world, parts.validation, pairs)
    trained = {}
    for name, mirror in (("LeSeGR, trained", world.mirror), ("control: shuffled, trained", mixed)):
        started = time.perf_counter()
        learned = [world.example(asked, mirror) for asked in parts.learned]
        learned = [example for example in learned if example.right.any()]
        fitted = encoder.fit(learned, [world.example(asked, mirror) for asked in parts.validation], recipe)
        trained[name] = (fitted.encoder, mirror)
        path = " ".join(f"{figure:.3f}" for figure in fitted.figures)
        print(
            f"seed {seed}, {name}: {len(learned)} questions, {time.perf_counter() - started:.0f} s, MRR {path}",
            flush=True,
        )
    print(f"seed {seed}: degree prior counts {share}", flush=True)
    found: dict[str, dict[str, dict[str, Ranked]]] = {}
    for name, questions in (("test", parts.test), ("machine", parts.machine)):
        rows: dict[str, dict[str, Ranked]] = defaultdict(dict)
        for asked in questions:
            every = _plain(world, asked, pairs, share) | _linked(world, asked, pairs, mixed, trained)
            for method, ranked in every.items():
                rows[method][asked.question.id] = ranked
        found[name] = dict(rows)
    return found


def _fused(relevance: Any, cosines: Any) -> Any:
    """Join both signals, each scaled by its best."""
    semantic = np.clip(cosines, 0, 1)
    joined = relevance / max(float(relevance.max()), 1e-9) + semantic / max(float(semantic.max()), 1e-9)
    return joined.astype(np.float64)


def _share(world: World, questions: Sequence[Asked], pairs: Any) -> float:
    """Choose how much the degree prior counts: what gives the best mean reciprocal rank."""
    ranks: dict[float, list[float]] = defaultdict(list)
    for asked in questions:
        degrees = world.degrees(asked, pairs)
        best = rank_documents(world.mirror.documents, _fused(*world.signals(asked)), len(degrees))
        for share in _SHARES:
            worth = best + share * np.log1p(degrees)
            worth[asked.hidden] = -1e9
            ranks[share].append(1 / (1 + float((worth > worth[asked.right]).sum())))
    return max(_SHARES, key=lambda share: float(np.mean(ranks[share])))


def _plain(world: World, asked: Asked, pairs: Any, share: float) -> dict[str, Ranked]:
    """Rank by each signal alone, by both, and by both and how often a paper is cited."""
    relevance, cosines = world.signals(asked)
    degrees = world.degrees(asked, pairs)
    fused = _fused(relevance, cosines)
    rows = {
        name: world.ranked(asked, np.arange(len(fused)), scores.astype(np.float64), degrees)
        for name, scores in (("BM25", relevance), ("dense", cosines), ("score fusion", fused))
    }
    best = rank_documents(world.mirror.documents, fused, len(degrees)) + share * np.log1p(degrees)
    best[asked.hidden] = -1e9
    rows["control: degree prior"] = world.judged(asked, best, degrees, (np.arange(len(fused)), fused))
    return rows


def _linked(
    world: World, asked: Asked, pairs: Any, mixed: CitationArrays, trained: Mapping[str, Any]
) -> dict[str, Ranked]:
    """Rank by LeSeGR and its controls."""
    from kgrag.methods.cg_rag import encoder

    degrees = world.degrees(asked, pairs)
    seen, other = world.seen(asked), world.seen(asked, mixed)
    rows = {}
    for name, each, aggregation in (
        ("LeSeGR, untrained (mean)", seen, "mean"),
        ("LeSeGR, untrained (sum)", seen, "sum"),
        ("control: shuffled, untrained (sum)", other, "sum"),
    ):
        kind: Any = aggregation
        scores = lesegr.scores(each.subgraph, each.gates, each.dense, each.question, layers=1, aggregation=kind)
        rows[name] = world.ranked(asked, each.nodes, scores, degrees)
    for name, (module, mirror) in trained.items():
        each = seen if mirror is world.mirror else other
        rows[name] = world.ranked(asked, each.nodes, encoder.scores(module, each), degrees)
    return rows


def shuffled(pairs: Any, seed: int) -> list[tuple[int, int]]:
    """Deal the cited papers out anew: none to itself, none twice to the same, where that can be helped."""
    draw = np.random.default_rng(seed)
    citing, cited = pairs[:, 0].copy(), draw.permutation(pairs[:, 1])
    for _ in range(200):
        keys = citing * (int(pairs.max()) + 1) + cited
        first = np.zeros(len(keys), bool)
        first[np.unique(keys, return_index=True)[1]] = True
        wrong = np.flatnonzero((citing == cited) | ~first)
        if not len(wrong):
            break
        others = draw.integers(len(keys), size=len(wrong))
        for here, there in zip(wrong.tolist(), others.tolist(), strict=True):
            cited[here], cited[there] = cited[there], cited[here]
    return list(dict.fromkeys(zip(citing.tolist(), cited.tolist(), strict=True)))


def _values(ranked: Ranked, cited: bool) -> list[float]:
    rank = ranked.rank_cited if cited else ranked.rank
    return [float(rank <= 1), float(rank <= 3), float(rank <= 5), 1 / rank, float(ranked.found), float(ranked.inside)]


def _report(name: str, runs: list[dict[str, dict[str, Ranked]]], everyone: Mapping[str, Asked]) -> dict[str, Any]:
    """Print two tables of a test, and what the trained encoder gains."""
    told: dict[str, Any] = {}
    for cited in (False, True):
        whose = "cited papers" if cited else "all papers"
        count = ", ".join(str(len(next(iter(run.values())))) for run in runs)
        print(f"\n### {name}: {whose} are candidates; {count} questions\n")
        print(f"| method | {' | '.join(_METRICS)} |\n|:--|{'--:|' * len(_METRICS)}")
        for method in _METHODS:
            means = np.array([[_values(each, cited) for each in run[method].values()] for run in runs], dtype=object)
            seeds = np.array([np.mean(np.array(list(rows), dtype=float), axis=0) for rows in means])
            cells = [
                f"{seeds[:, i].mean():.3f} ± {seeds[:, i].std(ddof=min(1, len(seeds) - 1)):.3f}"
                for i in range(len(_METRICS))
            ]
            print(f"| {method} | {' | '.join(cells)} |")
            told[f"{whose}: {method}"] = {"mean": seeds.mean(axis=0).tolist(), "seeds": seeds.tolist()}
        told |= _gains(whose, runs, everyone, cited)
    return told


def _gains(
    whose: str, runs: list[dict[str, dict[str, Ranked]]], everyone: Mapping[str, Asked], cited: bool
) -> dict[str, Any]:
    rows = {}
    print("\n| trained less … | Hit@1 | Hit@3 | Hit@5 | MRR |\n|:--|--:|--:|--:|--:|")
    for other in _METHODS:
        if other == "LeSeGR, trained":
            continue
        cells = []
        for i in range(4):
            papers: dict[str, list[float]] = defaultdict(list)
            for run in runs:
                for name, ours in run["LeSeGR, trained"].items():
                    gain = _values(ours, cited)[i] - _values(run[other][name], cited)[i]
                    papers[everyone[name].group].append(gain)
            cells.append(interval(papers))
        print(f"| {other} | " + " | ".join(f"{m:+.3f} [{low:+.3f}, {high:+.3f}]" for m, low, high in cells) + " |")
        rows[f"{whose}: trained less {other}"] = cells
    return rows


def interval(papers: Mapping[str, list[float]]) -> tuple[float, float, float]:
    """Return the mean over questions, and its 95 % interval when cited papers are drawn anew."""
    sums = np.array([sum(values) for values in papers.values()])
    counts = np.array([len(values) for values in papers.values()])
    chosen = np.random.default_rng(20240607).integers(len(sums), size=(5000, len(sums)))
    means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(sums.sum() / counts.sum()), float(low), float(high)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    main()
