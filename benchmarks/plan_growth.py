"""What ``kgrag plan`` foretells from few documents, beside what many then take.

    python -m benchmarks.plan_growth                                   scifact, news and scisumm
    python -m benchmarks.plan_growth --sets scifact --sizes 200 2000

A set's documents in random order: the first are taken in and built, a plan is made for many more, these are
taken in and built, and the plan's figures are compared with what is then stored. ``scifact`` are abstracts with
``passages`` and ``cg_rag``, ``scisumm`` papers that cite each other with the same, ``news`` mapped records with
``og_rag --mapped``. No model is asked, and texts are embedded by a hash. ``off`` is the plan against what was stored.
"""

from __future__ import annotations

import argparse
import gzip
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import data_folder
from benchmarks.dataset_layouts import general_folder
from kgrag import KnowledgeBase
from kgrag.knowledge_base.growth_plan import GrowthPlan
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_SEED = 7
_SIZES = {"scifact": (100, 1_000), "news": (60, 224), "scisumm": (50, 300)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of each set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--sets", nargs="+", choices=list(_SIZES), default=list(_SIZES))
    parser.add_argument("--sizes", type=int, nargs=2, help="documents planned from, and planned for")
    options = parser.parse_args(arguments)
    for name in options.sets:
        few, many = options.sizes or _SIZES[name]
        with tempfile.TemporaryDirectory() as folder:
            print(f"{name}: from {few:,} documents to {many:,}\n")
            planned, stored = _grown(name, Path(folder), few, many)
            print("\n".join(_table(planned, stored)), flush=True)
            print(f"\ndrawn by chance, documents are off by up to {planned.spread:.0%} nine times in ten\n")


def _grown(name: str, folder: Path, few: int, many: int) -> tuple[GrowthPlan, GrowthPlan]:
    """Return the plan from few documents, and one from many, whose measured figures are what is stored then."""
    lines = _lines(name)
    build = _news if name == "news" else _texts
    with _opened(folder / "few") as kb:
        build(kb, folder, lines[:few])
    shutil.copytree(folder / "few", folder / "many")
    with _opened(folder / "many") as kb:
        build(kb, folder, lines[:many])
    with _opened(folder / "many", read_only=True) as kb:
        stored = kb.plan(documents=1)
    with _opened(folder / "few", read_only=True) as kb:
        return kb.plan(documents=stored.measured_documents), stored


def _opened(folder: Path, *, read_only: bool = False) -> KnowledgeBase:
    return KnowledgeBase(folder, settings=Settings(), embedder=HashEmbedder(384), read_only=read_only)


def _lines(name: str) -> list[str]:
    """Return the documents of a set in random order, a line each."""
    source = data_folder() / "ograg" / "news" / "mapped.jsonl.gz" if name == "news" else None
    if source is None:
        text = (general_folder(data_folder() / name) / "corpus.jsonl").read_text(encoding="utf-8")
    else:
        text = gzip.decompress(source.read_bytes()).decode()
    lines = text.splitlines()
    random.Random(_SEED).shuffle(lines)
    return lines


def _texts(kb: KnowledgeBase, folder: Path, lines: Iterable[str]) -> None:
    kb.ingest(_written(folder / "corpus.jsonl", lines))
    kb.build("cg_rag")


def _news(kb: KnowledgeBase, folder: Path, lines: Iterable[str]) -> None:
    kb.build("og_rag", mapped=_written(folder / "mapped.jsonl", lines))


def _written(file: Path, lines: Iterable[str]) -> Path:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def _table(planned: GrowthPlan, stored: GrowthPlan) -> Iterator[str]:
    now = {(one.part, one.quantity): one.measured for one in stored.amounts}
    yield f"| of | planned from {planned.measured_documents:,} | stored of {stored.measured_documents:,} | off |"
    yield "|---|--:|--:|--:|"
    for one in planned.amounts:
        there = now.get((one.part, one.quantity))
        if one.planned and there:
            off = one.planned / there - 1
            yield f"| {one.part}, {one.quantity} | {one.planned:,.0f} | {there:,.0f} | {off:+.0%} |"


if __name__ == "__main__":
    main()
