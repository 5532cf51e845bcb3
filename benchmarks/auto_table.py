"""The default method beside each single one, on every set whose evidence is passages.

``python -m benchmarks.auto_table [SET …] [--work FOLDER] [--json FILE] [--third dev|unseen|all]``. Sets of questions
with several supporting passages are built with sire_rag too; for the others only documents are taken in. Every third
question (the third, the sixth …) was kept unseen while the method was made: ``--third dev`` leaves these out,
``unseen`` asks no others. Knowledge bases and one cache of embeddings stay in ``--work``.

One table a set, means with 95 % bootstrap intervals over questions; ``*`` marks a paired difference of auto to that
method whose interval leaves out 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import data_folder, dataset_layouts
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation import Experiment, Question, evaluate
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.text import ingestion

__all__ = ["MULTIHOP", "SINGLE", "main", "measured"]

MULTIHOP = (
    "2wiki_dev",
    "hotpot_dev",
    "hotpot_train100",
    "musique_dev",
    "musique_train100",
    "multihoprag_facts",
    "2wiki_6119",
)
SINGLE = ("pubmedqa", "scifact", "popqa")
METRICS = ("hit@1", "recall@2", "recall@5", "recall@10")
METHODS = {
    "passages": "passages",
    "passages, BM25": "passages:signal=bm25",
    "passages, dense": "passages:signal=dense",
    "similarity tree (RAPTOR)": "sire_rag:tree=similarity",
    "sire_rag": "sire_rag",
    "auto without names": "auto:names=0",
    "auto without coverage": "auto:cover=0",
    "auto": "auto",
}
_NEEDS_TREES = ("similarity tree (RAPTOR)", "sire_rag", "auto without names")


def main() -> None:
    """Measure, and print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=[*MULTIHOP, *SINGLE], metavar="SET")
    parser.add_argument("--work", type=Path, help="keeps knowledge bases and embeddings")
    parser.add_argument("--json", type=Path, help="writes every mean, interval and difference")
    parser.add_argument("--third", choices=("dev", "unseen", "all"), default="all", help="which questions are asked")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgrag-auto-") as temporary:
        found = {}
        for name in options.sets or (*MULTIHOP, *SINGLE):
            outcome = measured(name, options.work or Path(temporary), third=options.third)
            if outcome is not None:
                found[name] = outcome
                print(table(name, outcome), flush=True)
    if options.json:
        options.json.write_text(
            json.dumps({name: each.json(baseline="passages") for name, each in found.items()}, indent=1)
        )


def measured(name: str, work: Path, *, third: str = "all") -> Experiment | None:
    """Fill and build the knowledge base of a set where that was not done yet, and ask it everything."""
    path = data_folder() / "multihop" / name
    folder = path if path.is_dir() else data_folder() / name
    if not folder.is_dir():
        print(f"{name}: skipped: no {folder}; set KGRAG_DATA")
        return None
    dataset = dataset_layouts.read(folder)
    asked = _asked(dataset.scored, third)
    work.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), work / "embeddings.sqlite")
    with KnowledgeBase(work / f"{name}.kb", settings=Settings(), embedder=embedder) as kb:
        ingestion.ingest(dataset.documents(), store=kb.store, chunk_tokens=dataset.chunk_tokens)
        kb.build("passages")
        if name in MULTIHOP:
            kb.build("sire_rag")
        wanted = {label: spec for label, spec in METHODS.items() if name in MULTIHOP or label not in _NEEDS_TREES}
        for label, spec in wanted.items():
            print(f"{name}: {label}: {_milliseconds(kb, spec, asked):.1f} ms a question", flush=True)
        outcome = evaluate(kb, {label: kb.method(spec) for label, spec in wanted.items()}, asked, k=20)
        return outcome.of(name, dataset.left_out)


def _asked(questions: Sequence[Question], third: str) -> list[Question]:
    return [each for place, each in enumerate(questions) if third == "all" or (place % 3 == 2) == (third == "unseen")]


def _milliseconds(kb: KnowledgeBase, spec: str, questions: Sequence[Question]) -> float:
    """Return the mean time of a question whose vector is known, after one to open the indices."""
    some = [question.text for question in questions[:50]]
    kb.embedder.embed(some, "query")
    method = kb.method(spec)
    method.retrieve(some[0], 10)
    start = time.perf_counter()
    for text in some:
        method.retrieve(text, 10)
    return 1000 * (time.perf_counter() - start) / len(some)


def table(name: str, outcome: Experiment) -> str:
    """Return the table of a set as Markdown."""
    head = [
        f"\n### {name}: {outcome.questions} questions\n",
        f"| | {' | '.join(METRICS)} |",
        f"|---|{'--:|' * len(METRICS)}",
    ]
    rows = [
        f"| {method} | {' | '.join(_cell(outcome, method, each) for each in METRICS)} |" for method in outcome.methods
    ]
    return "\n".join([*head, *rows])


def _cell(outcome: Experiment, method: str, metric: str) -> str:
    estimate = outcome.estimate(method, metric)
    if estimate is None:
        return "–"
    gain = None if method == "auto" else outcome.difference("auto", method, metric)
    mark = "" if gain is None or not gain.clear else f" * auto {gain.mean:+.3f}"
    return f"{estimate.mean:.3f} [{estimate.low:.3f}, {estimate.high:.3f}]{mark}"


if __name__ == "__main__":
    main()
