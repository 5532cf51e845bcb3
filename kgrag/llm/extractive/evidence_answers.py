"""Answers a question with words of the evidence, or *unknown*; fulfils ``answering/answer``.

Terms are weighed by how rare they are in the evidence; a term that is nowhere in it weighs most. The answer is unknown
when its sentences, with their headings, cover too little of that weight.

Of a fact, a line ``key: value; key: value``, the fewest pairs are quoted that make an answer: a pair whose value the
question already contains identifies the subject of the fact; a pair whose key the question mentions, and whose value it
does not contain, is the one asked for. Of prose whole sentences are quoted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import regex

from kgrag.llm.extractive.question_words import WeighedQuestion, name_terms, read_question, terms
from kgrag.text.sentences import split
from kgrag.vocab import words_of

__all__ = ["reply"]

_MIN_COVERAGE = 0.42
"""Share of the question (by weight) that the sentences of an answer cover together, at least."""
_MIN_COVERAGE_PER_SENTENCE = 0.06
"""Added to that for each further sentence of prose, since words of distant sentences cover a question by chance."""
_MIN_FIRST_COVERAGE = 0.28
"""Share of the question that the first sentence alone covers, at least."""
_MIN_GAIN = 0.12
"""Share of the question that a further sentence adds, at least."""
_MAX_SENTENCES = 3
_MIN_SHARE_OF_BEST_FACT = 0.95
_MIN_SHARE_OF_BEST_PAIR = 0.6
_MAX_PAIRS = 4
_MIN_SHARE_OF_PLACEHOLDER = 0.9
"""How well a pair with a value fits, at least, in comparison with one that has a placeholder in its place."""
_SAME_SUBJECT_SHARE = 0.97
"""Coverage, compared with a fact that has a placeholder, from which another fact is about the same subject."""
_MIN_ECHO = 0.6
"""Share of the terms of a value that the question contains, at least, where the value is what the question is about."""
_MIN_ECHO_COVERAGE = 0.05
_CONTEXT_WEIGHT = 0.6
_RANK_COST = 0.02
_MAX_SENTENCE_CHARACTERS = 600
_MAX_SUBJECT_WORDS = 25

_PLACEHOLDERS = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "not available", "not specified", "-"})
_NAMING_WORDS = frozenset({"label", "name", "title"})
_UNLABELLED_WORDS = frozenset({"has", "have", "are", "is", "list"})
_KEY = regex.compile(r"[\p{L}\p{N}_][^:;\n]{0,160}: ")
_HEADING = regex.compile(r"#+\s+(.*)", flags=regex.DOTALL)
_MARK = regex.compile(r"(?:[-*•‣◦▪·–—+]|\(?\p{N}{1,3}[.)])\s+")
_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}'’-]+")
_PRONOUN = regex.compile(r"(?:it|its|he|his|she|her|they|their|this|these|those)\b", flags=regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _EvidenceText:
    """A numbered piece of evidence as the prompt contains it; ``source`` is the text behind a hyperedge."""

    number: int
    kind: str
    heading: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible sentence of the answer.

    ``found`` are the terms that it and its headings cover, ``score`` is comparable within one question, ``links`` are
    the terms by which another candidate may continue it, ``is_fact`` is true of ``key: value`` pairs.
    """

    text: str
    quotes: tuple[tuple[int, str], ...]
    found: frozenset[str]
    score: float
    links: frozenset[str] = frozenset()
    is_fact: bool = False


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to ``answering/answer``: at most three sentences, each quoted word by word.

    Args:
        variables: ``question`` (text) and ``evidence`` (list of number, kind, heading, text, source).
    """
    texts = [
        _EvidenceText(
            number=int(piece["number"]),
            kind=str(piece.get("kind", "")),
            heading=str(piece.get("heading", "")),
            text=str(piece["text"]),
            source=str(piece.get("source", "")),
        )
        for piece in variables["evidence"]
    ]
    facts = [_read_fact(text) for text in texts if _is_fact(text)]
    sentences = [line for text in texts if text.source or not _is_fact(text) for line in _read_sentences(text)]
    pairs = dict.fromkeys(pair for fact in facts for pair in fact.pairs if not pair.is_placeholder)
    units = [pair.key_terms | pair.value_terms for pair in pairs]
    units += [sentence.own | sentence.around for sentence in sentences]
    question = read_question(str(variables["question"]), units)
    chosen = _choose(question, [*_fact_candidates(question, facts), *_prose_candidates(question, sentences)])
    if not _is_enough(question, chosen):
        return {"unknown": True, "sentences": []}
    rows = []
    for candidate in chosen:
        citations = [{"evidence": number, "quote": quote} for number, quote in candidate.quotes]
        rows.append({"text": candidate.text, "citations": citations})
    return {"unknown": False, "sentences": rows}


def _is_enough(question: WeighedQuestion, chosen: Sequence[_Candidate]) -> bool:
    """Return whether the chosen sentences cover the question well enough to be an answer."""
    if not chosen or question.coverage(chosen[0].found) < _MIN_FIRST_COVERAGE:
        return False
    further_prose = sum(not candidate.is_fact for candidate in chosen[1:])
    covered = question.coverage(frozenset().union(*(candidate.found for candidate in chosen)))
    return covered >= _MIN_COVERAGE + _MIN_COVERAGE_PER_SENTENCE * further_prose


def _choose(question: WeighedQuestion, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the best candidate, then those that add to it."""
    chosen: list[_Candidate] = []
    rest = list(candidates)
    while rest and len(chosen) < _MAX_SENTENCES:
        gains = [_gain(question, candidate, chosen) for candidate in rest]
        best = max(range(len(rest)), key=gains.__getitem__)
        if chosen and gains[best] < _MIN_GAIN:
            break
        chosen.append(rest.pop(best))
    return chosen


def _gain(question: WeighedQuestion, candidate: _Candidate, chosen: Sequence[_Candidate]) -> float:
    """Return what a candidate adds: nothing when it repeats the chosen ones or has nothing to do with them."""
    if not chosen:
        return candidate.score
    quoted = {quote for taken in chosen for _, quote in taken.quotes}
    if all(quote in quoted for _, quote in candidate.quotes):
        return 0.0
    if candidate.is_fact:
        return _MIN_GAIN + candidate.score if candidate.score >= _MIN_SHARE_OF_BEST_FACT * chosen[0].score else 0.0
    new = candidate.found.difference(*(taken.found for taken in chosen))
    # A further sentence continues from a name in the chosen ones, or brings a name of the question that they lack.
    links = frozenset().union(*(taken.links for taken in chosen)) - question.weights.keys()
    return question.coverage(new) if links & candidate.found or question.names & new else 0.0


@dataclass(frozen=True)
class _KeyValue:
    """One ``key: value`` of a fact, exactly as the evidence has it."""

    key: str
    value: str

    @property
    def quote(self) -> str:
        """The words to be quoted."""
        return f"{self.key}: {self.value}"

    @cached_property
    def is_placeholder(self) -> bool:
        """Whether the value states nothing."""
        return self.value.strip().casefold() in _PLACEHOLDERS

    @cached_property
    def value_terms(self) -> frozenset[str]:
        """Terms of the value."""
        return frozenset(terms(self.value))

    @cached_property
    def near_terms(self) -> frozenset[str]:
        """Terms of the attribute itself and of the type that has it: the last two words of the key."""
        return frozenset(term for name in self.key.split()[-2:] for term in name_terms(name))

    @cached_property
    def key_terms(self) -> frozenset[str]:
        """Terms of the whole key."""
        return frozenset(term for name in self.key.split() for term in name_terms(name))

    @property
    def label(self) -> str:
        """The key for a reader: its last two words, without verbs of having and being."""
        spelled = " ".join(words_of(name) for name in self.key.split()[-2:]).split()
        return " ".join(word for word in dict.fromkeys(spelled) if word not in _UNLABELLED_WORDS)


@dataclass(frozen=True)
class _FactLine:
    """One line of pairs, and the number of its piece of evidence."""

    number: int
    pairs: tuple[_KeyValue, ...]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """Terms of every key, and of every value that is no placeholder."""
        values = (pair.value_terms for pair in self.pairs if not pair.is_placeholder)
        return frozenset().union(*(pair.key_terms for pair in self.pairs), *values)


def _is_fact(text: _EvidenceText) -> bool:
    """Return whether a piece of evidence is a fact: a hyperedge, or one line of several pairs (a mapped record)."""
    if text.kind == "hyperedge":
        return True
    line = text.text.strip()
    return "\n" not in line and len(_pairs_of(line)) > 1 and all(_KEY.match(part) for part in line.split("; "))


def _read_fact(text: _EvidenceText) -> _FactLine:
    pairs = (part.strip().partition(": ") for part in _pairs_of(text.text))
    return _FactLine(text.number, tuple(_KeyValue(key, value) for key, colon, value in pairs if colon))


def _pairs_of(line: str) -> list[str]:
    """Split a line into pairs; where keys begin alike, a semicolon before anything else is part of a value."""
    parts = line.strip().split("; ")
    first = parts[0].split(" ", 1)[0]
    begin_alike = sum(part.startswith(f"{first} ") for part in parts) * 2 > len(parts)
    joined: list[str] = []
    for part in parts:
        if joined and not (part.startswith(f"{first} ") if begin_alike else _KEY.match(part)):
            joined[-1] += f"; {part}"
        else:
            joined.append(part)
    return joined


def _fact_candidates(question: WeighedQuestion, facts: Sequence[_FactLine]) -> Iterator[_Candidate]:
    """Yield the sentences that facts make, best first.

    A fact may have the attribute asked for with a placeholder: then facts about other subjects, which cover less of the
    question, do not answer in its place.
    """
    ranked = sorted(
        ((question.coverage(fact.all_terms), fact) for fact in facts), key=lambda row: (-row[0], row[1].number)
    )
    min_coverage = 0.0
    for coverage, fact in ranked:
        if coverage <= 0 or coverage < min_coverage:
            return
        about = [pair for pair in fact.pairs if not pair.is_placeholder and _is_about(question, pair)]
        asked = _asked_pairs(question, [pair for pair in fact.pairs if pair not in about], about)
        if any(pair.is_placeholder for pair in asked):
            min_coverage = max(min_coverage, _SAME_SUBJECT_SHARE * coverage)
        elif asked:
            yield _fact_candidate(fact, coverage, about, asked)


def _is_about(question: WeighedQuestion, pair: _KeyValue) -> bool:
    """Return whether the question contains a value, or most of one where it does not ask for the attribute."""
    contained = [term for term in pair.value_terms if term in question.weights]
    if question.coverage(contained) < _MIN_ECHO_COVERAGE:
        return False
    missing = pair.value_terms.difference(contained)
    is_asked_for = not pair.near_terms.isdisjoint(question.focus[:2])
    if is_asked_for or any(regex.search(r"\p{N}", term) for term in missing):
        return not missing
    return len(contained) >= _MIN_ECHO * len(pair.value_terms)


def _asked_pairs(question: WeighedQuestion, pairs: Sequence[_KeyValue], about: Sequence[_KeyValue]) -> list[_KeyValue]:
    """Return the pairs that the question asks for, in the order of the fact; placeholders only when they fit best."""
    known = frozenset().union(*(pair.value_terms for pair in about))
    fits = {pair: fit for pair in pairs if (fit := _fit(question, pair, known)) > 0}
    best = max(fits.values(), default=0.0)
    ranked = sorted(
        (pair for pair in fits if fits[pair] >= _MIN_SHARE_OF_BEST_PAIR * best), key=lambda pair: -fits[pair]
    )
    stating = [pair for pair in ranked if not pair.is_placeholder]
    if ranked and max((fits[pair] for pair in stating), default=0.0) < _MIN_SHARE_OF_PLACEHOLDER * best:
        return ranked[:1]
    return [pair for pair in pairs if pair in stating[:_MAX_PAIRS]]


def _fit(question: WeighedQuestion, pair: _KeyValue, known: frozenset[str]) -> float:
    """Return how well a pair fits the question: by its attribute, most of all near the question word, and its value."""
    near = pair.near_terms - known
    matched = question.weight(near)
    matched += sum(1 / (1 + place) for place, term in enumerate(question.focus) if term in near)
    if near:
        matched *= 0.5 + 0.5 * sum(term in question.weights for term in near) / len(near)
    path = 0.3 * question.weight(pair.key_terms - near - known)
    return matched + path + 0.5 * question.weight(pair.value_terms - known - near)


def _fact_candidate(
    fact: _FactLine, coverage: float, about: Sequence[_KeyValue], asked: Sequence[_KeyValue]
) -> _Candidate:
    named = []
    for pair in fact.pairs:
        # A name of the object that has an asked attribute, or of one around it, identifies the subject as well.
        is_name = not _NAMING_WORDS.isdisjoint(words_of(" ".join(pair.key.split()[-1:])).split())
        owner = pair.key.rsplit(" ", 1)[0] + " "
        names_owner = is_name and pair not in asked and any(other.key.startswith(owner) for other in asked)
        if not pair.is_placeholder and (pair in about or names_owner):
            named.append(pair)
    subject = ", ".join(dict.fromkeys(pair.value for pair in named if len(pair.value.split()) <= _MAX_SUBJECT_WORDS))
    values = "; ".join(f"{pair.label}: {pair.value}" for pair in asked)
    text = f"{subject} – {values}" if subject else values
    chosen = [*named, *asked]
    return _Candidate(
        text=text if text.endswith((".", "!", "?")) else f"{text}.",
        quotes=tuple((fact.number, pair.quote) for pair in chosen),
        found=frozenset().union(*(pair.key_terms | pair.value_terms for pair in chosen)),
        score=coverage - 0.01 * fact.number,
        is_fact=True,
    )


@dataclass(frozen=True, slots=True)
class _ProseSentence:
    """A sentence of the evidence: its words as they are, its terms, and those of headings and title above it.

    ``before`` is the sentence before one that begins with a pronoun, since it names what the pronoun refers to.
    """

    number: int
    text: str
    own: frozenset[str]
    around: frozenset[str]
    before: _ProseSentence | None = None


def _read_sentences(text: _EvidenceText) -> Iterator[_ProseSentence]:
    """Yield the sentences of a piece of evidence; a heading is none, but the sentences below it are about it."""
    body = text.source or text.text
    heading = frozenset(terms(text.heading))
    around = heading
    last: _ProseSentence | None = None
    for start, end in split(body):
        sentence = body[start:end]
        if title := _HEADING.fullmatch(sentence):
            around, last = heading | frozenset(terms(title[1])), None
            continue
        if mark := _MARK.match(sentence):
            sentence = sentence[mark.end() :]
        own = frozenset(terms(sentence))
        if not own or len(sentence) > _MAX_SENTENCE_CHARACTERS:
            last = None
            continue
        last = _ProseSentence(text.number, sentence, own, around, last if _PRONOUN.match(sentence) else None)
        yield last


def _prose_candidates(question: WeighedQuestion, sentences: Sequence[_ProseSentence]) -> Iterator[_Candidate]:
    """Yield every sentence that shares a term with the question, behind the one that it needs to be understood."""
    for sentence in sentences:
        own = question.coverage(sentence.own)
        if own <= 0:
            continue
        before = sentence.before
        needed = before if before and question.coverage(before.own - sentence.own) > 0 else None
        quoted = [needed, sentence] if needed else [sentence]
        around = sentence.around.union(*(part.own for part in quoted))
        context = _CONTEXT_WEIGHT * question.coverage(around - sentence.own)
        yield _Candidate(
            text=" ".join(" ".join(part.text.split()) for part in quoted),
            quotes=tuple((part.number, part.text) for part in quoted),
            found=around,
            score=own + context - _RANK_COST * sentence.number,
            links=frozenset(word for part in quoted for name in _NAME.findall(part.text) for word in terms(name)),
        )
