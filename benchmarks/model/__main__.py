"""``python -m benchmarks.model run | items | score | plant | kept``: see ``README.md`` in this folder."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.model.asking import BUILT, METHODS, asked, questions_in, run
from benchmarks.model.judging import answer_items, read_verdicts, table, tally
from benchmarks.model.keeping import facts_kept
from benchmarks.model.planning import plan_table
from benchmarks.model.planting import planted
from kgrag.llm.embedders import SentenceTransformerEmbedder
from kgrag.settings import Settings, read_settings

__all__ = ["main"]

_WORLD = Path(__file__).parent / "world"
_PAGES = [_WORLD / "manuals.ttl", *sorted(_WORLD.glob("*.md"))]


def main(arguments: Sequence[str]) -> int:
    """Run a command, and return the exit code."""
    given = _parser().parse_args(arguments)
    lines = [line for file in getattr(given, "runs", []) for line in asked(file)]
    if given.command == "run":
        _run(given)
    elif given.command == "plant":
        _plant(given)
    elif given.command == "kept":
        _kept(given)
    elif given.command == "items":
        for item in answer_items(lines):
            print(json.dumps(item, ensure_ascii=False))
    else:
        print(table(tally(lines, read_verdicts(*given.verdicts))))
        print(f"\n{plan_table(lines)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description="Score answers of any model.")
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("run", help="build and ask; settings as of kgrag (KGRAG_MODEL, KGRAG_BASE_URL …)")
    asking.add_argument("into", type=Path, help="folder for knowledge bases and answers")
    asking.add_argument("--questions", type=Path, default=_WORLD / "questions.jsonl")
    asking.add_argument("--sources", type=Path, nargs="+", default=_PAGES)
    asking.add_argument("--graphs", type=Path, nargs="+", default=[_WORLD / "harbour.ttl"], help="RDF for obqc alone")
    asking.add_argument("--methods", nargs="+", default=list(METHODS), choices=BUILT)
    planting = commands.add_parser("plant", help="ask a run again with false numbers; print which passed")
    planting.add_argument("into", type=Path)
    planting.add_argument("--questions", type=Path, default=_WORLD / "questions.jsonl")
    planting.add_argument("--methods", nargs="+", default=list(METHODS), choices=BUILT)
    keeping = commands.add_parser("kept", help="count the facts of og_rag's replies that a run's hypergraph holds")
    keeping.add_argument("into", type=Path)
    keeping.add_argument("--sources", type=Path, nargs="+", default=_PAGES)
    writing = commands.add_parser("items", help="print what a judge is shown, a line per item")
    writing.add_argument("runs", type=Path, nargs="+", help="files METHOD.jsonl of a run")
    scoring = commands.add_parser("score", help="print the table")
    scoring.add_argument("runs", type=Path, nargs="+")
    scoring.add_argument("--verdicts", type=Path, nargs="*", default=[], help="what judges wrote, a line per item")
    return parser


def _run(given: argparse.Namespace) -> None:
    """Build and ask each method in a thread of its own: a model that takes its time is waited for once."""
    questions, settings = questions_in(given.questions), read_settings()
    embedder = SentenceTransformerEmbedder()

    def of(method: str) -> Path:
        sources = given.graphs if method == "obqc" else given.sources
        return run(given.into, method, sources=sources, questions=questions, settings=settings, embedder=embedder)

    with ThreadPoolExecutor(max_workers=len(given.methods)) as pool:
        for file in pool.map(of, given.methods):
            print(file, file=sys.stderr)


def _kept(given: argparse.Namespace) -> None:
    """Print each fact that is lost, and the sums."""
    embedder, settings = SentenceTransformerEmbedder(), read_settings()
    if settings.model == Settings().model:
        print("KGRAG_MODEL names no model, so these are facts that rules find, and none of a run's replies.")
    held, lost = facts_kept(given.into, given.sources, settings=settings, embedder=embedder)
    print(
        "".join(f"lost: {fact}\n" for fact in lost) + f"facts in the replies {len(held) + len(lost)}, kept {len(held)}"
    )


def _plant(given: argparse.Namespace) -> None:
    """Print each sentence that got a false number, behind "passed" or "refused", and the sums."""
    settings, embedder = read_settings(), SentenceTransformerEmbedder()
    found: list[str] = []
    for method in given.methods:
        questions = [one for one in questions_in(given.questions) if one.is_for(method)]
        for elsewhere in (False, True):
            found += planted(given.into, method, questions, settings=settings, elsewhere=elsewhere, embedder=embedder)
    print("\n".join(found))
    count = Counter(line.partition(":")[0] for line in found)
    print(f"planted {count['passed'] + count['refused']}, passed {count['passed']}, not asked {count['not asked']}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
