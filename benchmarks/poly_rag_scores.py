"""How an answer of the pyramid is scored: its answer set, read out of rows, triples or sentences, against the gold.

The answer set of a row or a triple are its values. Out of a sentence it is read by rules, the same for any model: a
sentence of a few words is the answer itself; else what the rules of f_ins find in it for the attribute that the
question names; else every name in it that the question does not hold; every date or number where the attribute asks
for one, or where there is no name. Answers are equal by their words, dates and numbers by their value ("3,800" is
"3800.0").
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.poly_rag_extraction import valued
from kgrag.llm.extractive.attributes import read_attribute
from kgrag.llm.extractive.instances import instances
from kgrag.llm.extractive.sentence_facts import facts, mentions
from kgrag.model import Answer, Hit
from kgrag.text.sentences import entity_key
from kgrag.vocab import words_of

__all__ = [
    "LAYERS",
    "NONE",
    "Asked",
    "Told",
    "answer_key",
    "answers_in",
    "attribute_of",
    "f1_of",
    "names_in",
    "questions_of",
    "scored",
    "told",
]

LAYERS = ("ontology", "graph", "text")
NONE = "none"
_READ_AS = "read in text as "  # of an answer whose values were read for the attribute that is asked for
_SHORT = 8
_ASKED = re.compile(
    r"^\s*(?:in\s+|on\s+)?(?:what|which|who|where|when)\s+(?:is|are|was|were)?\s*(?:the\s+)?", flags=re.I
)
_WITH_UNIT = re.compile(r"^\s*([-+]?\d[\d,.]*)\s*\([^()\d]+\)\s*$")
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY_FIRST = re.compile(rf"\s*\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+\d{{4}}\s*$")
_FIGURE = re.compile(rf"\d|^{_MONTH}\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its gold answers (each with its other names), and the layer that holds them, "" where not known.

    ``subject``, ``relation`` and ``domain`` (the name of an ontology) are what it was made from.
    """

    text: str
    gold: tuple[frozenset[str], ...]
    layer: str = ""
    subject: str = ""
    relation: str = ""
    domain: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What was answered: the layer, the answer set in normal form, the words of the answer, completions asked for."""

    layer: str
    values: frozenset[str]
    words: str
    completions: int = 0


def questions_of(folder: Path, name: str) -> list[Asked]:
    """Read the questions of ``pyramid`` or ``popqa`` from the data folder."""
    lines = (folder / name / "questions.jsonl").read_text(encoding="utf-8").strip().split("\n")
    records = [json.loads(line) for line in lines]
    return [_popular(one) if name == "popqa" else _layered(one) for one in records]


def _popular(one: Mapping[str, Any]) -> Asked:
    names = (frozenset(map(answer_key, one["answers"])),)
    return Asked(one["question"], names, subject=one["subject"], relation=one["relation"])


def _layered(one: Mapping[str, Any]) -> Asked:
    layer = {"kg": "graph"}.get(one["layer"], one["layer"])
    gold = tuple(frozenset({answer_key(answer)}) for answer in one["answers"])
    return Asked(one["question"], gold, layer, one["subject"], words_of(one["relation"]), one["domain"])


def answer_key(text: str) -> str:
    """Return an answer in normal form: dates and numbers by value, also with a unit behind, else by its words.

    >>> answer_key("3,800") == answer_key("3800.0"), answer_key("July 4, 1928"), answer_key("Ann  Lee")
    (True, '1928-07-04', 'ann lee')
    >>> answer_key("18.29 (kilometrePerSeconds)"), answer_key("22nd of March, 2009"), answer_key("Raúl Sendic")
    ('18.29', '2009-03-22', 'raul sendic')
    """
    text = _WITH_UNIT.sub(r"\1", text)
    if _DAY_FIRST.match(text):
        return valued(text)
    text = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return valued(text) if _FIGURE.search(text) and not re.search(r"\d[\d,.]*\s*\D*[A-Z]", text) else entity_key(text)


def names_in(text: str, question: str) -> set[str]:
    """Return the names in a text that a question does not hold, in normal form.

    >>> sorted(names_in("Auron was created by Marv Wolfman.", "Who created Auron?"))
    ['marv wolfman']
    """
    asked = entity_key(question)
    stated = facts({"title": "", "paragraphs": [{"number": 1, "text": text}]})["facts"]
    found = (name for fact in stated for name in fact["entities"])
    return {entity_key(name) for name in found if entity_key(name) not in asked}


def answers_in(sentence: str, question: str) -> set[str]:
    """Return the answer set of a sentence, in normal form.

    >>> sorted(answers_in("Ann Lee, born in Bath, made Auron with Bo Oak.", "What is the birth place of Ann Lee?"))
    ['bath']
    """
    if len(sentence.split()) <= _SHORT and not sentence.rstrip().endswith((".", "!", "?")):
        return {answer_key(sentence)}
    label, asked = attribute_of(question), entity_key(question)
    if label:
        said = instances([(label, "")], sentence)
        if found := {answer_key(value) for _, _, value in said if entity_key(value) not in asked}:
            return found
        kind = read_attribute(label, "").kind
        if kind != "name":
            return {answer_key(one.text) for one in mentions(sentence) if one.kind == kind}
    return names_in(sentence, question) or {answer_key(one.text) for one in mentions(sentence) if one.kind != "name"}


def attribute_of(question: str) -> str:
    """Return the words of a question that name an attribute: without its names and the words of asking.

    >>> attribute_of("What is the party of Ann?"), attribute_of("What is Bo's job?"), attribute_of("Where was Bo born?")
    ('party', 'job', 'born')
    """
    rest = _ASKED.sub("", question.strip().rstrip("?"))
    asked = re.search(r"^\s*(?i:where|when)\s+(?:was|were)\s+.+\s([a-z]+)\??\s*$", question)
    if verb := asked or re.search(r"\b(?:was|were|did|does|do)\s+.+\s([a-z]+)$", rest):
        return verb[1]
    owned = re.match(r"(.+?)['’]s\s+(.+)$", rest)
    if owned:
        return owned[2].strip()
    return re.sub(r"\s+(?:of|for)(?:\s+.*)?$", "", rest).strip()


def told(answer: Answer) -> Told:
    """Read an answer: which layer gave it, and its answer set."""
    asked = answer.usage.completions
    if answer.unknown or not answer.hits:
        return Told(NONE, frozenset(), "", asked)
    layer = {"row": "ontology", "triple": "graph"}.get(answer.hits[0].kind, "text")
    if any(_READ_AS in line for line in answer.explain):
        found = {answer_key(value.text) for value in answer.values}
    elif layer == "text":
        found = {value for sentence in answer.sentences for value in answers_in(sentence, answer.question)}
    else:
        found = {answer_key(_value(hit)) for hit in answer.hits}
    return Told(layer, frozenset(found), entity_key(answer.text), asked)


def _value(hit: Hit) -> str:
    """Return the value of a row or a triple; the value of the one variable for a row of a query that a model wrote."""
    if "value" in hit.attributes:
        return str(hit.attributes["value"])
    return hit.text.partition(": ")[2] if len(hit.attributes) == 1 else hit.text


def f1_of(values: Iterable[str], gold: Sequence[frozenset[str]]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of an answer set; a gold answer counts once, by whichever of its names.

    >>> f1_of({"a", "b"}, [frozenset({"a"})])
    (0.5, 1.0, 0.6666666666666666)
    """
    known = frozenset().union(*gold) if gold else frozenset()
    found = set(values)
    precision = len(found & known) / len(found) if found else 0.0
    recall = sum(bool(names & found) for names in gold) / len(gold) if gold else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0


def scored(asked: Sequence[Asked], answers: Sequence[Told]) -> dict[str, float]:
    """Return the means over all questions, the share that was answered, and completions a question."""
    rows = [f1_of(one.values, question.gold) for question, one in zip(asked, answers, strict=True)]
    contains = [
        any(name in one.words or name in one.values for names in question.gold for name in names)
        for question, one in zip(asked, answers, strict=True)
    ]
    count = max(len(asked), 1)
    means = {name: sum(row[place] for row in rows) / count for place, name in enumerate(("precision", "recall", "f1"))}
    return means | {
        "contains": sum(contains) / count,
        "answered": sum(one.layer != NONE for one in answers) / count,
        "completions": sum(one.completions for one in answers) / count,
    }
