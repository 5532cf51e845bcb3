"""What a larger pool costs: TPER (SiReRAG, equation 1), and the time of a question against the size of the pool.

``python -m benchmarks.sire_rag_speed [--pools 1000 10000 100000] [--plot FILE.png] [--questions 50] [--work FOLDER]``

Pools are built from the first passages of ``2wiki_6119``, past their number from copies in which every name is another
one, through ingesting, extraction and growing as for a user. Vectors come from a quick embedder of hashed words, since
only their number matters here, and questions are embedded beforehand. Each question is timed for the similarity tree
alone and for both trees, turn and turn about; the median of the processor time is taken, on which other work of the
machine has little influence. ``--work`` keeps the knowledge bases. The plot needs ``pip install '.[plots]'``.

TPER = (time, both trees / time, similarity tree) / (entries, both trees / entries, similarity tree)
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import regex

from benchmarks import data_folder, dataset_layouts
from kgrag import KnowledgeBase, Settings
from kgrag.evaluation import Dataset
from kgrag.model import Document
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion

__all__ = ["main"]

_ENTRIES_EACH = 4.0  # entries of the pool a passage, for a first guess at how many passages are needed
_TOP = 20
_WAYS = {"as in the paper (cosine)": "signal=dense,novelty=0", "default (fusion, repeats left out)": ""}
_NAME = regex.compile(r"\p{Lu}\p{L}{3,}")


def main() -> None:
    """Measure, print a table, and draw it where wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pools", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--questions", type=int, default=50)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    folder = data_folder() / "multihop" / "2wiki_6119"
    if not folder.is_dir():
        print(f"skipped: no {folder}; set KGRAG_DATA")
        return
    dataset = dataset_layouts.read(folder)
    rows: list[dict[str, Any]] = []
    print(
        "| entries, both trees | similarity tree | way | ms, both | ms, similarity | TPER |\n|--:|--:|---|--:|--:|--:|"
    )
    with tempfile.TemporaryDirectory(prefix="kgrag-speed-") as temporary:
        for size in options.pools:
            for row in _measured(size, dataset, options.work or Path(temporary), options.questions):
                rows.append(row)
                print(
                    f"| {row['both']:,} | {row['similarity']:,} | {row['way']} | {row['ms both']:.1f} | "
                    f"{row['ms similarity']:.1f} | {row['tper']:.3f} |",
                    flush=True,
                )
    if options.plot:
        _draw(rows, options.plot)


def _measured(size: int, dataset: Dataset, work: Path, questions: int) -> Iterator[dict[str, Any]]:
    texts = [question.text for question in dataset.scored[:questions]]
    with KnowledgeBase(work / f"speed-{size}.kb", settings=Settings(), embedder=HashEmbedder(384)) as kb:
        passages = islice(_endless(dataset), round(size / _ENTRIES_EACH))
        ingestion.ingest(passages, store=kb.store, chunk_tokens=dataset.chunk_tokens)
        kb.build("sire_rag")
        kb.embedder.embed(texts, "query")
        count = {name: len(kb.spaces.space(name)) for name in kb.spaces.names()}
        similarity = count["chunk"] + count["similarity-summary"]
        both = similarity + count["aggregate"] + count["relatedness-summary"]
        for way, options in _WAYS.items():
            times = _times(kb, texts, options)
            ratio = (times["both"] / times["similarity"]) / (both / similarity)
            found = {"way": way, "both": both, "similarity": similarity, "tper": ratio}
            yield found | {f"ms {tree}": 1000 * seconds for tree, seconds in times.items()}


def _times(kb: KnowledgeBase, questions: list[str], options: str) -> dict[str, float]:
    """Return the median seconds of processor time of a question for each tree; it was embedded before."""
    methods = {
        tree: kb.method(f"sire_rag:tree={tree}{',' if options else ''}{options}") for tree in ("both", "similarity")
    }
    taken: dict[str, list[float]] = {tree: [] for tree in methods}
    for method in methods.values():
        method.retrieve(questions[0], _TOP)
    for question in questions:
        for tree, method in methods.items():
            start = time.process_time()
            method.retrieve(question, _TOP)
            taken[tree].append(time.process_time() - start)
    return {tree: statistics.median(seconds) for tree, seconds in taken.items()}


def _endless(dataset: Dataset) -> Iterator[Document]:
    """Yield the passages, then copies of them with other names, for ever."""
    copy = 0
    while True:
        for passage in dataset.documents():
            yield passage if not copy else _renamed(passage, copy)
        copy += 1


def _renamed(passage: Document, copy: int) -> Document:
    def other(match: Any) -> str:
        return f"{match[0]}{'abcdefghij'[copy % 10]}{'aeiou'[copy // 10 % 5]}"

    return replace(passage, text=_NAME.sub(other, passage.text), title=_NAME.sub(other, passage.title), id="")


def _draw(rows: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot(
        xlabel="entries in the pool", ylabel="processor time of a question, ms, median", xscale="log"
    )
    for way in _WAYS:
        own = [row for row in rows if row["way"] == way]
        for tree, style in (("both", "-"), ("similarity", "--")):
            label = f"{'both trees' if tree == 'both' else 'similarity tree alone'}, {way}"
            axes.plot([row[tree] for row in own], [row[f"ms {tree}"] for row in own], style, marker="o", label=label)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
