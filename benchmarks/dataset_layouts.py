"""Writes the published question sets that kgrag is measured on in the format that ``kgrag eval`` reads.

That format is documented in ``kgrag/evaluation/datasets.py``. A set is known by the name of its folder; one whose name
is not in ``LAYOUTS`` is in that format already. ``python -m benchmarks.dataset_layouts LAYOUT FOLDER INTO`` writes a
set by hand, so that ``kgrag eval INTO`` can be run on it.

==========================  ==================================================================================
layout                      what is spelled otherwise there
==========================  ==================================================================================
``2wiki_6119``              ``gold`` is "partial" where passages are missing: such a question is left out
``musique_dev`` and others  ``answer_aliases`` are right answers too
``multihoprag_facts``       ``facts.jsonl`` holds sentences with title and source; no ``evidence`` means no gold
``scifact``                 ``claims.jsonl``; ``cited`` abstracts of several ``sentences``
``pubmedqa``                ``pmid`` names the question and the abstract that answers it, in ``chunks``
``news``                    gold facts are of another flattening, so ``gold_files`` count, and the values of the
                            answer nodes that the mapped data has at all
``scisumm``                 papers as numbered sentences, ``citations.tsv.gz``, and queries of citing papers;
                            ``questions_noisy.jsonl`` are the machine-labelled ones
==========================  ==================================================================================
"""

from __future__ import annotations

import atexit
import gzip
import json
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from kgrag.errors import InputError
from kgrag.evaluation.datasets import Dataset, json_lines, read_dataset
from kgrag.mapping import read_mapped

__all__ = ["LAYOUTS", "general_folder", "read", "scisumm_gold_spans", "write_general"]

JsonObject = dict[str, Any]
Span = tuple[int, int]


def read(folder: Path) -> Dataset:
    """Read a set, whatever its layout."""
    return read_dataset(general_folder(folder))


@cache
def general_folder(folder: Path) -> Path:
    """Return a folder of the same name with the set in the general format: itself where it is in that format already.

    A folder that is written for that is removed when the process ends, since a dataset reads its corpus late.
    """
    if folder.name not in LAYOUTS:
        return folder
    scratch = Path(tempfile.mkdtemp(prefix="kgrag-set-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    write_general(folder.name, folder, scratch / folder.name)
    return scratch / folder.name


def write_general(layout: str, folder: Path, into: Path) -> None:
    """Write a set in the general format, with its mapped data where it has any.

    Raises:
        KeyError: there is no layout of that name.
        InputError: a file of the set cannot be read.
    """
    into.mkdir(parents=True, exist_ok=True)
    for name, records in LAYOUTS[layout](folder).items():
        with (into / name).open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    for mapped in folder.glob("mapped*"):
        (shutil.copytree if mapped.is_dir() else shutil.copy2)(mapped, into / mapped.name)


def _multihop(folder: Path) -> dict[str, Iterable[JsonObject]]:
    def question(record: JsonObject) -> JsonObject:
        partial = {"left_out": "gold is partial"} if record.get("gold") == "partial" else {}
        return {**record, "answers": record.get("answer_aliases", []), **partial}

    return {"questions.jsonl": map(question, _records(folder / "questions.jsonl")), "corpus.jsonl": _corpus(folder)}


def _news_facts(folder: Path) -> dict[str, Iterable[JsonObject]]:
    def question(record: JsonObject) -> JsonObject:
        reason = {} if record["evidence"] else {"left_out": "no gold"}
        return {**record, "supporting": record["evidence"], **reason}

    def document(record: JsonObject) -> JsonObject:
        return {"id": record["idx"], "title": f"{record['title']} ({record['source']})", "text": record["fact"]}

    return {
        "questions.jsonl": map(question, _records(folder / "questions.jsonl")),
        "corpus.jsonl": map(document, _records(folder / "facts.jsonl")),
    }


def _scifact(folder: Path) -> dict[str, Iterable[JsonObject]]:
    return {
        "questions.jsonl": (
            {"id": record["id"], "question": record["claim"], "supporting": record["cited"]}
            for record in _records(folder / "claims.jsonl")
        ),
        "corpus.jsonl": ({**record, "text": " ".join(record["sentences"])} for record in _corpus(folder)),
    }


def _pubmedqa(folder: Path) -> dict[str, Iterable[JsonObject]]:
    def document(record: JsonObject) -> JsonObject:
        text = "\n\n".join(part["text"] for part in record["chunks"])
        return {"id": record["pmid"], "title": record.get("title", ""), "text": text}

    return {
        "questions.jsonl": (
            {**record, "id": record["pmid"], "supporting": [record["pmid"]]}
            for record in _records(folder / "questions.jsonl")
        ),
        "corpus.jsonl": map(document, _corpus(folder)),
    }


def _ograg_news(folder: Path) -> dict[str, Iterable[JsonObject]]:
    mapped = next(folder.glob("mapped*"), None)
    records = read_mapped(mapped).records if mapped else ()
    values = {value for record in records for block in record.blocks for value in _scalars(block)}

    def question(record: JsonObject) -> JsonObject:
        nodes = [("", str(value)) for _, value in record.get("answer_nodes", ())]
        kept = [(key, value) for key, value in nodes if value in values]
        return {**record, "supporting": record["gold_files"], "gold_facts": [], "answer_nodes": kept}

    return {"questions.jsonl": map(question, _records(folder / "questions.jsonl"))}


def _pyramid(folder: Path) -> dict[str, Iterable[JsonObject]]:
    def question(record: JsonObject) -> JsonObject:
        return {**record, "supporting": record["sentences"]}

    return {
        "questions.jsonl": map(question, _records(folder / "questions.jsonl")),
        "corpus.jsonl": _records(next(folder.glob("text.jsonl*"))),
    }


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield str(value)


def _scisumm(folder: Path) -> dict[str, Iterable[JsonObject]]:
    cited = _cited(folder)

    def document(record: JsonObject) -> JsonObject:
        text, spans = _numbered_text(record)
        sections = _sections(record, list(spans.values()))
        return {
            "id": record["id"],
            "title": record["title"],
            "text": text,
            "sections": sections,
            "cites": cited.get(record["id"], []),
        }

    def question(record: JsonObject) -> JsonObject:
        return {
            "id": record["id"],
            "question": record["text"],
            "supporting": [record["cited"]],
            "excluded": [record["citing"]] if record.get("citing") else [],
        }

    files = {"queries.jsonl": "questions.jsonl", "queries_noisy.jsonl.gz": "questions_noisy.jsonl"}
    return {
        "corpus.jsonl": map(document, _papers(folder)),
        **{general: map(question, _records(folder / own)) for own, general in files.items() if (folder / own).exists()},
    }


def scisumm_gold_spans(folder: Path) -> dict[str, list[Span]]:
    """Return question id -> character spans, in the cited paper, of the sentences that answer it."""
    spans = {record["id"]: _numbered_text(record)[1] for record in _papers(folder)}
    return {
        record["id"]: [
            spans[record["cited"]][int(number)]
            for number in record["gold_sids"]
            if int(number) in spans.get(record["cited"], {})
        ]
        for name in ("queries.jsonl", "queries_noisy.jsonl.gz")
        if (folder / name).exists()
        for record in _records(folder / name)
    }


def _numbered_text(record: JsonObject) -> tuple[str, dict[int, Span]]:
    """Return a paper's sentences as one text, a blank line before each section, and their spans in it by number."""
    section_starts = {int(position) for _, position in record.get("sections", ())}
    text, spans = "", {}
    for position, (number, sentence) in enumerate(record["sentences"]):
        gap = "" if position == 0 else "\n\n" if position in section_starts else " "
        spans[int(number)] = (len(text) + len(gap), len(text) + len(gap) + len(sentence))
        text += gap + sentence
    return text, spans


def _sections(record: JsonObject, spans: Sequence[Span]) -> list[JsonObject]:
    """Return the sections of a paper, each up to the next one."""
    heads = sorted((int(position), str(title)) for title, position in record.get("sections", ()))
    heads = [(position, title) for position, title in heads if position < len(spans)]
    return [
        {"heading": title, "start": spans[position][0], "end": spans[following - 1][1]}
        for (position, title), (following, _) in pairwise([*heads, (len(spans), "")])
        if position < following
    ]


def _cited(folder: Path) -> dict[str, list[str]]:
    path = next(folder.glob("citations.tsv*"), None)
    if path is None:
        return {}
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    cited: dict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
        columns = line.split("\t")
        if len(columns) < 2:
            raise InputError(f"{path}, line {number}: no tab. Expected the columns citing and cited.")
        if number > 1:
            cited[columns[0]].append(columns[1])
    return cited


def _papers(folder: Path) -> Iterator[JsonObject]:
    return _records(next(folder.glob("papers.jsonl*")))


def _corpus(folder: Path) -> Iterator[JsonObject]:
    return _records(next(folder.glob("corpus.jsonl*")))


def _records(path: Path) -> Iterator[JsonObject]:
    return (record for _, record in json_lines(path))


LAYOUTS: Mapping[str, Callable[[Path], dict[str, Iterable[JsonObject]]]] = {
    "2wiki_6119": _multihop,
    "musique_dev": _multihop,
    "musique_train100": _multihop,
    "multihoprag_facts": _news_facts,
    "news": _ograg_news,
    "pubmedqa": _pubmedqa,
    "pyramid": _pyramid,
    "scifact": _scifact,
    "scisumm": _scisumm,
}
"""Name of a layout -> the files of the general format, as records that are read late."""


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in LAYOUTS:
        sys.exit(f"usage: python -m benchmarks.dataset_layouts LAYOUT FOLDER INTO; layouts: {', '.join(LAYOUTS)}")
    write_general(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
