"""Questions in German and French over documentation in these languages: what is found, and answered without a model.

    python -m benchmarks.languages FOLDER          FOLDER/docs/de, FOLDER/questions_de.jsonl, the same with fr
    python -m benchmarks.languages FOLDER --ids odd        development; even: questions that were run once

A line of questions has ``id``, ``question``, ``kind`` ("yesno", "list", "unanswerable", others), ``answers`` (wordings;
of yes or no that first) and ``file``. An answer is right if it has one of the wordings, a list if it has all, or one
that enumerates, and yes or no by the short answer, where there is one. FOLDER is given, else ``languages`` in
``KGRAG_DATA``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import data_folder
from kgrag import KnowledgeBase
from kgrag.model import Answer, Hit

__all__ = ["main"]

_CODES = ("de", "fr")
_METHODS = ("auto", "passages", "passages:signal=dense", "passages:signal=bm25")
_TRUTHS = frozenset({"ja", "nein", "oui", "non"})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print counts of right, wrong and unknown answers, and of right documents first and among five."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.languages")
    parser.add_argument("folder", type=Path, nargs="?", default=data_folder() / "languages")
    parser.add_argument("--ids", choices=("odd", "even", "all"), default="all")
    chosen = parser.parse_args(arguments)
    for code in _CODES:
        lines = (chosen.folder / f"questions_{code}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [row for row in map(json.loads, lines) if _is_chosen(row["id"], chosen.ids)]
        with tempfile.TemporaryDirectory() as folder, KnowledgeBase(folder) as kb:
            kb.ingest(chosen.folder / "docs" / code)
            print(code, _answers(kb, rows))
            for method in _METHODS:
                print(f"    {method:22}", _found(kb, [row for row in rows if row["file"]], method))


def _is_chosen(name: str, which: str) -> bool:
    return which == "all" or (int(name[-1]) % 2 == 1) == (which == "odd")


def _answers(kb: KnowledgeBase, rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in rows:
        answer = kb.ask(row["question"])
        if answer.unknown:
            counts["refused" if row["kind"] == "unanswerable" else "unknown"] += 1
        else:
            counts["right" if _is_right(row, answer) else "wrong"] += 1
    return dict(sorted(counts.items()))


def _is_right(row: Mapping[str, Any], answer: Answer) -> bool:
    wanted = [_plain(one) for one in row["answers"]]
    said = [_plain(one.text) for one in answer.values]
    if row["kind"] == "yesno":
        truths = [one for one in said if one in _TRUTHS]
        return truths[0] in wanted if truths else any(one in _plain(answer.text) for one in wanted[1:])
    text = " ".join([_plain(answer.text), *said])
    if row["kind"] == "list" and all(one in text for one in wanted):
        return True
    whole = [one for one in wanted if any(mark in one for mark in (",", " und ", " et "))]
    return any(one in text for one in (whole if row["kind"] == "list" else wanted))


def _found(kb: KnowledgeBase, rows: Sequence[Mapping[str, Any]], method: str) -> dict[str, int]:
    locations = {document.iri: document.locations for document in kb.documents()}

    def is_from(hit: Hit, file: str) -> bool:
        return any(Path(one).name == file for span in hit.sources for one in locations.get(span.document, ()))

    counts = Counter({"questions": len(rows), "first": 0, "among 5": 0})
    for row in rows:
        right = [is_from(hit, Path(row["file"]).name) for hit in kb.retrieve(row["question"], k=5, method=method)]
        counts["first"] += right[:1] == [True]
        counts["among 5"] += any(right)
    return dict(counts)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").split())


if __name__ == "__main__":
    main()
