"""Stated triples as sentences for readers, each cited by the text that it was extracted from.

A cell of a result means nothing alone: "64" is no answer to cite. So a triple is worded with the name of its thing and
the label of its property, and cited by the shortest statement of its chunks that has its value and most of its words,
and by the line that names the thing, where that statement does not.

Queries read: those of ``kgrag.text.stored_passages``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kgrag.late_patterns import late_re
from kgrag.llm.extractive.term_lines import with_term_line
from kgrag.model import Citation, Span, Unsupported
from kgrag.ports import TripleStore
from kgrag.text import stored_passages
from kgrag.text.chunking import statements_around
from kgrag.text.quotes import places
from kgrag.text.sentences import STOP_WORDS, content_words, split, word_set, words

__all__ = ["FactSentence", "StatedFact", "citations", "condition_of", "in_words", "stated_places", "supported"]

_TRUTH = frozenset({"true", "false"})
_VERBS = word_set("is are was were can cannot may must should does do did has")
_PREPOSITIONS = word_set("after as at before by for from in into of on since than to until with")
_MAX_CHUNKS = 50
"""Chunks that are looked into for one fact, at most: a fact may be stated on every page."""
_MAX_WORDS_INLINE = 12
"""Words of a value from which it stands after a colon: it is a statement itself."""
_MAX_WORDS_AFTER_IS = 2
"""Words of a value that begins with a small letter, at most, where "is" comes before it: others may be a clause."""
_MIN_WORDS_ALONE = 6
"""Words of a statement, at least, that is said without the name of its thing."""
_END = late_re(r"[.!?…][\"'”’)]*$")
_REFERS = late_re(r"\b(?:it|its|this|these|those|such|here)\b", re.IGNORECASE)
_CONDITION = late_re(
    r"\b(?:if|unless|when|whenever|except|for example|e\.g\.|could|may|might|usually|typically|suggest)\b",
    re.IGNORECASE,
)
_MAX_CONDITION_CHARACTERS = 300
_DIGIT = late_re(r"(?<!\w)\d")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """A stated triple in words: the name of its thing, the label of its property, its value, the chunks that state it.

    ``thing`` is "" for what has no name. The ``attribute`` of a ``verbal`` fact is a verb phrase, as a model words the
    relations of text; "is a" states the class of a thing.
    """

    thing: str
    attribute: str
    value: str
    chunks: tuple[str, ...] = ()
    verbal: bool = False

    def clause(self, *, again: bool = False) -> str:
        """Return the fact as a clause; ``again`` where the clause before is about the same thing."""
        words = self.attribute.split() or ["value"]
        thing = "it" if again else self.subject or "it"
        if self.states_itself:
            return self.value
        if self.verbal:
            return f"{thing} {self.attribute} {self.value}"
        if self.value in _TRUTH:
            return f"for {thing}, {self.attribute} is {self.value}"
        if words[0] == "has" and len(words) > 1 and words[-1] not in _PREPOSITIONS:
            words = words[1:]
        elif words[0] in _VERBS or (len(words) > 1 and words[-1] in _PREPOSITIONS):
            return f"{thing} {self.attribute} {self.value}"
        noun = " ".join(words)
        about = f"its {noun}" if again else f"the {noun} of {self.subject}" if self.thing else f"the {noun}"
        return f"{about} is {self.value}" if self.short and self._follows_is else f"{about}: {self.value}"

    @property
    def states_itself(self) -> bool:
        """Whether the value says all: it is what the thing is called too, or a whole sentence that refers to nothing.

        Models make a thing of what a text says of it, or name one that is not what the sentence is about.

        >>> StatedFact("The parent removes its file", "effect", "The parent removes its file.").clause()
        'The parent removes its file.'
        """
        if self.thing and self.thing.rstrip(".").casefold() == self.value.rstrip(".").casefold():
            return True
        long = len(self.value.split()) >= _MIN_WORDS_ALONE
        return not self.verbal and long and self.value[:1].isupper() and not _REFERS.search(self.value)

    @property
    def _follows_is(self) -> bool:
        """Whether a value is no clause, as "causes the parent to exit" is one."""
        return not self.value[:1].islower() or len(self.value.split()) <= _MAX_WORDS_AFTER_IS

    @property
    def subject(self) -> str:
        """The thing, without a value that its name repeats, as models name amounts.

        >>> StatedFact("slewing the time: 33 minutes", "amount", "33 minutes").clause()
        'the amount of slewing the time is 33 minutes'
        """
        repeats = bool(self.value) and self.thing.endswith((f": {self.value}", f"= {self.value}"))
        return self.thing.removesuffix(self.value).rstrip(" :=") if repeats else self.thing

    @property
    def short(self) -> bool:
        """Whether the value is a name or an amount, and no statement."""
        return len(self.value.split()) <= _MAX_WORDS_INLINE and not _END.search(self.value)


@dataclass(frozen=True, slots=True)
class FactSentence:
    """A sentence of an answer, the facts that it states, and what of them is the short answer ("" for nothing)."""

    text: str
    facts: tuple[StatedFact, ...] = ()
    value: str = ""


def in_words(facts: Sequence[StatedFact]) -> str:
    """Return facts as one sentence.

    >>> replica = StatedFact("wal_level", "has default value", "replica")
    >>> in_words([replica, StatedFact("wal_level", "is set in", "postgresql.conf")])
    'The default value of wal_level is replica; it is set in postgresql.conf.'
    """
    clauses: list[str] = []
    before = ""
    for fact in facts:
        clauses.append(fact.clause(again=bool(fact.thing) and fact.thing == before))
        before = "" if fact.states_itself else fact.thing
    text = "; ".join(dict.fromkeys(clauses))
    capital = text if facts and facts[0].thing and text.startswith(facts[0].subject) else text[:1].upper() + text[1:]
    return capital if _END.search(capital) else f"{capital}."


def condition_of(facts: Sequence[StatedFact], cited: Sequence[Citation], sentence: str) -> str:
    """Return the cited sentence that has the one amount of facts under a condition; "" where none does.

    "The delay is 15 minutes" is not what "if most take 10 minutes, you could wait 15" says.

    Args:
        facts: what a sentence of an answer states.
        cited: its citations.
        sentence: it; a condition that it has is not repeated.
    """
    if len(facts) != 1 or not facts[0].short or not _DIGIT.search(facts[0].value):
        return ""
    stating = [
        one.quote[start:end]
        for one in cited
        for start, end in split(one.quote)
        if places(facts[0].value, one.quote[start:end])
    ]
    if not stating or len(stating[0]) > _MAX_CONDITION_CHARACTERS or "\n" in stating[0]:
        return ""
    return stating[0] if _CONDITION.search(stating[0]) and not _CONDITION.search(sentence) else ""


def citations(stated: Sequence[Sequence[StatedFact]], store: TripleStore, question: str = "") -> list[Citation]:
    """Return what carries the facts of each sentence, by the number of the sentence; a fact without text has none.

    Args:
        stated: the facts of sentence 0, 1, …
        store: contains the chunks.
        question: decides between statements that have as much of a fact.
    """
    chunks = list(dict.fromkeys(chunk for facts in stated for fact in facts for chunk in fact.chunks[:_MAX_CHUNKS]))
    texts, spans = stored_passages.texts(store, chunks), stored_passages.spans(store, chunks)
    sources = {chunk: (texts[chunk], spans[chunk]) for chunk in chunks if chunk in texts and chunk in spans}
    cited = dict.fromkeys(
        Citation(text[start:end], span.document, span.chunk, span.start + start, span.start + end, sentence)
        for sentence, facts in enumerate(stated)
        for fact in facts
        for text, span, (start, end) in _carriers(fact, sources, " ".join(one.clause() for one in facts), question)
    )
    return [one for one in cited if not any(_contains(other, one) for other in cited)]


def supported(
    answers: Sequence[FactSentence], cited: Sequence[Citation]
) -> tuple[tuple[FactSentence, ...], list[Citation], tuple[Unsupported, ...]]:
    """Return the answers that a text states, or that need none, with their citations; and those that none states."""
    stated = {one.sentence for one in cited}
    left_out = {at for at, one in enumerate(answers) if at not in stated and any(fact.chunks for fact in one.facts)}
    kept = [at for at in range(len(answers)) if at not in left_out]
    place = {at: number for number, at in enumerate(kept)}
    unsupported = tuple(
        Unsupported(answers[at].text, tuple(fact.value for fact in answers[at].facts), sum(one < at for one in kept))
        for at in sorted(left_out)
    )
    moved = [replace(one, sentence=place[one.sentence]) for one in cited]
    return tuple(answers[at] for at in kept), moved, unsupported


def _contains(outer: Citation, inner: Citation) -> bool:
    """Return whether a citation of the same sentence has all of another one, and more."""
    here = outer.sentence == inner.sentence and outer.chunk == inner.chunk and outer != inner
    return here and outer.start <= inner.start and inner.end <= outer.end


_Source = tuple[str, Span]
_Place = tuple[int, int]
_Carrier = tuple[str, Span, _Place]


def _carriers(fact: StatedFact, sources: Mapping[str, _Source], sentence: str, question: str) -> Iterator[_Carrier]:
    """Yield the statement that carries a fact and, where that does not name its thing, the line that does.

    Of statements that have as much of the fact, the one that has most of the whole sentence and question is taken.
    """
    behind = [sources[chunk] for chunk in fact.chunks[:_MAX_CHUNKS] if chunk in sources]
    statements = [(text, span, place) for text, span in behind for place in _statements(fact, text)]
    if not statements:
        return
    own = set(content_words(f"{fact.attribute} {fact.value}"))
    whole = set(content_words(sentence)) - set(content_words(fact.thing))
    asked = set(content_words(question)) - own - set(content_words(fact.thing))

    def merit(carrier: _Carrier) -> tuple[int, int, int, int]:
        text, _, (start, end) = carrier
        words = set(content_words(text[start:end]))
        names = bool(fact.thing and stated_places(fact.thing, text[start:end]))
        return len(own & words) + names, len(whole & words), len(asked & words), start - end

    text, span, place = max(statements, key=merit)
    if naming := None if fact.states_itself else _naming(fact.thing, text, place):
        yield text, span, naming
    for one in [place] if naming else with_term_line(text, place, f"{fact.thing} {fact.clause()}"):
        yield text, span, one


def _statements(fact: StatedFact, text: str) -> Iterator[_Place]:
    """Yield places that say something with the value of a fact; of a class, with its thing."""
    wanted = fact.thing if fact.attribute == "is a" and not places(fact.value, text) else fact.value
    for start, end in stated_places(wanted, text):
        yield from statements_around(text, start, end)


def stated_places(value: str, text: str) -> list[_Place]:
    """Return the places of a value in a text, else the sentences that have all of its words: "FreeBSD 13, 14, 15"."""
    if verbatim := places(value, text):
        return verbatim
    wanted = set(words(value)) - STOP_WORDS
    return [place for place in split(text) if wanted and wanted <= set(words(text[slice(*place)]))]


def _naming(thing: str, text: str, place: _Place) -> _Place | None:
    """Return the sentence nearest before a place that names a thing, or the first after it; None where it does."""
    start, end = place
    named = stated_places(thing, text) if thing else []
    if not named or stated_places(thing, text[start:end]):
        return None
    first, last = next((one for one in reversed(named) if one[1] <= start), named[0])
    around = [one for one in split(text) if one[0] < last and one[1] > first]
    return (around[0][0], around[-1][1]) if around else (first, last)
