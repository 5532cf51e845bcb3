"""What a question asks of a table: the names by which it says a row, and the labels that its words may mean."""

from __future__ import annotations

import math
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_types import Asked, asked_for
from kgrag.llm.extractive.question_words import term, terms

__all__ = ["LEAST", "MOST", "WHICH", "TableQuestion", "alike"]

_MIN_SHARED_LETTERS = 4
_VAGUE = frozenset(
    map(term, ("come", "get", "go", "need", "want", "buy", "find", "euros", "dollars", "use", "offer", "open"))
)
_SYNONYMS = tuple(
    (late_regex(asks, flags=regex.IGNORECASE), frozenset(term(word) for word in labels.split()))
    for asks, labels in (
        (r"\b(?:heav(?:y|ier|iest)|weighs?|light(?:er|est)?)\b", "weight mass"),
        (r"\b(?:costs?|prices?|pay|charged?|expensive|cheap(?:er|est)?|dear(?:er|est)?)\b", "price cost fee rate fare"),
        (r"\bhow much (?:is|are)\b", "price cost fee rate fare"),
        (r"\b(?:tall(?:er|est)?|high)\b", "height head"),
        (r"\bhigh\b.*\blift\b", "head lift"),
        (r"\bhow long (?:is|are|was|were)\b|\blong(?:er|est)\b", "length duration time"),
        (r"\bhow long (?!is|are|was|were)|\blasts?\b", "duration time period"),
        (r"\b(?:wide(?:r|st)?|broad)\b", "width"),
        (r"\bdeep(?:er|est)?\b", "depth"),
        (r"\b(?:fast(?:er|est)?|quick(?:er|est)?)\b", "speed"),
        (r"\b(?:loud(?:er|est)?|noisy|quiet(?:er|est)?)\b", "noise sound"),
        (r"\b(?:each|every|per|a) year\b|\byearly\b", "annual year"),
        (r"\b(?:each|every|per|a) month\b", "monthly month"),
        (r"\bhow far\b", "distance range"),
        (r"\bhow (?:big|large)\b|\b(?:bigger|biggest|larger|largest|smaller|smallest)\b", "size area volume capacity"),
        (r"\b(?:how many (?:people|persons|seats)|fit|hold)\b", "capacity seat place person people sleep bed crew"),
        (r"\b(?:carry|carries|lift)\b", "load payload capacity"),
        (r"\b(?:phone|telephone|call|ring|reach)\b", "phone telephone tel mobile"),
        (r"\be-?mail\b", "email mail"),
        (
            r"\bwho\b.*\b(?:looks? after|responsible|charge|contact|runs?|cares?)\b",
            "contact warden keeper manager owner supervisor",
        ),
        (r"\bwho\b.*\b(?:borrowed|has)\b", "borrowed borrower"),
        (r"\bwhere\b", "location room place address site venue shelf town depot"),
        (r"\b(?:runs? out|expires?|valid until)\b", "expires expiry valid"),
        (r"\b(?:returned|bring back|give back|due)\b", "due back return"),
        (r"\bsince when\b|\bfor how long\b", "since from start joined"),
        (r"\bfrom (?:when|what date)\b", "from available start"),
        (r"\b(?:wait|waiting)\b", "wait waiting"),
        (r"\b(?:miles|mileage|clock)\b", "mileage odometer"),
        (r"\b(?:until (?:when|what)|clos(?:e|es|ed|ing))\b", "closes closing until to"),
        (r"(?<!until )\bwhen\b.*\bopen", "opens opening from"),
    )
)
"""Words of questions, and the labels of columns that they ask for."""
MOST = late_regex(
    r"\b(?:most|(?:high|larg|bigg|great|long|tall|heavi|fast|wid|deep|loud|strong|dear|lat|new|young)est|maximum)\b",
    flags=regex.IGNORECASE,
)
LEAST = late_regex(
    r"\b(?:least|fewest|(?:low|small|short|light|slow|narrow|cheap|quiet|earli|old)est|minimum)\b",
    flags=regex.IGNORECASE,
)
WHICH = late_regex(
    r"\b(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|can|could|has|have|will|would|should|must)\b)"
    r"(?P<noun>(?:\p{L}[\p{L}-]*\s+){0,3}?\p{L}[\p{L}-]*)",
    flags=regex.IGNORECASE,
)
_NAME = late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)")
_UNTIL = late_regex(r"\b(?:until|till)\b", flags=regex.IGNORECASE)
_OPENS = frozenset({term("open")})


def alike(one: str, other: str) -> bool:
    """Return whether two stems begin alike: "weight" and "weigh"."""
    if one == other:
        return True
    shorter = min(len(one), len(other))
    shared = max(_MIN_SHARED_LETTERS, shorter - 1)
    return shorter >= shared and one[:shared] == other[:shared]


@dataclass(frozen=True)
class TableQuestion:
    """A question: its terms, the names and numbers in it, what it asks for, the labels that it may mean.

    ``aside`` are terms that a table need not have: those that such a label stands for, and verbs that say little.
    """

    text: str
    terms: frozenset[str]
    names: tuple[str, ...]
    asked: Asked
    synonyms: frozenset[str]
    aside: frozenset[str]

    @classmethod
    def read(cls, question: str) -> TableQuestion:
        """Return a question as it is compared with tables."""
        plain = " ".join(question.split()).rstrip(" ?.!")
        names = tuple(found[0].removesuffix("'s").removesuffix("’s").rstrip(".,:") for found in _NAME.finditer(plain))
        meant = [(found[0], labels) for asks, labels in _SYNONYMS for found in asks.finditer(plain)]
        synonyms = frozenset[str]().union(*(labels for _, labels in meant))
        which = WHICH.search(plain)
        aside = " ".join(
            [
                *(said for said, _ in meant),
                *MOST.findall(plain),
                *LEAST.findall(plain),
                which["noun"].split()[0] if which else "",
            ]
        )
        names = tuple(name for name in names if name != "I")
        return cls(
            plain, frozenset(terms(plain)), names, asked_for(question), synonyms, frozenset(terms(aside)) | _VAGUE
        )

    def label_fit(self, cell_terms: frozenset[str], anchored: frozenset[str]) -> float:
        """Return how well a label fits what is asked: the share of its terms that the question has, or means."""
        if not cell_terms:
            return 0.0
        free = self.terms - anchored - (_OPENS if _UNTIL.search(self.text) else frozenset())
        named = sum(any(alike(one, other) for other in free) for one in cell_terms)
        meant = len(cell_terms & self.synonyms)
        # "How long is the power lead?" asks for no power
        if self.synonyms and self.asked.kind == "number" and not meant and named < len(cell_terms):
            return 0.0
        return max(float(named), 0.6 * min(meant, 1)) / math.sqrt(len(cell_terms))
