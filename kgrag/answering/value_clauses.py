"""Which part of a sentence has the value that a question asks for: the clause with its verb, its period and its rate.

"57 members joined and 41 left in 2024" has two numbers, of which one answers "How many members left in 2024?", and
none how many died. Where nothing in the question decides, the whole sentence may have the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import regex

from kgrag.answering.parallel_parts import asks_past, values_of_part
from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.kept_until import asks_kept, says_end
from kgrag.llm.extractive.question_languages import asked_in
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.model import Value

__all__ = ["lacks_period", "values_with"]

_CLAUSE_END = late_regex(
    r"[;:](?=\s)|,(?=\s)(?!\s+\p{N}{4}\b)|\s(?:und|sowie|aber|während|et|mais|tandis\s+que|and|but|while|whereas)\s"
)
_RANGE = late_regex(r"\b(?:between|zwischen|entre)\b[^,;]*?\s(?:and|und|et)\s+\p{L}*\s*\p{N}", flags=regex.IGNORECASE)
_ENGLISH_PAST = (
    r"(?:\p{L}{2,}(?<!ne|spe|hundr|spr|se|bre)ed|bought|built|born|brought|caught|chosen|dug|drawn|driven|found|given|grown"
    r"|held|hit|kept|laid|left|lent|lost|made|paid|put|read|run|seen|sent|set|shut|sold|sown|spent|taken|taught|won|written)"
)
_GERMAN_PAST = r"(?:\p{L}*ge\p{L}{2,}|\p{L}*(?:be|ver|er|ent|zer|miss|emp|unter|über)\p{L}{3,})(?:t|en)"
_FRENCH_PAST = r"(?!été\b)\p{L}{2,}(?:é|i|u|is|it|ert|aint|eint|clos)(?:e?s?)"
_GERMAN_HELP = r"(?:wurden?|wird|werden|worden|ist|sind|hat|haben|hatten?|war|waren|sein|seien)"
_FRENCH_HELP = (
    r"\b(?:est|sont|été|étai(?:t|ent)|fut|furent|sera|seront|ont|avai(?:t|ent)|a)(?:-t)?(?:-(?:ils?|elles?|on))?"
    r"\s+(?:été\s+)?(?:\p{L}+ment\s+|déjà\s+)?"
)
_ENGLISH_HELP = r"\b(?:is|are|was|were|be|been|being|has|have|had)\s+(?:not\s+|\p{L}+ly\s+|first\s+)?(?:been\s+)?"
_ADJECTIVE_ASKED = late_regex(
    r"(?:what|which)\s+(?:is|are|was|were)\b|how\s+(?!many|much|often)\p{L}+\s+(?:is|are|was|were)\b",
    flags=regex.IGNORECASE,
)
_ASKS_VERB: Mapping[str, regex.Pattern[str]] = MappingProxyType(
    {
        "en": late_regex(
            rf"(?:\bhow\s+many\b|\b(?:is|are|was|were|be|been)\b).*\b(?P<verb>{_ENGLISH_PAST})"
            r"(?=\s*$|\s+(?:in|on|at|by|for|to|from|during|per|within|between|since|with)\b)",
            flags=regex.IGNORECASE,
        ),
        "de": late_regex(
            rf"\b(?i:{_GERMAN_HELP})\b.*\s(?P<verb>(?!werden\b|worden\b){_GERMAN_PAST})(?:\s+worden)?\s*$"
        ),
        "fr": late_regex(rf".*{_FRENCH_HELP}(?P<verb>{_FRENCH_PAST})\b"),
    }
)
_SAYS_VERB: Mapping[str, regex.Pattern[str]] = MappingProxyType(
    {
        "en": late_regex(
            rf"{_ENGLISH_HELP}(?P<verb>{_ENGLISH_PAST})\b|(?<![\p{{N}}.])\p{{N}}+\s+(?:\p{{L}}+\s+)?(?P<verb>{_ENGLISH_PAST})\b"
            rf"|^\s*(?P<verb>{_ENGLISH_PAST})\b(?=\s+(?:in|on|at|by)\b)"
        ),
        "de": late_regex(rf"\s(?P<verb>(?!werden\b|worden\b){_GERMAN_PAST})(?:\s+{_GERMAN_HELP})*\s*[.!]?\s*$"),
        "fr": late_regex(
            rf"{_FRENCH_HELP}(?P<verb>{_FRENCH_PAST})\b|^\s*(?P<verb>\p{{L}}{{2,}}ée?s?)\b|\p{{N}}\s+(?P<verb>\p{{L}}{{2,}}ée?s?)\b"
        ),
    }
)
"""The verb of a clause; of German, which has it at the end, that of a participle."""
_ALIKE = MappingProxyType(
    {
        "en": """built erected constructed|founded established created formed|opened inaugurated launched started begun
            |released published issued launched introduced appeared|signed concluded
            |terminated cancelled canceled ended|sold sell|bought purchased acquired buy
            |written wrote authored composed write|made manufactured produced make
            |invented devised developed designed|elected appointed chosen named|left leave resigned departed
            |joined entered|held hold|discovered found identified|closed shut|paid pay|spent spend|deleted removed
            |given granted awarded|added introduced|allowed permitted|destroyed demolished""",
        "de": """gegründet errichtet gestiftet|gebaut erbaut errichtet|eröffnet eingeweiht|gestorben verstorben
            |unterschrieben unterzeichnet geschlossen abgeschlossen|veröffentlicht erschienen herausgegeben
            |verkauft abgesetzt|gekauft erworben angeschafft|gewählt ernannt bestellt|eingeschaltet aktiviert
            |ausgeschaltet deaktiviert|eingetreten aufgenommen beigetreten
            |gekündigt aufgelöst|geändert angepasst|bezahlt gezahlt entrichtet""",
        "fr": """fondé créé établi constitué|construit bâti édifié|ouvert inauguré|signé conclu|mort décédé
            |publié paru sorti édité|vendu écoulé|acheté acquis|élu nommé désigné|activé enclenché|levé clos terminé
            |versé payé réglé|résilié rompu dénoncé""",
    }
)
"""Participles that say the same, or nearly so."""
_ASKS_FINITE: Mapping[str, regex.Pattern[str]] = MappingProxyType(
    {
        "en": late_regex(r"^(?:[Ww]hen|[Ii]n\s+what\s+year)\s+(?:do|does|did)\b.*\s(?P<verb>\p{L}{3,})$"),
        "de": late_regex(
            rf"\bUhr\s+(?P<verb>\p{{Ll}}{{4,}})\b"
            rf"|^(?:[Bb]is|[Aa]b|[Ss]eit)?\s*[Ww]ann\s+(?!{_GERMAN_HELP}\b|kann|können|muss|müssen|soll|darf)(?P<verb>\p{{Ll}}{{4,}})\b"
        ),
        "fr": late_regex(
            r"\bheure\s+(?P<verb>\p{Ll}{4,})\b|^(?:\p{L}+['’]?\s*)?[Qq]uand\s+(?:se\s+|s['’])?"
            r"(?!cette\b|notre\b|votre\b|leur\b|sont\b|faut\b|peut\b|doit\b)(?P<verb>\p{Ll}{4,})\b(?!-)"
            r"|\b[Qq]uand\b.*?\s(?P<verb>\p{Ll}{4,})-(?:t-)?(?:ils?|elles?|on)\b$"
        ),
    }
)
"""A verb that has so many forms and synonyms that a clause without it may have the value, if none has it."""
_OPPOSED = MappingProxyType(
    {
        "en": "begins begin starts start commences opens open|ends end expires expire closes close terminates",
        "de": "beginnt begann startet eröffnet öffnet|endet endete schließt abläuft",
        "fr": "commence commencent débute ouvre ouvrent|termine terminent finit expire ferme ferment",
    }
)
"""Verbs of a beginning and of an end: a clause with one has no date of the other."""
_SAYS_LITTLE = late_regex(
    r"(?:limited|restricted|set|given|used|named|made|put|read|begrenzt|beschränkt|festgelegt|festgesetzt|geregelt|angegeben"
    r"|vorgegeben|eingestellt|fixé|limité|prévu|situé|indiqué|composé|défini)(?:e?s?)"
)
"""Participles that a sentence has beside any value."""
_LIMITS = frozenset(("default", "maximum", "minimum"))
_UNITS_OF_TIME = (
    ("hour", "hours?|stunden?|heures?|hourly|stündlich"),
    ("day", "days?|nights?|tag|nacht|jour|nuit|daily|täglich"),
    ("week", "weeks?|woche|semaine|weekly|wöchentlich"),
    ("month", "months?|monat|mois|monthly|monatlich|mensuel"),
    ("year", "annual|years?|jahr|an|année|yearly|annually|jährlich|annuel"),
)
_ORDER = (
    ("1", r"1(?:st)?\.?|first|erste\p{L}*|premier|1er"),
    ("2", r"2(?:nd)?\.?|second|zweite\p{L}*|deuxième|2e"),
    ("3", r"3(?:rd)?\.?|third|dritte\p{L}*|troisième|3e"),
    ("4", r"4(?:th)?\.?|fourth|last|vierte\p{L}*|quatrième|4e"),
)
_PERIODS = (
    (late_regex(r"(?<![\p{L}\p{N}.,-])(?P<key>1[5-9]\d\d|20\d\d)(?![\p{L}\p{N}]|[.,]\p{N})"), ()),
    (
        late_regex(r"\b(?P<key>[\p{L}\p{N}.]+)\s+(?:quarter|quartals?|trimestre)\b|\bQ(?P<key>[1-4])\b", flags=regex.I),
        _ORDER,
    ),
    (
        late_regex(
            r"\b(?:per|a|an|each|every|pro|je|par|im|am|in\s+der)\s+(?P<key>\p{L}+)"
            r"|\b(?P<key>hourly|daily|weekly|monthly|yearly|annual(?:ly)?)\b|\b(?P<key>mensuel|annuel)(?:le)?s?\b"
            r"|\b(?P<key>stündlich|täglich|wöchentlich|monatlich|jährlich)(?:e[rnms]?)?\b",
            flags=regex.I,
        ),
        _UNITS_OF_TIME,
    ),
)
"""Years, quarters, and what something is counted or paid by, with the keys of what is named in several ways."""
_HAS_NUMBER = late_regex(
    r"\p{N}|\b(?:une?|eine?[nmr]?|one)\s+(?:jour|heure|semaine|mois|an|Tag|Stunde|Woche|Monat|Jahr|day|hour|week|month|year)\b"
    r"|\b(?:once|twice|two|three|four|five|six|seven|eight|nine|ten|(?:ein|zwei|drei|vier|fünf|sechs)(?:mal)?|sieben|acht"
    r"|neun|zehn|deux|trois|quatre|cinq|sept|huit|neuf|dix)\b",
    flags=regex.I,
)
_FINITE = late_regex(
    r"\b(?:is|are|was|were|has|have|had|will|ist|sind|war|waren|hat|haben|wird|werden|wurden?|est|sont|était|ont)\b",
    flags=regex.I,
)
_ASKS_TIME = late_regex(r"\bà\s+quelle\s+heure\b|\bum\s+wie\s?viel\s+uhr\b|\b(?:at|by)\s+what\s+time\b", flags=regex.I)
_TIME = late_regex(
    r"(?<![\p{N}.,:])\p{N}{1,2}(?:[:.]\p{N}{2})?\s*(?:Uhr(?:\s+\p{N}{2})?|[ap]\.?m\b\.?|heures?(?:\s+\p{N}{2})?|h(?:\s?\p{N}{2})?)"
    r"(?!\p{L}|\p{N})|(?<![\p{N}.,:])\p{N}{1,2}:\p{N}{2}(?![\p{N}:])|\b(?:midi|minuit|noon|midnight)\b"
)
_WORD = late_regex(r"\p{L}{3,}")
_NEGATED = late_regex(r"\b(?:not|non|nicht)[\s-]+(?P<word>\p{L}{4,})", flags=regex.I)
_PREFIXED = late_regex(
    r"\b(?:(?P<prefix>un|non-?)(?P<word>\p{L}{4,})|(?P<prefix>in|im|ir|il|dis)(?P<word>\p{L}{4,}(?:ed|ible|able|ent|ant|al|ive|ate|ct)))s?\b",
    flags=regex.I,
)
_NO_CONTRARY = frozenset({"unless", "under", "union", "unit", "until", "united", "unter", "unsere"})


def lacks_period(question: str, language: str, texts: Sequence[str]) -> bool:
    """Return whether a question for a number has one year, or one quarter, that no text of its answer has.

    >>> lacks_period("How many were sold in 2024?", "en", ["9 were sold."])
    True
    """
    kind = (asked_for(question) if language == ENGLISH else asked_in(question, language)).kind
    said = " ".join(texts)
    for pattern, names in _PERIODS[:2] if kind == "number" else ():
        asked = {key for _, key in _keys(pattern, names, question)}
        held = {key for _, key in _keys(pattern, names, said)} if names else {key for key in asked if key in said}
        if len(asked) == 1 and not asked & held:
            return True
    return False


def values_with(
    question: str, text: str, language: str, kind: str, cut: Callable[[str], Iterable[Value]], around: str = ""
) -> list[Value]:
    """Return the values of a sentence with the verb, period, rate and group of a question; all of another kind.

    Args:
        question: as it was asked.
        text: the sentence.
        language: of both.
        kind: of value that is asked for; only for a number or date is it looked at where it stands.
        cut: returns the values of a text.
        around: the headings of the sentence.
    """
    asks_time = _ASKS_TIME.search(question) is not None
    if kind not in {"number", "date"} and not asks_time:
        return list(cut(text))
    for part in () if _is_contrary(question, text) else _parts_asked(question, text, language):
        found = _times(part) if asks_time else list(cut(part))
        if found and kind == "number" and not asks_time:
            found = _of_limit(question, text, _of_period(question, text, found))
            return values_of_part(question, text, found, language, around)
        if found:
            return found
    return []


def _parts_asked(question: str, text: str, language: str) -> tuple[str, ...]:
    """Return the texts in which to look for a number or date, in order: those of its verb, then what no verb excludes.

    >>> _parts_asked("How many members left?", "In May 57 members joined and 41 left.", "en")
    ('41 left.',)
    >>> _parts_asked("How many members died?", "57 members joined, 41 left.", "en"), _parts_asked("Who?", "Ann.", "en")
    ((), ('Ann.',))
    """
    spans = _clauses(text)
    said = [text[start:end] for start, end in spans]
    if asks_kept(question, language) and (ends := [one for one in said if says_end(one, language)]):
        return tuple(ends)
    verb = _verb_asked(question, language)
    if not verb:
        finite = _ASKS_FINITE[language].search(question.rstrip(" ?.!")) if language in _ASKS_FINITE else None
        if finite is None:
            return (text,)
        own = [one for one in said if _has_verb(finite["verb"], one, language)]
        left = [one for one in said if one in own or not _is_opposed(finite["verb"], one, language)]
        return (*own, *([text] if left == said else left))
    has = [_has_verb(verb, clause, language) for clause in said]
    rest = [one for one, is_asked in zip(said, has, strict=True) if is_asked or not _has_another(one, language)]
    if any(has) and len(rest) == len(said) and all(has):
        return (text,)
    own = [
        _counting(text[spans[at][0] : _end(at, spans, said, language)], language) for at, one in enumerate(has) if one
    ]
    if len(rest) == len(said):
        return (*own, text)
    left = [clause for clause, is_asked in zip(said, has, strict=True) if clause in rest and not is_asked]
    return (*own, *(_plain(clause) for clause in left if clause.strip(" .")))


def _end(at: int, spans: Sequence[tuple[int, int]], said: Sequence[str], language: str) -> int:
    """Return where a clause ends, with those behind it that share its verb: "8 is paid for lunch, 9 for dinner"."""
    end = spans[at][1]
    for (_, stop), clause in zip(spans[at + 1 :], said[at + 1 :], strict=True):
        if not _HAS_NUMBER.search(clause) or _SAYS_VERB[language].search(clause) or _FINITE.search(clause):
            break
        end = stop
    return end


def _has_another(clause: str, language: str) -> bool:
    """Return whether a clause has a participle that says something."""
    return any(not _SAYS_LITTLE.fullmatch(found["verb"]) for found in _SAYS_VERB[language].finditer(clause))


def _counting(clause: str, language: str) -> str:
    """Return a clause without the participle behind a number, which looks like what it counts: "85 achetés"."""
    return regex.sub(r"(?<=\p{N})\s+\p{L}+ée?s?\b", " ", clause) if language == "fr" else clause


def _plain(clause: str) -> str:
    return clause.strip(" ,;:")


def _clauses(text: str) -> list[tuple[int, int]]:
    """Return where the clauses of a text begin and end."""
    ranges = [match.span() for match in _RANGE.finditer(text)]
    ends = [one.span() for one in _CLAUSE_END.finditer(text) if not any(at < one.start() < end for at, end in ranges)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]
    found = []
    for start, stop in zip(starts, stops, strict=True):
        lead = len(text[start:stop]) - len(text[start:stop].lstrip())
        if text[start:stop].strip():
            found.append((start + lead, stop))
    return found


def _verb_asked(question: str, language: str) -> str:
    """Return the participle of a question, of which its value is; "" for none."""
    plain = " ".join(question.split()).rstrip(" ?.!")
    if language not in _ASKS_VERB or (language == "en" and _ADJECTIVE_ASKED.match(plain)):
        return ""
    found = _ASKS_VERB[language].search(plain)
    return str(found["verb"]) if found else ""


def _has_verb(verb: str, clause: str, language: str) -> bool:
    """Return whether a clause has a verb, or one that says the same."""
    alike = {verb}.union(
        *(words for group in _ALIKE[language].split("|") if _verb_in(verb, words := group.split(), language))
    )
    return not set(terms(clause, language)).isdisjoint(terms(" ".join(alike), language))


def _is_opposed(verb: str, clause: str, language: str) -> bool:
    """Return whether a clause is of an end where a verb is of a beginning, or the other way round."""
    beginning, end = (words.split() for words in _OPPOSED[language].split("|"))
    for one, other in ((beginning, end), (end, beginning)):
        if _verb_in(verb, one, language):
            return any(_verb_in(word, other, language) for word in _WORD.findall(clause))
    return False


def _verb_in(verb: str, words: Sequence[str], language: str) -> bool:
    """Return whether some words have a form of a verb."""
    return not set(terms(verb, language)).isdisjoint(terms(" ".join(words), language))


def _of_period(question: str, text: str, values: Sequence[Value]) -> list[Value]:
    """Return the values of a sentence that stand with the year, quarter and rate of a question, where it has one.

    >>> values = [Value("number", "30 EUR"), Value("number", "35 EUR")]
    >>> [one.text for one in _of_period("How much in 2025?", "It was 30 EUR in 2024, and 35 EUR in 2025.", values)]
    ['35 EUR']
    """
    kept = list(values)
    for pattern, names in _PERIODS:
        asked = {key for _, key in _keys(pattern, names, question)}
        said = list(_keys(pattern, names, text))
        if len(asked) != 1 or not said or (not names and asks_past(question)):
            continue
        if pattern is _PERIODS[0][0]:  # "2024 s'élèvent" is no value
            kept = [one for one in kept if not regex.match(rf"{next(iter(asked))}\b", one.text)]
        of_value = [(one, {_key_at(text, at, said) for at in _spots(one.text, text)}) for one in kept]
        kept = [one for one, keys in of_value if not keys or asked & keys]
    return kept


def _keys(pattern: regex.Pattern[str], names: Sequence[tuple[str, str]], text: str) -> Iterator[tuple[int, str]]:
    """Yield the periods that a text names, each with its place."""
    for match in pattern.finditer(text):
        word = match["key"]
        key = next((key for key, forms in names if regex.fullmatch(forms, word, flags=regex.I)), "" if names else word)
        if key:
            yield match.start(), key


def _spots(value: str, text: str) -> list[int]:
    return [found.start() for found in regex.finditer(rf"(?<![\p{{L}}\p{{N}}]){regex.escape(value)}", text)]


def _key_at(text: str, at: int, said: Sequence[tuple[int, str]]) -> str:
    """Return the period of what stands at a place: of its clause, else of the clause before it, else of that behind."""
    start, end = next((one for one in _clauses(text) if one[0] <= at < one[1]), (0, len(text)))
    own = [(place, key) for place, key in said if start <= place < end]
    before, behind = [key for place, key in own if place <= at], [key for place, key in own if place > at]
    if own:
        # "from 5 in 2023 to 6 in 2024", but "in 2023 5, in 2024 6"
        leads = any(character.isdigit() for character in text[start : own[0][0]])
        return (behind or before)[0] if leads or not before else before[-1]
    earlier = [key for place, key in said if place < start]
    return earlier[-1] if earlier else said[0][1]


def _of_limit(question: str, text: str, values: Sequence[Value]) -> list[Value]:
    """Return the values in the clauses with the limit that a question asks for: its default, maximum or minimum.

    >>> values = [Value("number", "3.5 bar"), Value("number", "6 bar")]
    >>> said = "The default is 3.5 bar; the maximum is 6 bar."
    >>> [one.text for one in _of_limit("What is the default?", said, values)]
    ['3.5 bar']
    """
    limits = set(terms(question)) & _LIMITS
    if len(values) < 2 or not limits:
        return list(values)
    left = []
    for start, end in _clauses(text):
        found = set(terms(text[start:end])) & _LIMITS
        here = [one for one in values if any(start <= at < end for at in _spots(one.text, text))]
        left += here if limits & found or not found else []
    return [one for one in values if one in left]


def _is_contrary(question: str, text: str) -> bool:
    """Return whether a text has a word of the question only with a negating prefix or negation, or the question has.

    >>> _is_contrary("May used goods be returned?", "Unused goods may be."), _is_contrary("Unused?", "Used ones too.")
    (True, True)
    """
    return any(_negates(one, other) for one, other in ((text, question), (question, text)))


def _negates(text: str, plain: str) -> bool:
    """Return whether a text has a negated word that another has as it is, and not the word itself."""
    negated = {
        match["word"].casefold()
        for pattern in (_PREFIXED, _NEGATED)
        for match in pattern.finditer(text)
        if match[0].casefold() not in _NO_CONTRARY
    }
    bare = {word.casefold() for word in _WORD.findall(_NEGATED.sub(" ", text))}
    said = {word.casefold() for word in _WORD.findall(plain)}
    return any(word in said and word not in bare for word in negated)


def _times(text: str) -> list[Value]:
    """Return the time of day that a text has; [] where it has several.

    >>> _times("coupée à 18 h 15")[0].text, _times("von 8 Uhr bis 20:00 Uhr")
    ('18 h 15', [])
    """
    found = dict.fromkeys(match[0].strip() for match in _TIME.finditer(text))
    return [Value("text", one) for one in found] if len(found) == 1 else []
