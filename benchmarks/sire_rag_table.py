"""SiReRAG on every multihop set: passages, each tree alone, both, and the ablations of the paper's Table 5.

``python -m benchmarks.sire_rag_table [SET …] [--work FOLDER] [--rows FOLDER] [--json FILE] [--questions N]``. A set is
a folder of the data; ``musique_train100+openie_gpt35.jsonl.gz`` takes its propositions from that file instead of from
the extractive model. Knowledge bases and one cache of embeddings stay in ``--work``, so that a second run only asks.

Two tables a set, means with 95 % bootstrap intervals over questions; ``*`` marks a paired difference to plain passages
under the same signal (dense for rows "as in the paper", else fusion) whose interval leaves out 0:

* equal entries: recall@5/10/20 and all@20 rank documents, each at its best entry; "in 5 entries" counts every
  document that the first five entries cite (an aggregate or a summary cites up to three);
* equal context: what fits into 1,000, 2,000 and 4,000 tokens.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import data_folder, dataset_layouts
from benchmarks.context_budgets import Budgets, RecordingRetriever, with_budgets
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation import Experiment, Question, evaluate
from kgrag.evaluation.experiment_report import Row
from kgrag.llm.embedders import CachedEmbedder, SentenceTransformerEmbedder
from kgrag.text import ingestion

__all__ = ["METHODS", "SETS", "main", "measured"]

SETS = (
    "2wiki_dev",
    "hotpot_dev",
    "musique_dev",
    "musique_train100",
    "musique_train100+openie_gpt35.jsonl.gz",
    "multihoprag_facts",
    "2wiki_6119",
)
PAPER = "signal=dense,novelty=0"
METHODS = {
    "passages, dense": "passages:signal=dense",
    "passages, BM25": "passages:signal=bm25",
    "passages, fusion": "passages",
    "similarity tree (RAPTOR)": "sire_rag:tree=similarity",
    "relatedness tree": "sire_rag:tree=relatedness",
    "both trees": "sire_rag",
    "RAPTOR as in its paper": f"sire_rag:tree=similarity,{PAPER}",
    "SiReRAG as in the paper": f"sire_rag:{PAPER}",
    **{f"{letter}: {what}": f"sire_rag:ablation={letter},{PAPER}" for letter, what in (
        ("A", "no relatedness summaries"),
        ("B", "propositions added"),
        ("C", "B without aggregates"),
        ("D", "C without relatedness summaries"),
        ("E", "dual clustering of chunks"),
    )},
}  # fmt: skip
ENTRIES = (
    "recall@5",
    "recall@10",
    "recall@20",
    "all@20",
    "answer in context@20",
    "recall in 5 entries",
    "all in 20 entries",
)
BUDGETS = Budgets(entries=(5, 20), tokens=(1000, 2000, 4000))
TOKENS = tuple(f"{what} in {tokens} tokens" for tokens in BUDGETS.tokens for what in ("recall", "all", "answer"))
_DENSE, _FUSION = "passages, dense", "passages, fusion"


def main() -> None:
    """Measure, and print two tables a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--work", type=Path, help="keeps knowledge bases and embeddings")
    parser.add_argument("--rows", type=Path, help="folder for one JSON line a question and method, a file a set")
    parser.add_argument("--json", type=Path, help="writes every mean, interval and difference")
    parser.add_argument(
        "--plain", action="store_true", help="leave the ablations out, whose propositions are embedded too"
    )
    parser.add_argument("--questions", type=int, default=0, help="ask only the first so many of each set")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kgrag-sire-rag-") as temporary:
        work = options.work or Path(temporary)
        found = {}
        for name in options.sets or SETS:
            outcome = measured(name, work, questions=options.questions, ablations=not options.plain)
            if outcome is None:
                continue
            found[name] = outcome
            print(tables(name, outcome), flush=True)
            if options.rows:
                options.rows.mkdir(parents=True, exist_ok=True)
                outcome.save_rows(options.rows / f"{name}.jsonl")
    if options.json:
        options.json.write_text(json.dumps({name: _json(outcome) for name, outcome in found.items()}, indent=1))


def measured(name: str, work: Path, *, questions: int = 0, ablations: bool = True) -> Experiment | None:
    """Fill and build the knowledge base of a set where that was not done yet, and ask it everything."""
    folder, extraction = _folder(name)
    if not folder.is_dir():
        print(f"{name}: skipped: no {folder}; set KGRAG_DATA")
        return None
    dataset = dataset_layouts.read(folder)
    asked = dataset.scored[: questions or None]
    work.mkdir(parents=True, exist_ok=True)
    embedder = CachedEmbedder(SentenceTransformerEmbedder(), work / "embeddings.sqlite")
    with KnowledgeBase(work / f"{name}.kb", settings=Settings(), embedder=embedder) as kb:
        start = time.monotonic()
        ingestion.ingest(dataset.documents(), store=kb.store, chunk_tokens=dataset.chunk_tokens)
        kb.build("passages")
        loaded: dict[str, Any] = {"extraction": extraction} if extraction else {}
        report = kb.build("sire_rag", **loaded)
        print(f"{name}: {dict(report.counts)}, built in {time.monotonic() - start:.0f} s", flush=True)
        for letter in ("B", "E") if ablations else ():
            kb.build(f"sire_rag:ablation={letter}", **loaded)
        wanted = {label: spec for label, spec in METHODS.items() if ablations or "ablation" not in spec}
        rows = [row for label, spec in wanted.items() for row in _asked(kb, label, spec, asked)]
        return Experiment(20, tuple(wanted), tuple(rows)).of(name, dataset.left_out)


def _asked(kb: KnowledgeBase, label: str, spec: str, questions: Sequence[Question]) -> Sequence[Row]:
    methods = {label: RecordingRetriever(kb.method(spec))}
    outcome = evaluate(kb, methods, questions, k=20)
    return with_budgets(outcome, methods, BUDGETS, store=kb.store).rows


def _folder(name: str) -> tuple[Path, Path | None]:
    folder, _, extraction = name.partition("+")
    path = data_folder() / "multihop" / folder
    path = path if path.is_dir() else data_folder() / folder
    return path, path / extraction if extraction else None


def tables(name: str, outcome: Experiment) -> str:
    """Return both tables of a set as Markdown."""
    left = ", ".join(f"{count} left out ({reason})" for reason, count in outcome.left_out.items())
    title = f"\n### {name}: {outcome.questions} questions{'; ' + left if left else ''}\n"
    return "\n".join([title, *_table(outcome, ENTRIES), "", *_table(outcome, TOKENS)])


def _table(outcome: Experiment, metrics: Sequence[str]) -> list[str]:
    shown = [metric for metric in metrics if metric in outcome.metrics]
    lines = [f"| | {' | '.join(shown)} |", f"|---|{'--:|' * len(shown)}"]
    cells = {method: " | ".join(_cell(outcome, method, metric) for metric in shown) for method in outcome.methods}
    return [*lines, *(f"| {method} | {row} |" for method, row in cells.items())]


def _cell(outcome: Experiment, method: str, metric: str) -> str:
    estimate = outcome.estimate(method, metric)
    if estimate is None:
        return "–"
    gain = outcome.difference(method, _baseline(method), metric)
    mark = (
        ("" if gain is None or not gain.clear else "*+" if gain.mean > 0 else "*−")
        if method not in (_DENSE, _FUSION)
        else ""
    )
    return f"{estimate.mean:.3f} [{estimate.low:.2f}, {estimate.high:.2f}]{mark}"


def _baseline(method: str) -> str:
    return _DENSE if PAPER in METHODS[method] else _FUSION


def _json(outcome: Experiment) -> dict[str, Any]:
    found = outcome.json(baseline=_FUSION)
    found["differences to dense passages"] = outcome.json(baseline=_DENSE)["differences"]
    return found


if __name__ == "__main__":
    main()
