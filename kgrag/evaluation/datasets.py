"""Reads question sets: questions with what is known to answer them, and the corpus or mapped data that they ask about.

A question set is a folder, or a single file of questions for a knowledge base that is already filled:

``questions.jsonl``                                one question per line
``corpus.jsonl`` or ``corpus.jsonl.gz``            one document per line
``mapped/``, ``mapped.jsonl`` or ``mapped.jsonl.gz``  mapped data, as ``kgrag build og_rag --mapped`` reads it

Fields of a question; all but ``question`` may be missing:

=====================================================  =====================================================
``id`` (else the line number)                          names the question in every output
``question``                                           its text
``answer``, ``answers`` (RAGAS: ``ground_truth(s)``)   a string or a list of strings, any of which is right
``supporting``                                         identifiers of the documents that carry the answer
``gold_facts``                                         objects of key -> value, any of which is enough
``answer_nodes``                                       [key, value] pairs that carry the answer; the key "" is any key
``excluded``                                           identifiers of documents that cannot be the answer
``left_out``                                           why the question cannot be scored
=====================================================  =====================================================

Fields of a document: ``text``, and where there are any ``id`` (or ``_id``, ``idx``), ``title``, ``cites`` (identifiers)
and ``sections`` (objects with ``heading`` and the character offsets ``start`` and ``end``).

A question without anything known to answer it is left out of the scores and counted. A set in another layout is
written in this one first; ``benchmarks/dataset_layouts.py`` does so for the published sets that kgrag is measured on.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgrag.errors import InputError, UnknownName
from kgrag.model import Document, Section

__all__ = ["Dataset", "Fact", "Pair", "Question", "json_lines", "read_dataset", "read_questions"]

Pair = tuple[str, str]
Fact = frozenset[Pair]

QUESTION_FILE = "questions.jsonl"
_CORPUS_FILES = ("corpus.jsonl.gz", "corpus.jsonl")
_MAPPED_FILES = ("mapped", "mapped.jsonl.gz", "mapped.jsonl")
_ANSWER_FIELDS = ("answer", "answers", "ground_truth", "ground_truths")
_IDENTIFIER_FIELDS = ("id", "_id", "idx")
# Published figures rank whole passages and abstracts, so no passage of a corpus is cut.
_WHOLE_PASSAGE_TOKENS = 100_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known to answer it; an empty field means that this is not known.

    ``relevant`` are document identifiers (``dcterms:identifier``), ``excluded`` those of documents that cannot be the
    answer, such as the one that the question was taken from. A pair with the key "" has any key. ``left_out`` is the
    reason why the question cannot be scored, "" when it can.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    relevant: frozenset[str] = frozenset()
    gold_facts: tuple[Fact, ...] = ()
    answer_nodes: frozenset[Pair] = frozenset()
    excluded: frozenset[str] = frozenset()
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions with the corpus or mapped data that they ask about; neither for a knowledge base already filled.

    ``chunk_tokens`` is the largest chunk that a document of the corpus is cut into.
    """

    name: str
    questions: tuple[Question, ...]
    corpus: Path | None = None
    mapped: Path | None = None
    chunk_tokens: int = _WHOLE_PASSAGE_TOKENS

    @property
    def scored(self) -> tuple[Question, ...]:
        """The questions that can be scored."""
        return tuple(question for question in self.questions if not question.left_out)

    @property
    def left_out(self) -> dict[str, int]:
        """The number of questions that cannot be scored, by reason."""
        return dict(sorted(Counter(question.left_out for question in self.questions if question.left_out).items()))

    def documents(self) -> Iterator[Document]:
        """Yield the documents of the corpus, in its order.

        Raises:
            InputError: a line is not a JSON object, has no text, or has a malformed field.
        """
        for where, record in json_lines(self.corpus) if self.corpus else ():
            yield _document(record, where)


def read_dataset(path: Path) -> Dataset:
    """Read a folder of questions with their corpus or mapped data, or a file of questions alone.

    Raises:
        UnknownName: there is no such file or folder, or the folder has no questions.
        InputError: a line is not a JSON object, a question has no text or a malformed field, or an ``id`` occurs twice.
    """
    if path.is_file():
        return Dataset(path.stem, read_questions(path))
    if not (path / QUESTION_FILE).exists():
        content = ", ".join(sorted(entry.name for entry in path.iterdir())) if path.is_dir() else "no such folder"
        raise UnknownName(
            f"{path} is no question set: it needs {QUESTION_FILE}, and has {content or 'no files'}. Write a set that "
            "is laid out otherwise as questions.jsonl (id, question, answers, supporting) and corpus.jsonl (id, title, "
            "text)."
        )
    return Dataset(
        path.name,
        read_questions(path / QUESTION_FILE),
        corpus=_first_existing(path, _CORPUS_FILES),
        mapped=_first_existing(path, _MAPPED_FILES),
    )


def _first_existing(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).exists()), None)


def read_questions(path: Path) -> tuple[Question, ...]:
    """Read a file of questions, one JSON object per line.

    Raises:
        InputError: a line is not a JSON object, a question has no text or a malformed field, or an ``id`` occurs twice.
    """
    questions = tuple(_question(record, where) for where, record in json_lines(path))
    repeated = [name for name, count in Counter(question.id for question in questions).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path}: question id {repeated[0]!r} occurs more than once. Give each question an id of its own."
        )
    return questions


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a file of JSON lines after its place (``FILE, line N``); blank lines are passed over.

    Raises:
        InputError: the file cannot be read, or a line is not a JSON object.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    where = f"{path}, line {number}"
                    yield where, _parsed_object(line, where)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} can't be read: {error}. Expected JSON lines, gzipped when named .gz.") from error


def _parsed_object(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: {error}. Expected one JSON object per line.") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: a JSON {type(record).__name__}. Expected one JSON object per line.")
    return record


def _document(record: Mapping[str, Any], where: str) -> Document:
    text = record.get("text")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: no text. Expected an object with a 'text', and 'id' and 'title' where known.")
    try:
        sections = tuple(
            Section(int(section["start"]), int(section["end"]), heading=str(section.get("heading", "")))
            for section in record.get("sections", ())
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{where}: 'sections' must be a list of objects with 'start', 'end' and 'heading'.") from None
    return Document(
        text,
        str(record.get("title") or ""),
        id=_identifier(record),
        location=where,
        cites=tuple(str(cited) for cited in _listed(record.get("cites"))),
        sections=sections,
    )


def _question(record: Mapping[str, Any], where: str) -> Question:
    text = record.get("question")
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"{where}: no question. Expected a text under 'question'.")
    spellings = (str(answer) for name in _ANSWER_FIELDS for answer in _listed(record.get(name)))
    answers = tuple(dict.fromkeys(answer for answer in spellings if answer.strip()))
    try:
        gold_facts = tuple(_pairs(fact.items()) for fact in record.get("gold_facts", ()) if fact)
        answer_nodes = _pairs(record.get("answer_nodes", ()))
    except (AttributeError, TypeError, ValueError):
        raise InputError(
            f"{where}: 'gold_facts' must be a list of objects, and 'answer_nodes' a list of [key, value] pairs."
        ) from None
    relevant = frozenset(map(str, _listed(record.get("supporting"))))
    has_gold = relevant or gold_facts or answer_nodes or answers
    return Question(
        id=_identifier(record) or where.rpartition(" ")[2],
        text=text,
        answers=answers,
        relevant=relevant,
        gold_facts=gold_facts,
        answer_nodes=answer_nodes,
        excluded=frozenset(map(str, _listed(record.get("excluded")))),
        left_out=str(record.get("left_out") or ("" if has_gold else "no gold")),
    )


def _pairs(items: Any) -> Fact:
    return frozenset((str(key), str(value)) for key, value in items)


def _identifier(record: Mapping[str, Any]) -> str:
    return next((str(record[name]) for name in _IDENTIFIER_FIELDS if record.get(name) is not None), "")


def _listed(value: Any) -> list[Any]:
    """Return a field that may be missing, one value or a list of values as a list."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
