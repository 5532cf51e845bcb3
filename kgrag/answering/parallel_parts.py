"""Which of several values of a sentence a question asks for: that of the part that has what the question names.

"The allowance is 50 EUR in Lyon and 40 EUR in Grenoble" has a value for each of two towns, "until June it was 4.80, now
it is 5.20" one for each of two times. The value of a part is the answer where that part alone has a word of the
question; where no part tells, none is, rather than the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.designations import asked_marks
from kgrag.llm.extractive.question_words import terms
from kgrag.model import Value

__all__ = ["asks_difference", "asks_past", "values_of_part"]

_PART_END = late_regex(
    r";(?=\s)|(?<!\d),(?=\s)(?!\s+\p{N}{4}\b)|(?<=\d),(?=\s)(?!\s+\p{N}{4}\b)"
    r"|\s(?:und|sowie|aber|während|et|mais|tandis\s+que|and|but|while|whereas)\s"
)
_ASKS_DIFFERENCE = late_regex(
    r"\bby\s+(?:how\s+(?:much|many|far)|what\s+(?:percentage|amount))\b|\bhow\s+(?:much|many)\s+(?:\p{L}+\s+)?(?:more|less|fewer)\b"
    r"|\bum\s+wie\s?viele?[rn]?\b|\bwie\s?viele?\s+(?:mehr|weniger)\b|\bde\s+combien\b|\bcombien\b.*\bde\s+(?:plus|moins)\b"
    r"|\b(?:overrun|exceed\p{L}*|difference|differenz|unterschied|différence|überschr\p{L}+)\b",
    flags=regex.IGNORECASE,
)
_MORE_BEHIND = late_regex(
    r"\s*(?:(?!or\b|oder\b|ou\b)[\p{L}€£$%]+\s+){0,2}?(?:more|less|fewer|mehr|weniger|\p{L}{2,}er|de\s+plus|de\s+moins)"
    r"\s+(?:than|als|que|qu['’])",
    flags=regex.IGNORECASE,
)
_BY_BEFORE = late_regex(
    r"(?:\b(?:by|um)|(?<!\bd)\bde)\s+(?:about\s+|rund\s+|(?:no\s+|not\s+)?more\s+than\s+|at\s+most\s+"
    r"|up\s+to\s+|höchstens\s+|maximal\s+|au\s+plus\s+|[£$€]\s?)*$",
    flags=regex.IGNORECASE,
)
_FROM = late_regex(r"\b(?:from|von|de)\s+(?:only\s+|bisher\s+|derzeit\s+)?[£$€]?\s?$", flags=regex.IGNORECASE)
_TO = late_regex(r"\b(?:to|auf|à)\s+[£$€]?\s?$", flags=regex.IGNORECASE)
_CHANGED = late_regex(
    r"\b(?:rais|ris|rose|increas|reduc|lower|cut|chang|fell|fall|drop|grew|extend|erhöh|stieg|steig|senk|sank|gesenkt|gestiegen"
    r"|verlänger|verkürz|angehob|augment|pass|baiss|diminu|relev|port)\p{L}*",
    flags=regex.IGNORECASE,
)
_MONTH_OR_YEAR = (
    r"(?:the\s+|the\s+end\s+of\s+|end\s+of\s+|zum\s+|ende\s+|anfang\s+|fin\s+|en\s+|le\s+)?(?:\p{N}{1,2}(?:\.|st|nd|rd|th|er)?\s+)?"
    r"(?:\p{Lu}\p{L}{2,}\s+)?(?:1[5-9]\p{N}{2}|20\p{N}{2})\b"
)
_MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|januar|februar|märz|mai|juni"
    r"|juli|oktober|dezember|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre)\b"
)
_PAST = late_regex(
    rf"\b(?:until|till|before|up\s+to|bis|vor|avant|jusqu['’](?:en|à|au)?)\s*(?:{_MONTH_OR_YEAR}|{_MONTH})"
    r"|\b(?:previously|formerly|beforehand|so\s+far|vorher|zuvor|bisher|früher|bislang|auparavant|précédemment|jusque-là)\b"
    r"|\b(?:old|former|previous|alte[nrs]?|bisherige[nrs]?|frühere[nrs]?|ancien(?:ne)?s?)\b|\b(?:davor|before)(?=\s*[.,?]?\s*$)",
    flags=regex.IGNORECASE,
)
_SINCE = late_regex(
    rf"\b(?:since|from|as\s+of|seit|ab|depuis|dès|à\s+partir\s+d[eu]['’]?)\s*(?:le\s+|dem\s+)?(?:{_MONTH_OR_YEAR}|{_MONTH})"
    r"|\b(?:now|nowadays|currently|today|since\s+then|nun|jetzt|heute|seither|seitdem|danach|aktuell|neuerdings"
    r"|maintenant|désormais|aujourd['’]hui|depuis\s+lors)\b|\bneue[nrs]?\b",
    flags=regex.IGNORECASE,
)
_IS_PAST = late_regex(
    r"\b(?:was|were|did|had|used\s+to|war|waren|kostete|betrug|galt|hatte|était|étaient|coûtait|avait|valait)\b",
    flags=regex.IGNORECASE,
)
_ASKS_AFTER = late_regex(
    r"\b(?:nach\s+(?:der|dem|ablauf|ende)|after\s+(?:the|its)|après\s+l[ae'’])\b", flags=regex.IGNORECASE
)
_AFTERWARDS = late_regex(
    r"\b(?:danach|anschließend|afterwards?|thereafter|ensuite|par\s+la\s+suite)\b", flags=regex.IGNORECASE
)
_ASKS_MONEY = late_regex(
    r"\bhow\s+much\s+(?:is|are|was|were|does|do|did)\b|\b(?:prices?|costs?|fees?|fares?|rent|deposit|budget|allowance)\b"
    r"|\bwie\s+teuer\b|\bkoste(?:n|te?n?)\b|\b\p{L}*(?:preis|gebühr|miete|kaution|beitrag|betrag|eintritt|gutschrift)e?s?\b"
    r"|\bcoût(?:e|ent|ait|aient)\b|\b(?:prix|tarif|loyer|cotisation|prime|caution|montant|indemnité)\b",
    flags=regex.IGNORECASE,
)
_CURRENCY = r"(?:[£$€¥]|(?:EUR|GBP|USD|CHF|euros?|pounds?|pence|dollars?|cents?|francs?|Franken)\b)"
_SUM_BEHIND = late_regex(
    rf"\s*(?:(?:hundred|thousand|million|billion|Millionen|millions?)\s+)?{_CURRENCY}", flags=regex.IGNORECASE
)
_CURRENCY_IN = late_regex(_CURRENCY, flags=regex.IGNORECASE)
_SUM_BEFORE = late_regex(rf"{_CURRENCY}\s*$", flags=regex.IGNORECASE)
_GROUP = (
    r"(?:(?:the|an?|all|de[rmn]|die|das|eine[nrm]?|le|la|les|un|une)\s+|l['’])?"
    r"(?P<group>[\p{L}\p{N}][\p{L}\p{N}'’-]*(?:\s+[\p{L}\p{N}-]+)??)"
)
_QUALIFIER = late_regex(
    rf"\b(?:for|in|at|with|after|on|under|für|bei|beim|mit|zum|zur|nach|pour|à|chez|avec|après)\s+{_GROUP}"
    r"(?=\s*\?*\s*$|\s+(?:in|at|on|for|per|pro|par|cost|get|receive|do|does|did|can|is|are|gibt|zu|ist|gewartet|as|of|from|since)\b)",
    flags=regex.IGNORECASE,
)
_NUMBER = late_regex(r"(?<![\p{L}\p{N}.,-])\p{N}+(?:[.,]\p{N}+)*")
_JOINED = late_regex(r"\s(?:and|und|et)\s", flags=regex.I)
"""Asks for several values at once: "How many minutes and seconds?"."""
_OF_WHOLE = late_regex(r"\b(?:davon|darunter|dont|of\s+(?:them|which|these))\b", flags=regex.I)
"""Begins parts of what is counted before: "46 Plätze, davon 6 mit Ladesäule"."""
_VAGUE = frozenset(("year", "month", "total", "jahr", "monat", "insgesamt", "mois", "general"))


@dataclass(frozen=True)
class _Part:
    """A part of a sentence with a value: the terms before and behind it, and the values, some of a difference."""

    start: int
    end: int
    before: frozenset[str]
    behind: frozenset[str]
    values: tuple[Value, ...]

    @property
    def own(self) -> frozenset[str]:
        return self.before | self.behind


def asks_difference(question: str) -> bool:
    """Return whether a question asks by how much something differs: "By how much did the price rise?"."""
    return _ASKS_DIFFERENCE.search(question) is not None


def asks_past(question: str) -> bool:
    """Return whether a question asks what was so before a time: "Was kostete das Essen vor 2025?"."""
    return _PAST.search(question) is not None


def values_of_part(
    question: str, text: str, values: Sequence[Value], language: str = ENGLISH, around: str = ""
) -> list[Value]:
    """Return the values of the part of a sentence that a question asks about; [] where no part tells.

    Args:
        question: as it was asked.
        text: the sentence.
        values: those of it that may be asked for, the likeliest first.
        language: of both.
        around: the headings of the sentence, which may have what it is about.

    >>> values = [Value("number", "50 EUR"), Value("number", "40 EUR")]
    >>> said = "It is 50 EUR in Lyon and 40 EUR in Grenoble."
    >>> [one.text for one in values_of_part("How much is it in Grenoble?", said, values)]
    ['40 EUR']
    >>> values_of_part("How much is it in Paris?", said, values)
    []
    """
    kept = _of_difference(question, text, values)
    if len(values) > 1 and kept:
        kept = _of_change(question, text, _of_money(question, text, kept))
    parts = _parts(text, values, language)
    if len(parts) < 2 or not kept:
        return kept
    timed = _of_marks(question, text, parts, language) or _of_time(question, text, parts)
    if not timed:
        return []
    chosen = timed if len(timed) == 1 else _told(question, text, timed, language, around)
    return [one for one in kept if any(one in part.values for part in chosen)]


def _of_difference(question: str, text: str, values: Sequence[Value]) -> list[Value]:
    """Return the values that say by how much something differs, for a question for that; the others for another."""
    asks = asks_difference(question)

    def is_difference(value: Value) -> bool:
        return any(
            _MORE_BEHIND.match(text, at + len(value.text))
            or ((asks or (value.text.endswith("%") and _CHANGED.search(text))) and _BY_BEFORE.search(text[:at]))
            for at in _spots(value.text, text)
        )

    return [one for one in values if asks == is_difference(one)]


def _of_money(question: str, text: str, values: Sequence[Value]) -> list[Value]:
    """Return the sums of money among values, for a question for one; all for another, or where there is none."""

    def is_sum(value: Value) -> bool:
        return any(
            _SUM_BEFORE.search(text[:at])
            or _CURRENCY_IN.search(value.text)
            or _SUM_BEHIND.match(text, at + len(value.text))
            for at in _spots(value.text, text)
        )

    sums = [one for one in values if is_sum(one)] if _ASKS_MONEY.search(question) else []
    return sums or list(values)


def _of_change(question: str, text: str, values: Sequence[Value]) -> list[Value]:
    """Return of "raised from 62 to 68" the value before or after it, by the time that a question asks about."""
    if not _CHANGED.search(text):
        return list(values)

    def stands(value: Value, pattern: regex.Pattern[str]) -> bool:
        return any(pattern.search(text[:at]) for at in _spots(value.text, text))

    old, new = ([one for one in values if stands(one, pattern)] for pattern in (_FROM, _TO))
    if len(old) != 1 or len(new) != 1 or old == new:
        return list(values)
    if _PAST.search(question):
        return old
    return [] if _IS_PAST.search(question) and not _SINCE.search(question) else new


def _of_marks(question: str, text: str, parts: Sequence[_Part], language: str) -> list[_Part]:
    """Return the one part with the mark of a thing that is asked for, "building B"; [] where none tells."""
    for mark in asked_marks(question, language):
        own = [
            one
            for one in parts
            if regex.search(rf"(?<![\p{{L}}\p{{N}}]){mark}(?![\p{{L}}\p{{N}}])", text[one.start : one.end])
        ]
        if len(own) == 1:
            return own
    return []


def _of_time(question: str, text: str, parts: Sequence[_Part]) -> list[_Part]:
    """Return the parts of the time that a question asks about, of a sentence that tells what was before and is now."""
    if _ASKS_AFTER.search(question) and (
        after := [part for part in parts if _AFTERWARDS.search(text[part.start : part.end])]
    ):
        return after
    past = [part for part in parts if _PAST.search(text[part.start : part.end])]
    since = [part for part in parts if part not in past and _SINCE.search(text[part.start : part.end])]
    asks_since = _SINCE.search(question) is not None
    if asks_past(question) and not asks_since and (past or since):
        return past or [part for part in parts if part not in since]
    if past and (asks_since or not _IS_PAST.search(question)):
        return [part for part in parts if part not in past]
    return list(parts)


def _parts(text: str, values: Sequence[Value], language: str) -> list[_Part]:
    """Return the parts of a sentence with a value; what has none belongs to the part behind it, else to that before."""
    spots = {at: one for one in values for at in _spots(one.text, text)}
    inside = [(at, at + len(one.text)) for at, one in spots.items()]  # "4 minutes and 50 seconds" is one value
    ends = [match.span() for match in _PART_END.finditer(text)]
    ends = [(start, end) for start, end in ends if not any(at < start < stop for at, stop in inside)]
    bounds = list(zip([0, *(end for _, end in ends)], [*(start for start, _ in ends), len(text)], strict=True))
    found: list[tuple[int, int]] = []
    start = 0
    for _, stop in bounds:
        if any(start <= at < stop for at in spots):
            found.append((start, stop))
            start = stop
    if found and start < len(text):
        found[-1] = (found[-1][0], len(text))
    return [_part(text, start, stop, spots, language) for start, stop in found]


def _part(text: str, start: int, stop: int, spots: dict[int, Value], language: str) -> _Part:
    here = sorted(at for at in spots if start <= at < stop)
    first, last = here[0], here[-1] + len(spots[here[-1]].text)
    said = " ".join((*(spots[at].text for at in here), text[last:stop]))  # a unit may be what is counted
    before, behind = frozenset(terms(text[start:first], language)), frozenset(terms(said, language))
    return _Part(start, stop, before, behind, tuple(spots[at] for at in here))


def _told(question: str, text: str, parts: Sequence[_Part], language: str, around: str) -> Sequence[_Part]:
    """Return the one part that a question tells from the others; all where it names none, () where it names another."""
    if _is_other(question, text, around, language):
        return ()
    asked = set(terms(question, language))
    groups = {term for match in _QUALIFIER.finditer(question) for term in terms(match["group"], language)}
    groups |= {term for number in _NUMBER.findall(question) for term in terms(number, language)}
    first, is_hit = parts[0], False
    of_whole = _OF_WHOLE.search(text, first.end) is not None
    for wanted in (groups, asked):
        hits = [wanted & (part.behind if part is first else part.own - first.before) for part in parts]
        hits = [hit | (wanted & first.own) for hit in hits] if of_whole else hits
        shared = set.intersection(*hits)
        counts = [len(hit - shared) for hit in hits]
        is_hit = is_hit or any(counts)
        best = [part for part, count in zip(parts, counts, strict=True) if count and count == max(counts)]
        if len(best) > 1 and not asked & first.before:  # the verb of the first part is that of the others too
            best = [part for part in best if part is not first and part.before & wanted]
        if len(best) == 1:
            return () if _is_of_another(best[0], parts, asked) else best
    if is_hit:
        return parts if _JOINED.search(question) else ()
    lead = of_whole or all(
        part.before or text[: part.start].rstrip().endswith(";") or _AFTERWARDS.search(text[part.start : part.end])
        for part in parts[1:]
    )
    return [first] if lead and asked & first.before else (parts if language == ENGLISH else ())


def _is_of_another(part: _Part, parts: Sequence[_Part], asked: set[str]) -> bool:
    """Return whether another part begins with what is asked about: of lunch, where this one is of dinner."""
    first = parts[0]
    if part is first:
        return any(other.before & asked - part.own for other in parts[1:])
    return bool(part.before and not part.before & asked and first.before & asked - part.own)


def _is_other(question: str, text: str, around: str, language: str) -> bool:
    """Return whether a question has a number or a group concerned that neither a text nor its headings have."""
    said = set(terms(f"{text} {around}", language))
    if any(number not in text and number not in around for number in _NUMBER.findall(question)):
        return True
    groups = [set(terms(match["group"], language)) - _VAGUE for match in _QUALIFIER.finditer(question)]
    return any(group and not group & said for group in groups)


def _spots(value: str, text: str) -> list[int]:
    return [
        found.start()
        for found in regex.finditer(rf"(?<![\p{{L}}\p{{N}}.,]){regex.escape(value)}(?![\p{{L}}\p{{N}}])", text)
    ]
