"""Answers yes, no or maybe to a research question from the abstract of a study.

``Do statins reduce the risk of stroke?`` is rarely answered in these words. What tells is how results are worded: "no
significant difference", "p < 0.01", "was associated with", "may", and how near the question such a sentence is; and a
little how the question is asked. A multinomial logistic regression weighs a few counts of such words; its weights are
fitted by ``benchmarks/findings_weights.py`` and printed as they stand here. A text that does not read like a study is
left alone, as is a question that cannot be answered by yes or no.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import regex

from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import split, word_set

__all__ = ["FEATURES", "OUTCOMES", "WEIGHTS", "findings_features", "read_findings"]

OUTCOMES = ("yes", "no", "maybe")
FEATURES = (
    "always",
    "no effect",
    "no effect, near",
    "effect",
    "effect, near",
    "small p",
    "large p",
    "hedged",
    "denied, near",
    "nearest denies",
    "does it",
    "has colon",
    "asks for a difference",
    "asks for influence",
    "asks for need",
    "asks for worth",
)
"""What is counted; all from 0 to 1."""
WEIGHTS: tuple[tuple[float, float, float], ...] = (
    (0.72, -0.07, -0.64),  # always
    (-0.58, 0.84, -0.27),  # no effect
    (-0.3, 0.43, -0.13),  # no effect, near
    (0.08, 0.04, -0.12),  # effect
    (0.36, -0.4, 0.04),  # effect, near
    (0.31, -0.27, -0.04),  # small p
    (-0.78, 0.69, 0.09),  # large p
    (-0.35, -0.19, 0.55),  # hedged
    (-0.25, 0.36, -0.11),  # denied, near
    (0.11, -0.06, -0.05),  # nearest denies
    (-0.07, 0.3, -0.23),  # does it
    (0.07, 0.12, -0.19),  # has colon
    (0.19, -0.39, 0.2),  # asks for a difference
    (-0.15, -0.09, 0.24),  # asks for influence
    (-0.35, 0.56, -0.21),  # asks for need
    (0.31, -0.27, -0.04),  # asks for worth
)
"""For each feature what it adds to each outcome."""

_NO_EFFECT = late_regex(
    r"\b(?:no|not|nor|neither|without|non)\b[^.;]{0,40}\b(?:signific\w+|differ\w*|associat\w+|correlat\w+|effect\w*"
    r"|chang\w+|relat\w+|improv\w+|predict\w*|affect\w*|influenc\w+|evidence|benefit\w*|advantage\w*|increas\w+|reduc\w+)"
    r"\b|\b(?:similar|comparable|unchanged|did not differ)\b",
    regex.IGNORECASE,
)
_EFFECT = late_regex(
    r"\b(?:significant(?:ly)?|associated|correlated|increased?|higher|greater|improved?|better|reduced?|lower|decreased?"
    r"|predict\w*|effective\w*|more likely|risk factors?|superior|strong\w*|confirm\w*|demonstrat\w+|positive\w*)\b",
    regex.IGNORECASE,
)
_SMALL_P = late_regex(r"\bp\s*(?:-?value)?\s*(?:<|≤|=\s*0?\.0[0-4])", regex.IGNORECASE)
_LARGE_P = late_regex(r"\bp\s*(?:-?value)?\s*(?:>|≥|=\s*0?\.(?:0[6-9]|[1-9]))|\bNS\b", regex.IGNORECASE)
_HEDGE = late_regex(
    r"\b(?:may|might|could|suggest\w*|possibl\w+|appear\w*|seem\w*|trend|tend\w*|potential\w*|only|but|however|although"
    r"|whereas|while|except|some)\b",
    regex.IGNORECASE,
)
_DENIAL = late_regex(
    r"\b(?:no|not|nor|neither|without|fail(?:s|ed)? to|lack(?:s|ed)? of|insignificant\w*|cannot|never|unlikely"
    r"|similar\w*|comparable|unchanged|unaffected|equivalent|the same|independent of|unrelated|absent|ineffective"
    r"|insufficient)\b",
    regex.IGNORECASE,
)
_ASKED = tuple(
    late_regex(pattern, regex.IGNORECASE)
    for pattern in (
        r"^(?:do|does|did)\b|[:?]\s+(?:do|does|did)\b",
        r":",
        r"\bdifferen",
        r"\b(?:influenc|affect|impact|effect of)",
        r"\b(?:still|really|any|justif|need|necessar)",
        r"\b(?:useful|valu|help|role|associat|relat|correlat|link|effective|efficac|benefi)",
    )
)
_STUDY = late_regex(
    r"\bp\s*[<>=≤]\s*0?\.\d|\b(?:patients|participants|respondents|subjects|cohort|controls?|odds ratio|hazard ratio"
    r"|median|retrospective\w*|prospective\w*|randomi[sz]ed|significan\w+|questionnaire|survey|trial|95% CI"
    r"|confidence interval|groups?|treated|treatments?|clinical\w*|mean|compared|outcomes?|diseases?|tumou?rs?|surgery"
    r"|surgical|women|men|children|rats|mice|cells?|mortality|incidence|prevalence|diagnos\w+|hospital\w*|cases)\b"
    r"|\d%",
    regex.IGNORECASE,
)
_MIN_STUDY_WORDS = 3
_MIN_WORDS_OF_STUDIES_ALONE = 2
_ALSO_ELSEWHERE = word_set(
    """disease diseases treatment treatments
    group groups control controls case cases cell cells mean median compared treated subjects men mice rats outcome
    outcomes"""
)
"""Words of studies that a manual has as well."""
_IN_OFFICES = word_set("survey questionnaire trial women men children participants respondents incidence %")
"""Words of studies that minutes, policies and notices have as well."""
_AIM = late_regex(
    r"\b(?:to (?:assess|examine|determine|evaluate|investigate|explore|study|compare|consider|describe|identify"
    r"|estimate|illustrate)\b|(?:this|the|present|our|follow.up) study|stud(?:y|ies) (?:was|were|has|have)"
    r"|(?:was|were) (?:studied|investigated|assessed|examined|evaluated|analy[sz]ed)"
    r"|we (?:have )?(?:examined|studied|investigated|conducted|assessed|evaluated|compared|analy[sz]ed|shown)"
    r"|hypothes\w+|research)\b",
    regex.IGNORECASE,
)
_CLOSED = late_regex(
    r"(?:.*[:,.?]\s+)?(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|might)\b",
    regex.IGNORECASE,
)
_BEFORE_ASKING = late_regex(r".*[:.?]\s+(?=\S)|\([^()]*\)", regex.DOTALL)
"""What stands before a question and in brackets: "Repair or replacement: is it the same?"."""
_DOES = late_regex(r"(?:do|does|did)\b", regex.IGNORECASE)
_COMPARES = late_regex(
    r"\b(?:better|worse|more|less|rather|preferable|preferred|superior|best|which|choose)\b", regex.IGNORECASE
)
_MIN_WORDS_BEHIND_OPTIONS = 3
_OPEN = late_regex(r"\b(?:who|whom|whose|what|which|when|where|why|how)\b", regex.IGNORECASE)
_MAX_P = 4
_LAST_SENTENCES = 6
"""Sentences from the end of an abstract, in which its results are."""
MIN_PROBABILITY = 0.4
"""Probability from which an outcome is an answer."""


def read_findings(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply of a model: yes, no or maybe with the sentences of the nearest study; {} where that is none.

    Args:
        question: as it was asked.
        texts: the evidence, of which the first piece is the study, with the text around it.
    """
    if not texts or is_fact(texts[0]) or not _is_closed(question) or language_of(question) != ENGLISH:
        return {}
    whole = "\n".join((texts[0].before, texts[0].text, texts[0].following))
    if not _is_study(whole):
        return {}
    shares = _probabilities(findings_features(question, whole))
    best = max(range(len(OUTCOMES)), key=shares.__getitem__)
    confidence = round(shares[best], 3)
    quoted = _telling(question, texts[0].text)
    if not quoted:
        return {}
    if confidence < MIN_PROBABILITY:
        nearest = [{"evidence": texts[0].number, "quote": text} for text in quoted]
        reason = (
            f"The results read like {OUTCOMES[best]} with a probability of {confidence}; {MIN_PROBABILITY} is needed."
        )
        return {"unknown": True, "sentences": [], "nearest": nearest, "reason": reason, "confidence": confidence}
    value = {"kind": "boolean", "text": OUTCOMES[best], "value": ("true", "false", "")[best], "sentence": 0}
    rows = [
        {"text": " ".join(text.split()), "citations": [{"evidence": texts[0].number, "quote": text}]} for text in quoted
    ]
    return {"unknown": False, "sentences": rows, "values": [value], "confidence": confidence}


def _is_study(text: str) -> bool:
    """Return whether a text reads like a study: by words of studies alone, or by others and its aim.

    >>> _is_study("A survey shows that 61% want tea. The supplier raises its prices by 4%. The lift is out of order.")
    False
    """
    found = {regex.sub(r"\d%", "%", match[0].lower()) for match in _STUDY.finditer(text)}
    rare = found - _ALSO_ELSEWHERE
    if len(found) < _MIN_STUDY_WORDS and len(rare) < _MIN_WORDS_OF_STUDIES_ALONE:
        return False
    own = rare - _IN_OFFICES
    few = len(own) < _MIN_WORDS_OF_STUDIES_ALONE and (len(found) < _MIN_STUDY_WORDS or not own)
    return not few or _AIM.search(text) is not None


def _is_closed(question: str) -> bool:
    """Return whether yes or no answers a question: it begins with a verb, or has no word that asks for more.

    One that ends with two options ("Is it A or B?", "Is A or B better?") asks which; "Does A or B help?" does not.
    """
    plain = question.strip()
    asking = _BEFORE_ASKING.sub("", plain)
    _, either, behind = asking.partition(" or ")
    asks_which = bool(either) and (
        _COMPARES.search(asking) is not None
        or (_DOES.match(asking) is None and len(behind.split()) < _MIN_WORDS_BEHIND_OPTIONS)
    )
    begins_with_a_verb = _CLOSED.match(plain) is not None
    return plain.endswith("?") and not asks_which and (begins_with_a_verb or not _OPEN.search(plain))


def findings_features(question: str, text: str) -> tuple[float, ...]:
    """Return what is counted in the last sentences of an abstract and in the question, in the order of ``FEATURES``."""
    sentences = _sentences(text)[-_LAST_SENTENCES:]
    near = _nearness(question, sentences)
    counts = {
        name: [float(pattern.search(one) is not None) for one in sentences]
        for name, pattern in (("none", _NO_EFFECT), ("some", _EFFECT), ("hedge", _HEDGE), ("denial", _DENIAL))
    }
    closest = max(range(len(near)), key=near.__getitem__, default=None)
    small, large = (sum(len(p.findall(one)) for one in sentences) for p in (_SMALL_P, _LARGE_P))
    return (
        1.0,
        _mean(counts["none"]),
        _weighed(counts["none"], near),
        _mean(counts["some"]),
        _weighed(counts["some"], near),
        min(small, _MAX_P) / _MAX_P,
        min(large, _MAX_P) / _MAX_P,
        _mean(counts["hedge"]),
        _weighed(counts["denial"], near),
        0.0 if closest is None else counts["none"][closest],
        *(float(pattern.search(question) is not None) for pattern in _ASKED),
    )


def _probabilities(features: Sequence[float]) -> list[float]:
    scores = [
        math.fsum(value * row[at] for value, row in zip(features, WEIGHTS, strict=True)) for at in range(len(OUTCOMES))
    ]
    powers = [math.exp(score - max(scores)) for score in scores]
    return [power / sum(powers) for power in powers]


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text) if terms(text[start:end])]


def _nearness(question: str, sentences: Sequence[str]) -> list[float]:
    asked = frozenset(terms(question))
    return [len(asked & frozenset(terms(one))) / max(1, len(asked)) for one in sentences]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _weighed(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else 0.0


def _telling(question: str, text: str) -> list[str]:
    """Return the sentence of the results that is nearest the question, and tells most."""
    sentences = _sentences(text)
    last = sentences[-_LAST_SENTENCES:]
    tells = [
        near + 0.3 * bool(_NO_EFFECT.search(one) or _EFFECT.search(one) or _SMALL_P.search(one))
        for near, one in zip(_nearness(question, last), last, strict=True)
    ]
    return [last[max(range(len(last)), key=tells.__getitem__)]] if last else []
