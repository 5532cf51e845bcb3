"""Finds values that a sentence takes from another thing of the text that it cites.

"In the Northern zone apply 65 kg; in the Eastern zone apply 80 kg" has both amounts and both names, so that "the
Northern zone gets 80 kg" is made of stated words alone. A cited text is read clause by clause: a value is exchanged
where every clause that states it is about names that the sentence does not have, while a clause about a name of the
sentence states another value of that kind, at the same side of the name. Clauses with a pronoun may go on about any
thing before, and are left alone.

Things without a name of their own are told apart by all words of a clause: of "Load must be above 25%. Battery capacity
must be 100% at start", "the load must be above 100%" has every word of the first, which states another value, and less
of the second.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.figures import MONTHS, Quantity, quantities, without_dates
from kgrag.text.sentences import STOP_WORDS, stem, word_set

__all__ = ["exchanged"]

_CLAUSE_END = late_regex(r"[;.!?]\s|\n|,?\s(?:and|but|while|whereas)\s", regex.IGNORECASE)
_CAPITAL = late_regex(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{M}]+")
_WORD = late_regex(r"[\p{L}\p{M}]+")
_PRONOUNS = word_set("he she it they his her its their him them this that these those who which")
_SAY_NOTHING = STOP_WORDS - word_set(
    "above after before below down least less more most no not only over than under up"
)
"""Stop words, but those that say on which side of a value a thing is."""


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause: its quantities with their places, its names with theirs, and the stems of its words.

    ``goes_on``: it may go on about what the clause before is about: it has a pronoun, or a verb before its names.
    """

    quantities: tuple[tuple[int, Quantity], ...]
    names: tuple[tuple[int, str], ...]
    goes_on: bool
    words: frozenset[str] = frozenset()

    def side(self, place: int) -> bool | None:
        """Return whether its names are all before a place, or all behind; None where it may be of another thing."""
        sides = {at < place for at, _ in self.names}
        return None if len(sides) != 1 or self.goes_on else sides.pop()

    def stated(self, one: Quantity) -> list[int]:
        """Return where the clause states a value."""
        return [at for at, other in self.quantities if other.value == one.value and other.kind == one.kind]


def exchanged(sentence: str, cited: str) -> list[str]:
    """Return the values of a sentence that the cited text has of other names only, as the sentence writes them.

    >>> cited = "In the Northern zone apply 65 kg of nitrogen; in the Eastern zone apply 80 kg."
    >>> exchanged("The Northern zone gets 80 kg.", cited), exchanged("The Eastern zone gets 80 kg.", cited)
    (['80 kg'], [])
    """
    clauses = _clauses(cited)
    if sum(bool(one.quantities) for one in clauses) <= 1:
        return []
    own = {stem(word) for word in _WORD.findall(sentence.casefold())}
    found = quantities(without_dates(sentence))
    values = {(one.kind, one.value) for one in found}
    return [
        one.written
        for one in found
        if _is_exchanged(one, clauses, own, values) or _is_of_another_clause(one, clauses, own, values)
    ]


def _is_of_another_clause(
    one: Quantity, clauses: Sequence[_Clause], own: Set[str], values: Set[tuple[str, object]]
) -> bool:
    """Return whether a sentence has all words of a clause with another value, and less of each that states this one."""
    holding = [clause for clause in clauses if clause.stated(one)]
    most = max((len(clause.words & own) for clause in holding), default=0)
    if not holding or any(clause.goes_on or clause.words <= own for clause in holding):
        return False
    return any(
        clause.words <= own and len(clause.words) > max(most, 1) and _has_other(one, clause, values)
        for clause in clauses
    )


def _has_other(one: Quantity, clause: _Clause, values: Set[tuple[str, object]]) -> bool:
    """Return whether a clause states a value of the kind, and none that the sentence has."""
    others = [other for _, other in clause.quantities if other.kind == one.kind]
    return bool(others) and not any((other.kind, other.value) in values for other in others)


def _is_exchanged(one: Quantity, clauses: Sequence[_Clause], own: Set[str], values: Set[tuple[str, object]]) -> bool:
    holding, sides = [clause for clause in clauses if clause.stated(one)], set[bool]()
    for clause in holding:
        side = None if any(name in own for _, name in clause.names) else clause.side(clause.stated(one)[0])
        if side is None:
            return False
        sides.add(side)
    return bool(holding) and any(_rivals(one, clause, own, values) in sides for clause in clauses)


def _rivals(one: Quantity, clause: _Clause, own: Set[str], values: Set[tuple[str, object]]) -> bool | None:
    """Return on which side of a name of the sentence a clause has other values of a kind; None where it has none."""
    places = [(at, other) for at, other in clause.quantities if other.kind == one.kind]
    if not places or any((other.kind, other.value) in values for _, other in places):
        return None
    return next((at < places[0][0] for at, name in clause.names if name in own), None)


def _clauses(cited: str) -> list[_Clause]:
    mid_sentence = {match[0] for match in _CAPITAL.finditer(cited) if not _opens(cited, match.start())}
    clauses, start = [], 0
    for end, after in [*((match.start(), match.end()) for match in _CLAUSE_END.finditer(cited)), (len(cited),) * 2]:
        text = cited[start:end]
        names = tuple(
            (match.start(), stem(match[0].casefold()))
            for match in _CAPITAL.finditer(text)
            if match[0] in mid_sentence and match[0].casefold() not in MONTHS and match[0].casefold() not in STOP_WORDS
        )
        said = _WORD.findall(text.casefold())
        lead = _WORD.findall(text[: names[0][0]].casefold()) if names else []
        placed = _placed(text)
        follows = (
            not _opens(cited, start)
            and bool(placed)
            and bool(names)
            and names[0][0] < placed[0][0]
            and not STOP_WORDS.issuperset(lead)
        )
        words = frozenset(stem(word) for word in said if word not in _SAY_NOTHING)
        clauses.append(_Clause(placed, names, follows or not _PRONOUNS.isdisjoint(said), words))
        start = after
    return clauses


def _opens(text: str, at: int) -> bool:
    """Return whether a place is the begin of the text or of a sentence, where all words have a capital."""
    before = text[:at].rstrip()
    return not before or before[-1] in ".!?:" or "\n" in text[len(before) : at]


def _placed(text: str) -> tuple[tuple[int, Quantity], ...]:
    """Return the quantities of a text, each with where its number begins."""
    plain, at, placed = without_dates(text), 0, []
    for one in quantities(plain):
        number = one.written.split(" ")[0]
        at = max(plain.find(number, at), at)
        placed.append((at, one))
        at += len(number)
    return tuple(placed)
