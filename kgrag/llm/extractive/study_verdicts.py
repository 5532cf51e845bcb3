"""Yes, no or maybe to a question that a study was made for, from the polarity of what the study reports.

The findings of an abstract are its last sentences. Words that affirm an effect, that deny one, and that hedge are
counted there and weighed together with the form of the question; ``benchmarks/reader_routes.py`` fits the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import regex

from kgrag.llm.extractive.fitted_weights import fitted

__all__ = ["FINDINGS", "VERDICTS", "VERDICT_FEATURES", "is_closed", "is_study", "verdict", "verdict_features"]

VERDICTS: Final = ("yes", "no", "maybe")
_STUDY = regex.compile(
    r"\b(?:patients?|participants|subjects|women|men|children|infants|respondents|study|studied|trial|cohort|cases|"
    r"controls|"
    r"rats|mice|cells|samples|questionnaires?|survey|odds ratio|confidence interval|CI|results|compared|analy[sz]ed"
    r"|evaluated|"
    r"assess(?:ed)?|retrospective(?:ly)?|prospective(?:ly)?|underwent|treatment|surgery|clinical|disease|hospitals?"
    r"|group|groups|"
    r"mean|median|significant(?:ly)?)\b",
    flags=regex.IGNORECASE,
)
_TELLING = regex.compile(
    r"\b(?:patients?|participants|respondents|cohort|odds ratio|confidence interval|CI|retrospective(?:ly)?|prospec"
    r"tive(?:ly)?|underwent|"
    r"p\s?[<=>]|significantly|statistically|clinical|infants|rats|mice|questionnaires?|mortality|incidence|prevalen"
    r"ce|diagnos\w+)\b",
    flags=regex.IGNORECASE,
)
_MIN_STUDY_WORDS = 4
_OPEN_QUESTION = regex.compile(
    r"(?:^|[:.,;?–—-]\s+)(?:and |but |so |in |of |to |for |from |by |at |on |with )?(?:what|which|who|whom|whose|wh"
    r"en|where|why|how)\b",
    flags=regex.IGNORECASE,
)
FINDINGS: Final = 3
"""The last sentences of a study, which report what it found."""

_SAYS: Final = tuple(
    (name, regex.compile(pattern, flags=regex.IGNORECASE))
    for name, pattern in (
        (
            "no difference",
            r"\bno (?:statistically |clinically )?(?:significant |major |clear |obvious )?(?:differences?|associati"
            r"ons?|correlations?|effects?|relationships?|changes?|improvements?|increases?|evidence|influence|impac"
            r"t|benefits?)\b|\b(?:was|were) (?:similar|comparable|equivalent)\b|\b(?:not|n't) (?:statistically )?si"
            r"gnificant(?:ly)?\b|\bno(?:t| statistical(?:ly)?) significan(?:t|ce)\b|\bdid not (?:differ|change|affe"
            r"ct|improve|influence|correlate|predict|reduce|increase)\b|\bnot (?:associated|correlated|related|diff"
            r"erent|affected)\b",
        ),
        ("not", r"\b(?:no|not|n't|neither|nor|none|without|never|fail(?:s|ed)?|cannot|unable|lack(?:s|ed)?|absence)\b"),
        ("significant", r"(?<!not )(?<!no )(?<!non)\bsignificant(?:ly)?\b"),
        ("p small", r"\bp\s?(?:<|=|≤|&lt;)\s?0?\.0[0-4]"),
        ("p large", r"\bp\s?(?:=|>|&gt;)\s?0?\.(?:0[6-9]|[1-9])|\bNS\b"),
        (
            "more",
            r"\b(?:increas(?:e[sd]?|ing)|higher|greater|more|better|improv(?:e[sd]?|ing|ement)|superior|faster|larg"
            r"er|longer)\b",
        ),
        (
            "less",
            r"\b(?:decreas(?:e[sd]?|ing)|lower|fewer|less|reduc(?:e[sd]?|tion|ing)|smaller|shorter|declin(?:e[sd]?|"
            r"ing))\b",
        ),
        (
            "linked",
            r"\b(?:associated|correlat(?:e[sd]?|ion)|predict(?:s|ed|or|ive)?|related|linked|independent(?:ly)?|risk"
            r" factors?|odds ratio|hazard ratio|OR|HR)\b",
        ),
        (
            "hedged",
            r"\b(?:may|might|could|possibl[ey]|perhaps|suggest(?:s|ed|ive)?|appear(?:s|ed)?|seem(?:s|ed)?|trend|ten"
            r"d(?:s|ed|ency)?|likely|potential(?:ly)?)\b",
        ),
        ("but", r"\b(?:however|although|but|while|whereas|only|despite|except)\b"),
        (
            "unsettled",
            r"\b(?:further (?:studies|research|investigation)|limited|unclear|controversial|inconclusive|caution|re"
            r"mains?|insufficient|mixed|varied|some)\b",
        ),
        (
            "works",
            r"\b(?:effective(?:ly|ness)?|useful|successful(?:ly)?|safe(?:ly|ty)?|accurate(?:ly)?|reliabl[ey]|feasib"
            r"le|sensitiv(?:e|ity)|confirmed|demonstrated|showed|revealed|identified)\b",
        ),
    )
)
_ASKS: Final = tuple(
    (name, regex.compile(pattern, flags=regex.IGNORECASE))
    for name, pattern in (
        ("asks is", r"(?:^|[:.?]\s+)(?:is|are|was|were)\b"),
        ("asks does", r"(?:^|[:.?]\s+)(?:does|do|did|has|have)\b"),
        ("asks can", r"(?:^|[:.?]\s+)(?:can|could|may|might|will)\b"),
        ("asks should", r"\bshould\b"),
        ("asks difference", r"\b(?:differ(?:ent|ence|s)?|affect|influence|effect|impact|change|matter)\b"),
        ("asks better", r"\b(?:better|improve|superior|reduce|increase|prevent|benefit|effective|decrease)\b"),
        ("asks link", r"\b(?:associat|correlat|predict|relat|link|risk|marker|factor|role)"),
        (
            "asks useful",
            r"\b(?:useful|safe|feasible|reliable|valid|adequate|accurate|appropriate|sufficient|necessary|needed|ju"
            r"stified|worth)",
        ),
        ("asks still", r"\b(?:still|always|really|only|all|any|enough|too|same|equal)\b"),
        ("asks or", r"\bor\b|\bversus\b|\bvs\b"),
        (
            "asks without verb",
            r"^(?!.*(?:^|[:.?]\s+)(?:is|are|was|were|does|do|did|has|have|can|could|may|might|will|should)\b).*$",
        ),
    )
)
VERDICT_FEATURES: Final = (
    "one",
    *(f"last: {name}" for name, _ in _SAYS),
    *(f"all: {name}" for name, _ in _SAYS),
    *(name for name, _ in _ASKS),
    "last: overlap",
    "last: not, overlap",
)


def is_closed(question: str) -> bool:
    """Return whether a question can be answered by yes or no: it ends as a question and asks for nothing by name.

    >>> [is_closed(one) for one in ("Laparoscopy: is it safe?", "Is it safe: when?", "Vaccines: a weak link?")]
    [True, False, True]
    """
    return question.rstrip().endswith("?") and _OPEN_QUESTION.search(question) is None


def is_study(text: str) -> bool:
    """Return whether a text reads like the abstract of a study."""
    words = {found.casefold() for found in _STUDY.findall(text)}
    return len(words) >= _MIN_STUDY_WORDS and _TELLING.search(text) is not None


def verdict_features(
    question: str, sentences: Sequence[str], asked: frozenset[str], stems: Sequence[frozenset[str]]
) -> tuple[float, ...]:
    """Return what speaks for each verdict, in the order of ``VERDICT_FEATURES``.

    Args:
        question: as it was asked.
        sentences: those of the abstract.
        asked: terms of the question.
        stems: terms of each sentence.
    """
    last, everything = " ".join(sentences[-FINDINGS:]), " ".join(sentences)
    shares = [len(one & asked) / len(asked) if asked else 0.0 for one in stems[-FINDINGS:]]
    near = max(range(len(shares)), key=shares.__getitem__, default=-1)
    nearest = sentences[-FINDINGS:][near] if near >= 0 else ""
    denies = _SAYS[1][1].search(nearest) is not None
    return (
        1.0,
        *(min(len(pattern.findall(last)), 3) / 2 for _, pattern in _SAYS),
        *(math.log1p(len(pattern.findall(everything))) / 2 for _, pattern in _SAYS),
        *(float(pattern.search(question) is not None) for _, pattern in _ASKS),
        max(shares, default=0.0),
        max(shares, default=0.0) * float(denies),
    )


def verdict(features: Sequence[float]) -> list[tuple[float, str]]:
    """Return the verdicts with their probabilities, the most probable first."""
    rows = [fitted(f"verdict {name}", VERDICT_FEATURES) for name in VERDICTS]
    scores = [math.fsum(a * b for a, b in zip(features, row, strict=True)) for row in rows]
    top = max(scores)
    shares = [math.exp(score - top) for score in scores]
    whole = math.fsum(shares)
    return sorted(((share / whole, name) for share, name in zip(shares, VERDICTS, strict=True)), reverse=True)
