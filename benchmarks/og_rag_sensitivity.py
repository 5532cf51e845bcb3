"""How much of the ontology OG-RAG can lose: attributes are dropped with a probability, answer-node recall is measured.

OG-RAG, section 6.4. An attribute that is dropped is gone from every record, as if the ontology had never had it; what
is nested under it goes with it. Run ``python -m benchmarks.og_rag_sensitivity [--plot FILE.png] [--seeds 3]`` (the plot
needs ``pip install '.[plots]'``). The answer nodes are those of the full ontology: a lost attribute can't be found.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation import evaluate, read_dataset

__all__ = ["main", "without"]

PROBABILITIES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
METRIC = "answer-node recall@5"


def main() -> None:
    """Measure, print a table, and draw it where wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    folder = data_folder() / "ograg" / "soybean"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set KGRAG_DATA")
        return
    means = {chance: [_recall(folder, chance, seed) for seed in range(options.seeds)] for chance in PROBABILITIES}
    print(f"| dropped with p | {METRIC}, mean of {options.seeds} | lowest | highest |\n|--:|--:|--:|--:|")
    for chance, values in means.items():
        print(f"| {chance:.1f} | {statistics.mean(values):.3f} | {min(values):.3f} | {max(values):.3f} |")
    if options.plot:
        _draw(means, options.plot)


def without(block: Any, dropped: set[str]) -> Any:
    """Return a block without some attributes; keys that begin with @ stay."""
    if isinstance(block, list):
        return [without(item, dropped) for item in block]
    if isinstance(block, dict):
        return {key: without(value, dropped) for key, value in block.items() if key not in dropped}
    return block


def _attributes(block: Any) -> set[str]:
    if isinstance(block, list):
        return set().union(*map(_attributes, block))
    if isinstance(block, dict):
        own = {key for key in block if not key.startswith("@")}
        return own.union(*map(_attributes, block.values()))
    return set()


def _recall(folder: Path, chance: float, seed: int) -> float:
    dataset = read_dataset(folder)
    graphs = [json.loads(path.read_text(encoding="utf-8"))["@graph"] for path in sorted(folder.glob("mapped/*.jsonld"))]
    random_ = random.Random(seed)
    dropped = {name for name in sorted(set().union(*map(_attributes, graphs))) if random_.random() < chance}
    with tempfile.TemporaryDirectory() as temporary, KnowledgeBase(settings=Settings()) as kb:
        for number, graph in enumerate(graphs):
            text = json.dumps({"@graph": without(graph, dropped)})
            (Path(temporary) / f"{number}.jsonld").write_text(text, encoding="utf-8")
        kb.build("og_rag", mapped=Path(temporary))
        outcome = evaluate(kb, {"og_rag": kb.method("og_rag")}, dataset.scored, k=5)
    return outcome.mean("og_rag", METRIC)


def _draw(means: dict[float, list[float]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="attributes dropped with probability", ylabel=METRIC, ylim=(0, 1))
    chances = list(means)
    axes.fill_between(chances, [min(v) for v in means.values()], [max(v) for v in means.values()], alpha=0.2)
    axes.plot(chances, [statistics.mean(v) for v in means.values()], marker="o")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
