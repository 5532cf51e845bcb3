"""Ranks the sentences of evidence for a question: shared words, nearness in meaning, and the kind of value asked for.

Each sentence is described by a few features, nearly all from 0 to 1. Their weighted sum ranks the sentences, and what
speaks for the best one gives the probability that it answers. Both were fitted by logistic regression
(``benchmarks/reader_weights.py`` prints the weights).

A *veto* comes before: a number, version or identifier of the question that a piece of evidence does not contain takes
its sentences out, so that "release 5.0" is not answered from 4.2.0. A name that no sentence has, with what it is about,
lowers the probability.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.broken_words import unbroken
from kgrag.llm.extractive.document_names import documents_named, of_others, with_document_names
from kgrag.llm.extractive.evidence_sentences import EvidenceText, ProseSentence
from kgrag.llm.extractive.question_languages import asked_in, question_language
from kgrag.llm.extractive.question_types import Asked, asked_for
from kgrag.llm.extractive.question_words import WeighedQuestion, terms
from kgrag.text.sentences import NUMBER_WORDS

__all__ = [
    "CERTAINTY_WEIGHTS",
    "FEATURES",
    "WEIGHTS",
    "Nearness",
    "RankedSentence",
    "Veto",
    "certainty",
    "features_of",
    "names_code",
    "probability",
    "ranked",
    "stated_confidence",
    "veto_of",
]


class Nearness(Protocol):
    """An embedder that compares."""

    @property
    def identity(self) -> str:
        """The embedding model's name."""

    def __call__(self, question: str, sentences: Sequence[str]) -> Sequence[float]:
        """Return the cosine of a question and each of some sentences."""


FITTED_EMBEDDER = "all-MiniLM-L6-v2"
"""The embedder with which the probability of an answer was fitted; another one has cosines of another size."""

FEATURES = (
    "own",
    "about",
    "around",
    "earlier",
    "exact",
    "defined",
    "typed",
    "untyped",
    "rank",
    "opens",
    "cue",
    "defines",
    "cosine",
)
WEIGHTS = (4.47, 2.62, 1.53, 1.24, 0.66, 1.1, 2.31, -1.61, -2.01, 0.73, 2.45, 3.0, 5.5)
_WORD_WEIGHTS = (4.0, 2.4, 2.0, 1.2, 1.2, 1.0, 1.0, -0.3, -0.8, 0.4, 1.0, 1.0, 0.0)
"""Weights where no embedder is at hand."""
CERTAINTY_WEIGHTS = (-5.56, 0.7, -0.04, -0.1, 0.18, 1.08, -0.77)
_CONFIDENCE_WEIGHTS = (1.04, 0.75, -3.6)
"""A constant, the weight of the log odds, and that of a value from prose: a logistic regression on the answers given to
the development questions about documentation, and at half weight to those of hotpot_train100 and musique_train100."""
_OF_A_VALUE = frozenset({"date", "name", "number", "person", "place", "text"})
_ASKS_HOW = late_regex(r"(?:\p{L}+\s+)?how\b", flags=regex.IGNORECASE)  # also "For how long"
_LEAST = 1e-6
_MAX_SENTENCES_EMBEDDED = 64
_LEAST_OF_A_PART = 3  # letters of the last part of an identifier that stands for the whole

_IDENTIFIER = late_regex(
    r"(?<![\w.-])(?:--?[A-Za-z][\w-]*|[A-Za-z]\w*(?:[._]\w+)+|\p{Ll}+\p{Lu}\w*|\p{Lu}\p{Ll}+\p{Lu}\w*|\p{Lu}{2,}\w*)"
)
_CODE = late_regex(r"[A-Za-z]\w*(?:[._]\w+)+")
_PRODUCT = late_regex(r"\p{Lu}\p{L}*")
_NUMBER = late_regex(r"(?<![\w.\[])\p{N}+(?:[.,:/-]\p{N}+)*(?![\w])")
_PLAIN_VERSION = late_regex(r"\d{1,4}(?:\.\d{1,4}){1,3}")
_VERSIONS = late_regex(
    rf"(?<![\w.])(?P<first>{_PLAIN_VERSION.pattern})(?:\s*(?:[-–]|to|through)\s*(?P<last>{_PLAIN_VERSION.pattern})"
    r"|\s+(?:and|or)\s+(?:later|newer|above|up)\b)",
    flags=regex.IGNORECASE,
)
_BRACKETS = late_regex(r"\([^)]*\)")
_ASKS_WHAT_IT_IS = late_regex(
    r"what\s+(?:is|are|was|were)\s+(?:an?\s+|the\s+)?(?P<term>.+?)(?:\s+(?:in|of|for|on|from|under|used|good)\b.*)?$"
    r"|what\s+(?:does|do|did)\s+(?:an?\s+|the\s+)?(?P<term>.+?)\s+"
    r"(?:mean|do|specify|specifies|determine|return|define|set|control|contain|stand\s+for)\b.*",
    flags=regex.IGNORECASE,
)
_SAYS_WHAT_IT_IS = late_regex(
    r"(?P<subject>[^.;:]{1,90}?)\s+(?:is|are|was|were|means?|refers?\s+to|denotes?|stands?\s+for)\s",
    flags=regex.IGNORECASE,
)
_MAX_FURTHER_TERMS_OF_SUBJECT = 3
_OF_A_CLAUSE = late_regex(
    r"(?:if|when(?:ever)?|while|unless|where|until|once|after|before|because|since|although|within|in|on|at|for|with|without|by|"
    r"from)\s",
    flags=regex.IGNORECASE,
)
_CALLS_IT = late_regex(
    r"\b(?:called|known\s+as|termed|referred\s+to\s+as)\s+(?:an?\s+|the\s+)?(?P<term>[^,.;:()]{1,60})",
    flags=regex.IGNORECASE,
)
_REFERENCE = late_regex(r"[\w.-]+\(\p{N}\p{L}*\)\s+[-–—]\s[^\n]*\Z")
"""A line that only names a manual page, as lists of links have them: "ntp.conf(5) - Configuration File"."""
_FRAGMENT = late_regex(
    r"(?:if|when|while|although|because|unless|whether)\s[^,.!?:;]*(?<![\p{Pe}\"'»”])(?:\s*\[\p{N}+\])?",
    flags=regex.IGNORECASE,
)
"""A condition that the text breaks off, as pages of a PDF do: "If the server uses a port [3]"."""
_MONTHS = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\p{L}*"
_VALUES: dict[str, regex.Pattern[str]] = {
    "number": late_regex(
        rf"\p{{N}}|\b(?:{'|'.join(NUMBER_WORDS)}|hundred|thousand|million|unlimited|infinite)\b",
        flags=regex.IGNORECASE,
    ),
    "date": late_regex(rf"\b(?:1\d{{3}}|20\d{{2}})\b|\b{_MONTHS} \p{{N}}|\b\p{{N}}{{1,2}} {_MONTHS}"),
    "version": late_regex(r"\p{N}+\.\p{N}|\b(?:version|release)\s+\p{N}", flags=regex.IGNORECASE),
    "person": late_regex(r"\p{Lu}[\p{L}'’.-]+\s+(?:\p{Ll}{1,3}\s+)?\p{Lu}"),
    "place": late_regex(r"\b(?:in|at|to|from|near|of)\s+(?:the\s+)?\p{Lu}"),
}


_CUES = tuple(
    (late_regex(asks, flags=regex.IGNORECASE), late_regex(says, flags=regex.IGNORECASE))
    for asks, says in (
        (
            r"\bdefaults?\b",
            r"\bdefaults?\b(?: value)?(?: is| to| of|:)|\bby default\b|\bthe default (?:[\w'’-]+ ){1,5}(?:is|are)\b",
        ),
        (
            r"\b(?:allowed|permitted|forbidden)\b",
            r"\b(?:must|may|shall|should|allowed|permitted|forbidden|prohibited)\b",
        ),
        (r"\b(?:released?|come out|came out|published)\b", r"\breleased?\b|\bpublished\b"),
        (
            r"^(?:what|which)\b.*\b(?:mean|do|does|is|specify|determine|for)\b.*$",
            r"^(?:specifies|returns?|sets?|determines|enables|controls)\b",
        ),
        (
            r"^(?:is|are|was|were|does|do)\b.*\b(?:on|off|enabled|disabled|true|false)\b",
            r"\b(?:is|are|on|off)\b.*\b(?:on|off|by default|enabled|disabled|true|false)\b",
        ),
    )
)
"""Words of a question, and the words with which a text begins to answer such a one."""


@dataclass(frozen=True, slots=True)
class RankedSentence:
    """A sentence with its features, its score (larger is better), and the place in reading order."""

    sentence: ProseSentence
    features: tuple[float, ...]
    score: float


@dataclass(frozen=True)
class Veto:
    """The exact words of a question that evidence has to contain: numbers, versions and identifiers."""

    exact: tuple[str, ...]
    identifiers: tuple[str, ...]

    def lacking(self, text: EvidenceText) -> list[str]:
        """Return the exact words that a piece of evidence, its heading and the text before it do not contain."""
        whole = "\n".join((text.heading, text.before, text.text, text.source, text.following))
        return [word for word in self.exact if not contains_exactly(whole, word)]

    def without(self, words: Collection[str]) -> Veto:
        """Return the exact words but for some, which say where to look."""
        return Veto(
            tuple(one for one in self.exact if one not in words),
            tuple(one for one in self.identifiers if one not in words),
        )

    @cached_property
    def patterns(self) -> dict[str, regex.Pattern[str]]:
        """A pattern for each identifier."""
        return {word: _exactly(word) for word in self.identifiers}


def veto_of(question: str) -> Veto:
    """Return the exact words of a question.

    >>> veto_of("What is the default of gc.auto in release 5.0?")
    Veto(exact=('gc.auto', '5.0'), identifiers=('gc.auto',))
    """
    identifiers = tuple(dict.fromkeys(found[0].rstrip(".-") for found in _IDENTIFIER.finditer(question)))
    numbers = tuple(dict.fromkeys(found[0] for found in _NUMBER.finditer(question)))
    return Veto((*(one for one in identifiers if not one.isupper()), *numbers), identifiers)


def contains_exactly(text: str, word: str) -> bool:
    """Return whether a text has an identifier (or its last part), or a number, also where that is spelt out."""
    if _exactly(word).search(text) or _in_range(text, word):
        return True
    if word.isdecimal() and int(word) < len(NUMBER_WORDS):
        return _exactly(NUMBER_WORDS[int(word)]).search(text) is not None
    last = regex.split(r"[._]", word)[-1] if "." in word and not word[0].isdigit() else ""
    return len(last) >= _LEAST_OF_A_PART and _exactly(last).search(text) is not None


def _in_range(text: str, word: str) -> bool:
    """Return whether a text speaks of versions among which one is: "2.3-2.5" and "2.3 and later" cover 2.4."""
    if not _PLAIN_VERSION.fullmatch(word):
        return False
    version = _parts(word)
    for found in _VERSIONS.finditer(text):
        first, last = _parts(found["first"]), _parts(found["last"] or "")
        if first <= version and (not last or version <= last) and len(first) == len(version):
            return True
    return False


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part]


def _exactly(word: str) -> regex.Pattern[str]:
    if word.startswith("-"):  # -v and -V are two options, and --level isn't --level-max
        case = regex.IGNORECASE if word.startswith("--") else 0
        return regex.compile(rf"(?<![\w-]){regex.escape(word)}(?![\w-])", flags=case)
    end = r"(?![\w]|[.,]\p{N}|\])" if word[-1].isdigit() else r"(?!\w)"
    start = r"(?<![\w\[])" if word[-1].isdigit() else r"(?<!\w)"
    return regex.compile(rf"{start}{regex.escape(word)}{end}", flags=regex.IGNORECASE)


def ranked(
    asked: str,
    question: WeighedQuestion,
    texts: Sequence[EvidenceText],
    sentences: Sequence[ProseSentence],
    nearness: Nearness | None,
    language: str = ENGLISH,
) -> list[RankedSentence]:
    """Return the sentences that may answer a question, best first; of equals the better piece first.

    Args:
        asked: the question as it was asked.
        question: its weighed terms.
        texts: the pieces of evidence.
        sentences: those of the pieces.
        nearness: cosines of the embedder; None goes by words alone.
        language: of the question and what is compared with it.
    """
    veto, kind = veto_of(asked), asked_in(asked, language)
    named = documents_named(veto.exact, texts)
    lacking, others = _lacking(veto, texts, named), of_others(asked, texts)
    veto, sentences = veto.without(frozenset().union(*named.values())), with_document_names(sentences, named)
    rows = [
        RankedSentence(one, row := features_of(one, question, veto, kind, language), _weigh(row, _WORD_WEIGHTS))
        for one in sentences
        if one.number not in lacking
        and not _explains_another(one, veto)
        and not _FRAGMENT.fullmatch(one.text)
        and not others(one)
        and not (_REFERENCE.match(one.text) and not _ASKS_WHAT_IT_IS.match(kind.text))
    ]
    rows.sort(key=_by_score)
    if nearness is None:
        return rows
    near = rows[:_MAX_SENTENCES_EMBEDDED]
    cosines = nearness(asked, [row.sentence.meaning for row in near])
    complete = [(row.sentence, (*row.features[:-1], cosine)) for row, cosine in zip(near, cosines, strict=True)]
    return sorted((RankedSentence(one, row, _weigh(row, WEIGHTS)) for one, row in complete), key=_by_score)


def _lacking(veto: Veto, texts: Sequence[EvidenceText], named: Mapping[int, frozenset[str]]) -> set[int]:
    """Return the numbers of the pieces that lack an exact word of a question, but for those that name their document.

    A document names its product ("PostgreSQL") once, and each option where it is explained: a capitalised name without
    a mark in it may be in another piece of the same document.
    """
    by_title: dict[str, set[str]] = {}
    lacks = {text.number: set(veto.lacking(text)) - named[text.number] for text in texts}
    for text in texts:
        by_title.setdefault(text.title, set()).update(set(veto.exact) - lacks[text.number])
    elsewhere = {text.number: by_title[text.title] if text.title else set() for text in texts}
    return {
        number
        for number, words in lacks.items()
        if any(not (word in elsewhere[number] and _PRODUCT.fullmatch(word)) for word in words)
    }


def probability(question: WeighedQuestion, rows: Sequence[RankedSentence]) -> float:
    """Return the probability that the first of the ranked sentences answers the question, 0 to 1."""
    return 1 / (1 + math.exp(-_weigh(certainty(question, rows), CERTAINTY_WEIGHTS)))


def stated_confidence(asked: str, best: ProseSentence, probability: float) -> float:
    """Return the share of such answers that were right, 0 to 1, from the probability by which they are given.

    A value of prose that explains no term ("Which city …?") is rarely what was asked: of 30 such answers to questions
    of hotpot_train100 and musique_train100 none was, whatever the probability, since most go over several passages.
    """
    asks_value = asked_for(asked).kind in _OF_A_VALUE and not _ASKS_HOW.match(asked)
    given = math.log(max(probability, _LEAST) / max(1 - probability, _LEAST))
    constant, slope, of_a_value = _CONFIDENCE_WEIGHTS
    return round(1 / (1 + math.exp(-(constant + slope * given + of_a_value * (asks_value and not best.label)))), 3)


def names_code(asked: str, row: RankedSentence) -> bool:
    """Return whether a sentence is about what programs call a thing of the question: ``O_TMPFILE``, ``gc.auto``."""
    codes = (pattern for word, pattern in veto_of(asked).patterns.items() if _CODE.fullmatch(word))
    return any(pattern.search(f"{row.sentence.label}\n{row.sentence.text}") for pattern in codes)


def certainty(question: WeighedQuestion, rows: Sequence[RankedSentence]) -> tuple[float, ...]:
    """Return what speaks for the best sentence: a constant, its score, its lead, cosine, coverage, names missing."""
    best = rows[0]
    rival = next((row for row in rows if row.sentence.number != best.sentence.number), None)
    covered = best.sentence.all_terms
    anywhere = frozenset[str]().union(*(row.sentence.all_terms for row in rows))
    return (
        1.0,
        best.score,
        best.score - (rival.score if rival else 0.0),
        best.features[-1],
        question.coverage(covered),
        question.coverage(anywhere),
        float(bool(question.names - anywhere)),
    )


def _by_score(row: RankedSentence) -> tuple[float, int]:
    return -row.score, row.sentence.number


def _weigh(features: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(feature * weight for feature, weight in zip(features, weights, strict=True))


def features_of(
    one: ProseSentence, question: WeighedQuestion, veto: Veto, asked: Asked, language: str = ENGLISH
) -> tuple[float, ...]:
    """Return the features of a sentence in the order of ``FEATURES``; the cosine is 0 until it is known."""
    own, about, around = one.own, one.about - one.own, one.around - one.own - one.about
    earlier = one.earlier - own - about - around
    exact = [_exactness(one, pattern) for pattern in veto.patterns.values()]
    label = frozenset(terms(_BRACKETS.sub("", one.label), language))
    rules = question_language(language)
    typed = (rules.values if rules else _VALUES).get(asked.kind)
    cues = rules.cues if rules else _CUES
    in_brackets, text = " ".join(_BRACKETS.findall(one.label)), unbroken(one.text)
    has_type = typed is not None and any(
        value not in question.weights
        for found in typed.finditer(f"{in_brackets} {text}" if in_brackets else text)
        for value in terms(found[0], language) or [""]
    )
    return (
        question.coverage(own),
        question.coverage(about),
        question.coverage(around),
        question.coverage(earlier),
        sum(exact) / len(exact) if exact else 0.0,
        sum(term in question.weights for term in label) / len(label) if label else 0.0,
        float(has_type),
        float(typed is not None and not has_type),
        (one.number - 1) / 5,
        float(one.opens),
        float(any(asks.search(asked.text) and says.search(text) for asks, says in cues)),
        float(_defines(asked.text, one, language)),
        0.0,
    )


def _defines(asked: str, one: ProseSentence, language: str) -> bool:
    """Return whether a question asks what a term is and a sentence has that term before "is", or explains it first."""
    rules = question_language(language)
    match = (rules.asks_what if rules else _ASKS_WHAT_IT_IS).match(asked)
    wanted = frozenset(terms(match["term"], language)) if match else frozenset[str]()
    if not wanted:
        return False
    if one.opens and wanted == frozenset(terms(_BRACKETS.sub("", one.label), language)):
        return True
    if not rules and any(wanted == frozenset(terms(called["term"])) for called in _CALLS_IT.finditer(one.text)):
        return True
    says = (rules.says_what if rules else _SAYS_WHAT_IT_IS).match(one.text)
    if says and (_OF_A_CLAUSE.match(says["subject"]) or says["subject"].rpartition(",")[1]):
        return (
            False  # "If a list is given" and "The list, then, only matches when both are true" say of none what it is
        )
    subject = frozenset(terms(says["subject"], language)) if says else frozenset[str]()
    return wanted <= subject and len(subject) <= len(wanted) + _MAX_FURTHER_TERMS_OF_SUBJECT


def _explains_another(one: ProseSentence, veto: Veto) -> bool:
    """Return whether a sentence explains another identifier than the question's: ``Path.suffix``, not ``z.Path``.

    Of an option only its own explanation, and a sentence that has it, say anything.
    """
    options = [pattern for word, pattern in veto.patterns.items() if word.startswith("-")]
    if options and not any(pattern.search(f"{one.label}\n{one.text}") for pattern in options):
        return True
    patterns = [pattern for word, pattern in veto.patterns.items() if _CODE.fullmatch(word)]
    if not patterns or not _CODE.search(one.label):
        return False
    return not any(pattern.search(f"{one.label}\n{one.text}") for pattern in patterns)


def _exactness(one: ProseSentence, pattern: regex.Pattern[str]) -> float:
    """Return how near a sentence is to an identifier of the question: its label has it, or itself, or neither."""
    if pattern.search(one.label):
        return 1.0
    return 0.7 if pattern.search(one.text) else 0.0
