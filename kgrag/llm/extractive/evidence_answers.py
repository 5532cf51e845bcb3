"""Answers a question with what stands in the evidence, or says *unknown*.

Terms are weighed by how rare they are in the evidence; a term that is nowhere in it weighs most. The answer is unknown
when its sentences, with their headings, cover too little of that weight.

What could be said in answer, whatever it was drawn from.

Answers from facts: lines ``key: value; key: value``, of which the fewest pairs are quoted that carry an answer.

A pair whose value the question already holds says what the fact is about; a pair whose key the question speaks of, and
whose value it does not hold, is what was asked for.

Answers from prose: sentences of the evidence, copied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import regex

from kgrag.llm.extractive.question_words import Question, name_terms, read_question, terms
from kgrag.text.sentences import split
from kgrag.vocab import words_of

__all__ = [
    "LEAST_COVERAGE",
    "LEAST_FIRST",
    "STITCHED",
    "Claim",
    "Fact",
    "Pair",
    "Piece",
    "Sentence",
    "fact_claims",
    "is_fact",
    "prose_claims",
    "read_fact",
    "read_piece",
    "read_sentences",
    "reply",
]

LEAST_COVERAGE = 0.42
"""Share of the question (by weight) that the sentences of an answer cover together, at least."""

STITCHED = 0.06
"""What each further sentence of prose adds to that, since words that stand far apart cover a question by chance."""

LEAST_FIRST = 0.28
"""Share of the question that the first sentence alone covers, at least."""

_MOST_SENTENCES = 3
_LEAST_GAIN = 0.12
_LINK = 0.1
_AS_GOOD = 0.95


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to ``answering/answer``: at most three sentences, each quoted word by word.

    Args:
        variables: ``question`` (text) and ``evidence`` (list of number, kind, heading, text, source).
    """
    pieces = [read_piece(piece) for piece in variables["evidence"]]
    facts = [read_fact(piece) for piece in pieces if is_fact(piece)]
    sentences = [sentence for piece in pieces for sentence in _sentences(piece)]
    question = read_question(str(variables["question"]), _units(facts, sentences))
    claims = [*fact_claims(question, facts), *prose_claims(question, sentences)]
    chosen = _choose(question, claims)
    if not _enough(question, chosen):
        return {"unknown": True, "sentences": []}
    return {"unknown": False, "sentences": [_sentence(claim) for claim in chosen]}


def _enough(question: Question, chosen: Sequence[Claim]) -> bool:
    """Say whether what was chosen covers the question well enough to be given as an answer."""
    if not chosen or question.coverage(chosen[0].found) < LEAST_FIRST:
        return False
    stitched = sum(not claim.fact for claim in chosen[1:])
    covered = question.coverage(frozenset().union(*(claim.found for claim in chosen)))
    return covered >= LEAST_COVERAGE + STITCHED * stitched


def _sentences(piece: Piece) -> list[Sentence]:
    if is_fact(piece):
        return list(read_sentences(piece)) if piece.source else []
    return list(read_sentences(piece))


def _units(facts: Sequence[Fact], sentences: Sequence[Sentence]) -> list[frozenset[str]]:
    pairs = dict.fromkeys(pair for fact in facts for pair in fact.pairs if not pair.says_nothing)
    return [pair.key_terms | pair.value_terms for pair in pairs] + [
        sentence.own | sentence.around for sentence in sentences
    ]


def _choose(question: Question, claims: Sequence[Claim]) -> list[Claim]:
    """Take the best claim, then those that add to it."""
    chosen: list[Claim] = []
    rest = list(claims)
    while rest and len(chosen) < _MOST_SENTENCES:
        gains = [_gain(question, claim, chosen) for claim in rest]
        best = max(range(len(rest)), key=gains.__getitem__)
        if chosen and gains[best] < _LEAST_GAIN:
            break
        chosen.append(rest.pop(best))
    return chosen


def _gain(question: Question, claim: Claim, chosen: Sequence[Claim]) -> float:
    """Say what a claim adds: nothing when it says the same again or has nothing to do with what was taken."""
    if not chosen:
        return claim.score
    said = {quote for taken in chosen for _, quote in taken.quotes}
    if all(quote in said for _, quote in claim.quotes):
        return 0.0
    if claim.fact:
        return _LEAST_GAIN + claim.score if claim.score >= _AS_GOOD * chosen[0].score else 0.0
    covered = frozenset().union(*(taken.found for taken in chosen))
    new = claim.found - covered
    names = frozenset().union(*(taken.links for taken in chosen)) - question.weights.keys()
    linked = bool(names & claim.found)
    if not linked and not question.names & new:
        return 0.0
    return question.coverage(new) + (_LINK if linked else 0.0)


def _sentence(claim: Claim) -> dict[str, Any]:
    citations = [{"evidence": number, "quote": quote} for number, quote in claim.quotes]
    return {"text": claim.text, "citations": citations}


@dataclass(frozen=True, slots=True)
class Piece:
    """A numbered piece of evidence as the prompt holds it; ``source`` is the text behind a hyperedge."""

    number: int
    kind: str
    heading: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A possible sentence of the answer.

    ``found`` are the terms that it and its place cover, ``score`` is comparable within one question, ``links`` are the
    terms by which another claim may go on from it, ``fact`` says that it was drawn from ``key: value`` pairs.
    """

    text: str
    quotes: tuple[tuple[int, str], ...]
    found: frozenset[str]
    score: float
    links: frozenset[str] = frozenset()
    fact: bool = False


def read_piece(data: Mapping[str, Any]) -> Piece:
    """Read one piece of evidence from the prompt's variables."""
    return Piece(
        number=int(data["number"]),
        kind=str(data.get("kind", "")),
        heading=str(data.get("heading", "")),
        text=str(data["text"]),
        source=str(data.get("source", "")),
    )


_NOTHING = frozenset({"", "n/a", "na", "none", "null", "nil", "unknown", "not available", "not specified", "-"})
_KEY = regex.compile(r"[\p{L}\p{N}_][^:;\n]{0,160}: ")
_NEAR_BEST = 0.75
_PAIRS = 4
_PAIR_SHARE = 0.6
_ECHO = 0.6
_LEAST_ECHO = 0.05
_NAMES = frozenset({"label", "name", "title"})
_FOCUS = 1.0
_LONG = 25
_SAME_THING = 0.97
_PLACEHOLDER = 0.9


@dataclass(frozen=True)
class Pair:
    """One ``key: value`` of a fact, exactly as it stands in the evidence."""

    key: str
    value: str

    @property
    def quote(self) -> str:
        """The words to be quoted."""
        return f"{self.key}: {self.value}"

    @cached_property
    def says_nothing(self) -> bool:
        """Whether the value is a placeholder."""
        return self.value.strip().casefold() in _NOTHING

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
        return " ".join(word for word in dict.fromkeys(spelled) if word not in {"has", "have", "are", "is", "list"})


@dataclass(frozen=True)
class Fact:
    """One line of pairs, and the number of the evidence that it is."""

    number: int
    pairs: tuple[Pair, ...]

    @cached_property
    def all_terms(self) -> frozenset[str]:
        """Terms of every key and of every value that says something."""
        values = (pair.value_terms for pair in self.pairs if not pair.says_nothing)
        return frozenset().union(*(pair.key_terms for pair in self.pairs), *values)


def is_fact(piece: Piece) -> bool:
    """Say whether a piece of evidence is a fact: a hyperedge, or one line of several pairs (a mapped record)."""
    if piece.kind == "hyperedge":
        return True
    line = piece.text.strip()
    return "\n" not in line and len(_pieces(line)) > 1 and all(_KEY.match(part) for part in line.split("; "))


def read_fact(piece: Piece) -> Fact:
    """Read the pairs of a line; a semicolon inside a value does not end it where keys begin alike."""
    pairs = (part.strip().partition(": ") for part in _pieces(piece.text))
    return Fact(piece.number, tuple(Pair(key, value) for key, colon, value in pairs if colon))


def _pieces(line: str) -> list[str]:
    parts = line.strip().split("; ")
    first = parts[0].split(" ", 1)[0]
    alike = sum(part.startswith(f"{first} ") for part in parts) * 2 > len(parts)
    joined: list[str] = []
    for part in parts:
        if joined and not (part.startswith(f"{first} ") if alike else _KEY.match(part)):
            joined[-1] += f"; {part}"
        else:
            joined.append(part)
    return joined


def fact_claims(question: Question, facts: Sequence[Fact]) -> Iterator[Claim]:
    """Yield what the facts that come near to the best one say in answer, best first.

    A fact may know of the attribute asked for and hold a placeholder there: then facts about other things, which cover
    less of the question, do not answer in its place.
    """
    ranked = sorted(
        ((question.coverage(fact.all_terms), fact) for fact in facts), key=lambda row: (-row[0], row[1].number)
    )
    floor = _NEAR_BEST * ranked[0][0] if ranked else 0.0
    for share, fact in ranked:
        if share <= 0 or share < floor:
            return
        about = [pair for pair in fact.pairs if not pair.says_nothing and _is_about(question, pair)]
        asked = _asked(question, [pair for pair in fact.pairs if pair not in about], about)
        if any(pair.says_nothing for pair in asked):
            floor = max(floor, _SAME_THING * share)
        elif asked or (question.yes_no and about):
            yield _claim(fact, share, about, asked)


def _claim(fact: Fact, share: float, about: Sequence[Pair], asked: Sequence[Pair]) -> Claim:
    telling = [pair for pair in fact.pairs if not pair.says_nothing]
    named = [pair for pair in telling if pair in about or (pair not in asked and _names_one(pair, asked))]
    chosen = [*named, *asked]
    return Claim(
        text=_facts_sentence(named, asked),
        quotes=tuple((fact.number, pair.quote) for pair in chosen),
        found=frozenset().union(*(pair.key_terms | pair.value_terms for pair in chosen)),
        score=share - 0.01 * fact.number,
        fact=True,
    )


def _is_about(question: Question, pair: Pair) -> bool:
    """Say whether the question already holds a value, or most of one where the attribute is not what it asks for."""
    held = [term for term in pair.value_terms if term in question.weights]
    if question.coverage(held) < _LEAST_ECHO:
        return False
    missing = pair.value_terms.difference(held)
    if (question.kinds.union(question.focus[:2]) & pair.near_terms) or any(
        regex.search(r"\p{N}", term) for term in missing
    ):
        return not missing
    return len(held) >= _ECHO * len(pair.value_terms)


def _names_one(pair: Pair, asked: Sequence[Pair]) -> bool:
    """Say whether a pair names the thing that an asked pair is of, or something around that thing."""
    if not _NAMES & set(words_of(pair.key.split()[-1]).split()):
        return False
    owner = pair.key.rsplit(" ", 1)[0] + " "
    return len(pair.value.split()) <= _LONG and any(other.key.startswith(owner) for other in asked)


def _asked(question: Question, pairs: Sequence[Pair], about: Sequence[Pair]) -> list[Pair]:
    """Give the pairs that the question asks for, in the order of the fact; placeholders only when they fit best."""
    spoken = frozenset().union(*(pair.value_terms for pair in about))
    fits = {pair: fit for pair in pairs if (fit := _fit(question, pair, spoken)) > 0}
    best = max(fits.values(), default=0.0)
    kept = sorted((pair for pair in fits if fits[pair] >= _PAIR_SHARE * best), key=lambda pair: -fits[pair])
    telling = [pair for pair in kept if not pair.says_nothing]
    if kept and max((fits[pair] for pair in telling), default=0.0) < _PLACEHOLDER * best:
        return kept[:1]
    return [pair for pair in pairs if pair in telling[:_PAIRS]]


def _fit(question: Question, pair: Pair, spoken: frozenset[str]) -> float:
    """Say how well a pair fits what was asked: by its attribute, its value, and the kind of value asked for."""
    near = pair.near_terms - spoken
    matched = question.weight(near)
    matched += sum(_FOCUS / (1 + place) for place, term in enumerate(question.focus) if term in near)
    if near:
        matched *= 0.5 + 0.5 * sum(term in question.weights for term in near) / len(near)
    kind = 1.0 if question.kinds & near else 0.0
    path = 0.3 * question.weight(pair.key_terms - near - spoken)
    return matched + kind + path + 0.5 * question.weight(pair.value_terms - spoken - near)


def _facts_sentence(about: Sequence[Pair], asked: Sequence[Pair]) -> str:
    """Write the pairs for a reader: what the fact is about, then what was asked for."""
    subject = ", ".join(dict.fromkeys(pair.value for pair in about if len(pair.value.split()) <= _LONG))
    said = "; ".join(f"{pair.label}: {pair.value}" for pair in asked) or "; ".join(
        f"{pair.label}: {pair.value}" for pair in about
    )
    text = f"{subject} – {said}" if subject and asked else said
    return text if text.endswith((".", "!", "?")) else f"{text}."


_HEADING = regex.compile(r"#+\s+(.*)", flags=regex.DOTALL)
_MARK = regex.compile(r"(?:[-*•‣◦▪·–—+]|\(?\p{N}{1,3}[.)])\s+")
_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}'’-]+")
_FIGURE = regex.compile(r"\p{N}")
_PRONOUN = regex.compile(r"(?:it|its|he|his|she|her|they|their|this|these|those)\b", flags=regex.IGNORECASE)
_CONTEXT = 0.6
_FITS = 0.08
_RANK = 0.02
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the evidence: its words as they stand, its terms, and those of headings and title above it.

    ``before`` is the sentence before one that begins with a pronoun, since it says what the pronoun stands for.
    """

    number: int
    text: str
    own: frozenset[str]
    around: frozenset[str]
    before: Sentence | None = None


def read_sentences(piece: Piece) -> Iterator[Sentence]:
    """Yield the sentences of a piece of evidence; a heading is no sentence, but what stands below it is about it."""
    text = piece.source or piece.text
    heading = frozenset(terms(piece.heading))
    around = heading
    last: Sentence | None = None
    for start, end in split(text):
        sentence = text[start:end]
        if title := _HEADING.fullmatch(sentence):
            around, last = heading | frozenset(terms(title[1])), None
            continue
        if mark := _MARK.match(sentence):
            sentence = sentence[mark.end() :]
        own = frozenset(terms(sentence))
        if not own or len(sentence) > _LONGEST:
            last = None
            continue
        before = last if _PRONOUN.match(sentence) else None
        last = Sentence(piece.number, sentence, own, around, before)
        yield last


def prose_claims(question: Question, sentences: Sequence[Sentence]) -> Iterator[Claim]:
    """Yield every sentence that shares a term with the question, behind the one that it needs to be understood."""
    for sentence in sentences:
        own = question.coverage(sentence.own)
        if own <= 0:
            continue
        needed = sentence.before
        if needed and question.coverage(needed.own - sentence.own) <= 0:
            needed = None
        said = [needed, sentence] if needed else [sentence]
        around = sentence.around.union(*(part.own for part in said))
        yield Claim(
            text=" ".join(" ".join(part.text.split()) for part in said),
            quotes=tuple((part.number, part.text) for part in said),
            found=around,
            score=own + _CONTEXT * question.coverage(around - sentence.own) + _bonus(question, sentence),
            links=frozenset(word for part in said for name in _NAME.findall(part.text) for word in terms(name)),
        )


def _bonus(question: Question, sentence: Sentence) -> float:
    """Give a little more to better evidence, and to a number where a date or an amount was asked for."""
    fits = bool(question.kinds & {"date", "quantiti"}) and bool(_FIGURE.search(sentence.text))
    return (_FITS if fits else 0.0) - _RANK * sentence.number
