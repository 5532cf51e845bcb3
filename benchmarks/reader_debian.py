"""Measures the reader without a model on questions over Debian's documentation packages, beside the best cosine.

``reader_questions.jsonl`` has two sets, of 148 and of 124 questions, each of six kinds and unanswerable ones, looked up
by hand before any run; half of each is held back. The second set, over pages of other packages, was added when the
first one's development half had proved too small to tune on. The texts are not part of this repository: unpack the
packages that the questions name, each into a folder of its name (``apt-get download P && dpkg -x P_*.deb FOLDER/P``;
manual pages are rendered by groff), then ``python -m benchmarks.reader_debian FOLDER [--half "second development"]``.
All readers get the same passages. ``--questions FILE`` asks another file's, with the same keys, and in a row without an
answer ``world``, the package that it is about; its halves are "third development" and "third sealed".

An answer is right when it has one of the expected words, is quoted from the file that has them, and the term that it is
about stands in the quote or before it. Yes-or-no questions count by the sentence given; ``values`` counts those whose
short answer is the expected one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import regex

from kgrag import KnowledgeBase
from kgrag.model import Citation, Document, Hit
from kgrag.text import documents
from kgrag.text.readers import read_path
from kgrag.text.sentences import split

__all__ = ["HALVES", "OWN_QUESTIONS", "Given", "is_right", "knowledge_base", "main", "questions", "share"]

Question = Mapping[str, Any]
OWN_QUESTIONS = Path(__file__).with_name("reader_questions.jsonl")
_DISTRACTORS = (
    ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html/routine-vacuuming.html"),
    ("debian-policy", "usr/share/doc/debian-policy/policy.html/ch-binary.html"),
)
HALVES = (
    "development",
    "held back",
    "second development",
    "second held back",
    "third development",
    "third sealed",
)
_CHARACTERS_BEFORE = 900  # within which the term stands that a quote is about
_PASSAGES = 5
_NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class Given:
    """What a reader gives to a question: text and quotes; "" and () for unknown; ``value`` is the short answer.

    ``sentences`` counts what the text consists of.
    """

    text: str = ""
    citations: tuple[Citation, ...] = ()
    value: str = ""
    sentences: int = 0


def questions(half: str = "", file: Path = OWN_QUESTIONS) -> list[dict[str, Any]]:
    """Return the questions of one of ``HALVES`` in a file, or all."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if half in {"", row["half"]}]


def knowledge_base(
    packages: Path, folder: Path, half: str = "development", file: Path = OWN_QUESTIONS
) -> KnowledgeBase:
    """Return a knowledge base with the pages of all halves of a set in a file, and two that no question is about."""
    opened = KnowledgeBase(folder)
    rows = [row for row in questions(file=file) if _set_of(row["half"]) == _set_of(half)]
    named = {(row["package"], row["file"]) for row in rows if "file" in row}
    opened.add_many([_document(packages / package / file, file) for package, file in sorted(named | {*_DISTRACTORS})])
    opened.build("passages")
    return opened


def _set_of(half: str) -> str:
    """Return the word before "development", "held back" or "sealed"; "" for the first set."""
    first, *rest = half.split()
    return first if first in {"second", "third"} and rest else ""


def _document(path: Path, file: str) -> Document:
    if path.suffix != ".gz":
        (read,) = read_path(path)
        return Document(text=read.text, title=read.title, id=file, sections=read.sections)
    command = ["groff", "-Tutf8", "-P-bcou", "-mandoc", "-rLL=100n"]
    rendered = subprocess.run(command, input=gzip.decompress(path.read_bytes()), capture_output=True, check=True)
    return Document(text=rendered.stdout.decode(), title=path.name.partition(".")[0], id=file)


def is_right(question: Question, given: Given, files: Mapping[str, str], texts: Mapping[str, str]) -> bool:
    """Return whether an answer is right; ``files`` and ``texts`` are by the IRI of a document."""
    for citation in given.citations:
        if files.get(citation.document) != question.get("file"):
            continue
        around = texts[citation.document][max(0, citation.start - _CHARACTERS_BEFORE) : citation.end]
        if question["kind"] == "choice" and _plain(question["near"]) in _plain(given.text):
            return True
        about = _plain(question.get("near", "")) in _plain(around)
        if question["kind"] != "choice" and about and any(_has(given.text, one) for one in question["answers"]):
            return True
    return False


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").split()).casefold()


def _has(text: str, answer: str) -> bool:
    return regex.search(rf"(?<![\w.-]){regex.escape(_plain(answer))}(?![\w-]|\.\d)", _plain(text)) is not None


def _by_reader(opened: KnowledgeBase, question: str, hits: Sequence[Hit], _: int) -> Given:
    answer = opened.answer_from(question, hits, method="passages")
    if answer.unknown:
        return Given()
    value = answer.values[0].text if answer.values else ""
    return Given(answer.text, answer.citations, value, len(answer.sentences))


def _by_cosine(opened: KnowledgeBase, question: str, hits: Sequence[Hit], count: int = 1) -> Given:
    """Return the sentences with the best cosines, whatever they are, in that order."""
    pieces = [(hit, start, end) for hit in hits for start, end in split(hit.text)]
    vectors = opened.embedder.embed([hit.text[start:end] for hit, start, end in pieces], "query")
    nearest = np.argsort(-(vectors @ opened.embedder.embed([question], "query")[0]))[:count]
    citations = []
    for hit, start, end in (pieces[int(at)] for at in nearest):
        span = hit.sources[0]
        citations.append(Citation(hit.text[start:end], span.document, span.chunk, span.start + start, span.start + end))
    return Given(" ".join(one.quote for one in citations), tuple(citations))


_AS_MANY = "best cosines, as many sentences as the reader"
_READERS: Mapping[str, Callable[[KnowledgeBase, str, Sequence[Hit], int], Given]] = {
    "reader": _by_reader,
    "best cosine": _by_cosine,
    _AS_MANY: _by_cosine,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row per reader: right, wrong, abstentions, exact short answers, characters, milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path)
    parser.add_argument("--half", default="development", choices=HALVES)
    parser.add_argument("--questions", type=Path, default=OWN_QUESTIONS, help="a file of questions; default: our own")
    options = parser.parse_args(arguments)
    asked = questions(options.half, options.questions)
    with (
        TemporaryDirectory() as folder,
        knowledge_base(options.packages, Path(folder), options.half, options.questions) as opened,
    ):
        stored = opened.documents()
        files = {document.iri: document.id for document in stored}
        texts = {document.iri: documents.document_text(opened.store, document.iri) for document in stored}
        found = [opened.retrieve(row["question"], k=_PASSAGES) for row in asked]
        counts: list[int] = []
        for name, reader in _READERS.items():
            seconds, rows = [], []
            for at, (question, hits) in enumerate(zip(asked, found, strict=True)):
                started = perf_counter()
                given = reader(opened, question["question"], hits, counts[at] if name == _AS_MANY else 1)
                seconds.append(perf_counter() - started)
                rows.append((question, given, is_right(question, given, files, texts)))
            counts = counts or [max(1, given.sentences) for _, given, _ in rows]
            print(f"{name}: {_summary(rows)}, {1000 * median(seconds):.0f} ms a question")


def share(count: int, total: int) -> str:
    """Return a count with the 95 % interval of its share (Wilson).

    >>> share(8, 10)
    '8 of 10 [.49, .94]'
    """
    if not total:
        return "0 of 0"
    shared = count / total
    scale = 1 + _NORMAL_95**2 / total
    middle = (shared + _NORMAL_95**2 / (2 * total)) / scale
    half = _NORMAL_95 / scale * math.sqrt(shared * (1 - shared) / total + _NORMAL_95**2 / (4 * total**2))
    low, high = (f"{abs(end):.2f}".lstrip("0") for end in (middle - half, middle + half))
    return f"{count} of {total} [{low}, {high}]"


def _summary(rows: Sequence[tuple[Question, Given, bool]]) -> str:
    answerable = [row for row in rows if row[0]["kind"] != "unanswerable"]
    others = [row for row in rows if row[0]["kind"] == "unanswerable"]
    exact = sum(
        any(_plain(given.value) == _plain(one) for one in question["answers"]) for question, given, _ in answerable
    )
    return ", ".join(
        (
            f"right {share(sum(right for *_, right in answerable), len(answerable))}",
            f"wrong with a citation {share(sum(bool(given.citations) > right for _, given, right in rows), len(rows))}",
            f"abstained on {share(sum(not given.citations for _, given, _ in others), len(others))} unanswerable",
            f"exact values {exact}",
            f"{median([len(given.text) for _, given, _ in rows if given.citations] or [0]):.0f} characters",
        )
    )


if __name__ == "__main__":
    main()
