"""Reads question sets: questions with what is known to answer them, and the corpus or mapped data they are asked of.

A folder is recognised by its files; a single ``*.jsonl`` is read as questions alone. Fields of a question:

=====================================================  =====================================================
``id`` (or ``pmid``; else the line number)             names the question in every output
``question`` (or ``claim``, ``text``)                  what is asked
``answer``, ``answers``, ``ground_truth(s)`` …         strings, any of which is right
``supporting`` (``cited``, ``evidence``,               identifiers of the documents that carry the answer
``gold_files``, ``pmid``)
``gold_facts``                                         objects of key -> value, each a fact that would do
``answer_nodes``                                       [key, value] pairs that carry the answer
``gold_sids``                                          numbers of the sentences, in a relevant document, that carry it
``citing``                                             the document that asks: it is no answer to its own question
=====================================================  =====================================================

A question without any of these, or marked ``"gold": "partial"``, can't be scored: it is left out and counted.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from kgrag.errors import InputError, UnknownName
from kgrag.mapping import read_mapped
from kgrag.model import Document, Section

__all__ = ["Dataset", "Fact", "Pair", "Question", "read_dataset", "read_questions"]

Pair = tuple[str, str]
Fact = frozenset[Pair]

_CORPORA = ("corpus.jsonl.gz", "corpus.jsonl", "facts.jsonl", "papers.jsonl.gz", "papers.jsonl")
_QUESTIONS = ("questions.jsonl", "claims.jsonl", "queries.jsonl")
_CITATIONS = ("citations.tsv.gz", "citations.tsv")
_MAPPED = ("mapped", "mapped.jsonl.gz", "mapped.jsonl")
_IDENTIFIERS = ("id", "_id", "pmid", "idx")
_WHOLE = 100_000


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known to answer it; an empty field means that this is not known.

    ``relevant`` are document identifiers (``dcterms:identifier``), ``gold_sentences`` numbers of sentences in them, and
    ``excluded`` the documents that can't be the answer, as the one that the question was taken from. A pair with the
    key "" has any key. ``left_out`` says why the question can't be scored, "" when it can.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    relevant: frozenset[str] = frozenset()
    gold_facts: tuple[Fact, ...] = ()
    answer_nodes: frozenset[Pair] = frozenset()
    gold_sentences: frozenset[int] = frozenset()
    excluded: frozenset[str] = frozenset()
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Questions and what they are asked of: a corpus, mapped data, or nothing (a knowledge base that stands already).

    ``chunk_tokens`` is how the figures published on the set cut their documents. ``citations`` is a table of which
    document cites which, by identifier, where the documents do not say so themselves.
    """

    name: str
    questions: tuple[Question, ...]
    corpus: Path | None = None
    mapped: Path | None = None
    chunk_tokens: int = 180
    citations: Path | None = None

    @property
    def scored(self) -> tuple[Question, ...]:
        """Give the questions that can be scored."""
        return tuple(question for question in self.questions if not question.left_out)

    @property
    def left_out(self) -> dict[str, int]:
        """Count the questions that can't be scored, by reason."""
        return dict(sorted(Counter(question.left_out for question in self.questions if question.left_out).items()))

    def documents(self) -> Iterator[Document]:
        """Yield the documents of the corpus, in its order.

        Raises:
            InputError: a line is no JSON object, or holds no text.
        """
        cited = _cited(self.citations) if self.citations else {}
        for where, record in _records(self.corpus) if self.corpus else ():
            document = _document(record, where)
            yield (
                replace(document, cites=tuple(cited[document.identifier])) if document.identifier in cited else document
            )

    def sentences(self) -> Iterator[tuple[str, dict[int, tuple[int, int]]]]:
        """Yield each document's identifier and where its numbered sentences stand in its text: number -> (start, end).

        Only documents whose sentences are [number, text] pairs have any.
        """
        for _, record in _records(self.corpus) if self.corpus else ():
            if _is_numbered(record):
                yield _field(record, _IDENTIFIERS), dict(_layout(record))


def read_dataset(path: Path) -> Dataset:
    """Read a folder of questions with their corpus or mapped data, or a file of questions alone.

    Raises:
        UnknownName: there is no such file or folder, or the folder holds no questions.
        InputError: a line is no JSON object, or a question has no text.
    """
    if path.is_file():
        return Dataset(name=path.stem, questions=read_questions(path))
    asked = _first(path, _QUESTIONS)
    if asked is None:
        held = ", ".join(sorted(entry.name for entry in path.iterdir())) if path.is_dir() else "nothing: no such folder"
        raise UnknownName(f"{path} is no question set: it needs {' or '.join(_QUESTIONS)}, and holds {held}.")
    questions, corpus, mapped = read_questions(asked), _first(path, _CORPORA), _first(path, _MAPPED)
    if mapped:
        questions = _attainable(questions, mapped)
    # Published figures rank whole passages and abstracts, not pieces of them; papers are cut.
    tokens = 180 if corpus and corpus.name.startswith("papers") else _WHOLE
    cited = _first(path, _CITATIONS)
    return Dataset(path.name, questions, corpus=corpus, mapped=mapped, chunk_tokens=tokens, citations=cited)


def read_questions(path: Path) -> tuple[Question, ...]:
    """Read a file of questions, one JSON object a line.

    Raises:
        InputError: a line is no JSON object, a question has no text, or an ``id`` occurs twice.
    """
    questions = tuple(_question(record, where) for where, record in _records(path))
    repeated = [name for name, count in Counter(question.id for question in questions).items() if count > 1]
    if repeated:
        raise InputError(
            f"{path}: question id {repeated[0]!r} occurs more than once. Give each question an id of its own."
        )
    return questions


def _attainable(questions: tuple[Question, ...], mapped: Path) -> tuple[Question, ...]:
    """Leave out answer nodes of another flattening whose value the mapped data does not have at all."""
    if not any(not key for question in questions for key, _ in question.answer_nodes):
        return questions
    values = {value for record in read_mapped(mapped).records for block in record.blocks for value in _scalars(block)}
    return tuple(
        replace(
            question, answer_nodes=frozenset(pair for pair in question.answer_nodes if pair[0] or pair[1] in values)
        )
        for question in questions
    )


def _scalars(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    else:
        yield str(value)


def _first(folder: Path, names: Sequence[str]) -> Path | None:
    return next((folder / name for name in names if (folder / name).exists()), None)


def _records(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            yield f"{path}, line {number}", _object(line, f"{path}, line {number}")


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            yield from lines
    except (OSError, EOFError) as error:
        raise InputError(f"{path} can't be read: {error}. Expected JSON lines, gzipped when named .gz.") from error


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise InputError(f"{where}: {error}. Expected one JSON object a line.") from None
    if not isinstance(record, dict):
        raise InputError(f"{where}: a JSON {type(record).__name__}. Expected one JSON object a line.")
    return record


def _document(record: Mapping[str, Any], where: str) -> Document:
    """Read a passage in any of the spellings of the sets that kgrag is measured on."""
    text = _text_of(record)
    if not text.strip():
        raise InputError(f"{where}: no text. Expected 'text', 'sentences', 'chunks' or 'fact'.")
    title = str(record.get("title") or "")
    if source := record.get("source"):
        title = f"{title} ({source})" if title else str(source)
    sections = tuple(_sections(record)) if _is_numbered(record) else ()
    return Document(text, title, identifier=_field(record, _IDENTIFIERS), location=where, sections=sections)


def _cited(path: Path) -> dict[str, list[str]]:
    """Read a table with the columns citing and cited, whose first line names them: citing -> cited, in its order."""
    found: dict[str, list[str]] = {}
    for number, line in enumerate(_lines(path), start=1):
        citing, _, rest = line.decode("utf-8").rstrip("\n").partition("\t")
        cited = rest.partition("\t")[0]
        if not cited:
            raise InputError(f"{path}, line {number}: no tab. Expected the columns citing and cited.")
        if number > 1:
            found.setdefault(citing, []).append(cited)
    return found


def _is_numbered(record: Mapping[str, Any]) -> bool:
    """Say whether a record is a paper whose sentences are [number, text] pairs."""
    sentences = record.get("sentences")
    return bool(sentences) and isinstance(sentences, list) and isinstance(sentences[0], list)


def _layout(record: Mapping[str, Any]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield (sentence number, (start, end)) as the sentences of a paper stand in its text."""
    begins = {int(position) for _, position in record.get("sections", ())}
    end = 0
    for place, (number, text) in enumerate(record["sentences"]):
        start = end + (2 if place in begins else 1) if place else 0
        end = start + len(text)
        yield int(number), (start, end)


def _sections(record: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the sections of a paper, each up to the next."""
    spans = [span for _, span in _layout(record)]
    heads = sorted((int(position), str(title)) for title, position in record.get("sections", ()))
    heads = [(position, title) for position, title in heads if position < len(spans)]
    for (position, title), following in pairwise([*heads, (len(spans), "")]):
        if position < following[0]:
            yield Section(spans[position][0], spans[following[0] - 1][1], heading=title)


def _numbered_text(record: Mapping[str, Any]) -> str:
    """Write a paper's sentences as one text, with a blank line before each section."""
    begins = {int(position) for _, position in record.get("sections", ())}
    parts: list[str] = []
    for place, (_, text) in enumerate(record["sentences"]):
        parts += [("\n\n" if place in begins else " ") if place else "", text]
    return "".join(parts)


def _text_of(record: Mapping[str, Any]) -> str:
    if _is_numbered(record):
        return _numbered_text(record)
    if "chunks" in record:
        return "\n\n".join(str(part.get("text", "")) for part in record["chunks"])
    if isinstance(record.get("text"), str):
        return str(record["text"])
    if "sentences" in record:
        return " ".join(map(str, record["sentences"]))
    return str(record.get("fact", ""))


def _question(record: Mapping[str, Any], where: str) -> Question:
    text = _field(record, ("question", "claim", "text"))
    if not text.strip():
        raise InputError(f"{where}: no question. Expected a text under 'question' (or 'claim').")
    question = Question(
        id=_field(record, ("id", "pmid")) or where.rpartition(" ")[2],
        text=text,
        answers=_answers(record),
        relevant=_relevant(record),
        gold_facts=_facts(record),
        answer_nodes=_nodes(record),
        gold_sentences=frozenset(int(number) for number in _listed(record.get("gold_sids"))),
        excluded=frozenset(str(name) for name in _listed(record.get("citing"))),
    )
    return replace(question, left_out=_reason(record, question))


def _reason(record: Mapping[str, Any], question: Question) -> str:
    if record.get("gold") == "partial":
        return "gold is partial"
    known = question.relevant or question.gold_facts or question.answer_nodes or question.answers
    unanswerable = "evidence" in record and not question.relevant
    return "" if known and not unanswerable else "no gold"


def _answers(record: Mapping[str, Any]) -> tuple[str, ...]:
    names = ("answer", "answers", "answer_aliases", "ground_truth", "ground_truths")
    given = [answer for name in names for answer in _listed(record.get(name))]
    return tuple(dict.fromkeys(str(answer) for answer in given if str(answer).strip()))


def _relevant(record: Mapping[str, Any]) -> frozenset[str]:
    for name in ("supporting", "cited", "gold_files", "evidence"):
        if name in record:
            return frozenset(str(item) for item in _listed(record[name]))
    return frozenset(_listed(record.get("pmid")))


def _facts(record: Mapping[str, Any]) -> tuple[Fact, ...]:
    """Read the facts that would do; those of a question that names ``gold_files`` were flattened in another way."""
    if "gold_files" in record:
        return ()
    return tuple(_pairs(fact) for fact in record.get("gold_facts", ()) if fact)


def _nodes(record: Mapping[str, Any]) -> Fact:
    """Read the pairs that carry the answer; those of another flattening by value alone."""
    other = "gold_files" in record
    return frozenset(("" if other else str(key), str(value)) for key, value in record.get("answer_nodes", ()))


def _pairs(fact: Mapping[str, Any] | Iterable[Sequence[Any]]) -> Fact:
    items: Iterable[Sequence[Any]] = fact.items() if isinstance(fact, Mapping) else fact
    return frozenset((str(item[0]), str(item[1])) for item in items)


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _field(record: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(record[name]) for name in names if record.get(name) is not None), "")
