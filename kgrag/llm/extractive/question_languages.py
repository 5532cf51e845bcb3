"""How German and French ask and answer: question words, what an answer of each kind has, yes and no, what a term means.

English has its own modules (``question_types``, ``sentence_ranking``, ``value_vetoes``), with more of each. Of Spanish,
Italian, Portuguese and Dutch only stop words and stems are known (``kgrag.languages``): their questions are answered by
the words that they share with a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_types import Asked, Kind, asked_for

__all__ = ["QuestionLanguage", "asked_in", "language_to_answer_in", "question_language", "value_lacking_in"]


@dataclass(frozen=True)
class QuestionLanguage:
    """How questions of a language are read, and how they are answered.

    Args:
        closed: begins a question that yes or no answers.
        kinds: patterns of questions and the kind of value that they ask for; the first that fits counts.
        values: what a text has that answers a question of a kind.
        cues: words of a question, and those with which a text begins to answer it.
        asks_what: asks what a ``term`` is.
        says_what: says it, of a ``subject``.
        pronoun: begins a sentence that the one before it is needed for.
        negation: denies what a sentence says.
        yes: the word.
        no: the word.
        unknown: says that there is no answer.
        names: what names look like in a question.
    """

    closed: regex.Pattern[str]
    kinds: Sequence[tuple[Kind, regex.Pattern[str]]]
    values: Mapping[str, regex.Pattern[str]]
    cues: Sequence[tuple[regex.Pattern[str], regex.Pattern[str]]]
    asks_what: regex.Pattern[str]
    says_what: regex.Pattern[str]
    pronoun: regex.Pattern[str]
    negation: regex.Pattern[str]
    yes: str
    no: str
    unknown: str
    names: regex.Pattern[str]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


_NAMES = late_regex(r"(?<!^)(?<![.!?:]\s)\b(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}'’-]*")
_NO_NOUNS = late_regex(r"\b(?:\p{Lu}[\p{L}\p{N}]*[\p{Lu}\p{N}][\p{L}\p{N}-]*|\p{N}[\p{L}\p{N}-]*)")
"""Words that are no common nouns of German, which begins all of them with a capital: GIMP, LilyPond, Python3."""
_PERSON = late_regex(r"\p{Lu}[\p{L}'’.-]+\s+(?:\p{Ll}{1,3}\s+)?\p{Lu}")
_VERSION = _caseless(r"\p{N}+\.\p{N}|\bversions?\s+\p{N}")

_GERMAN_MONTHS = "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
_GERMAN_NUMBERS = (
    "(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)(?:mal)?|einmal|elf|zwölf|(?:zwan|vier|fünf|sech|sieb|acht|neun)zig"
    "|dreißig|hundert|tausend|million(?:en)?|unbegrenzt"
)
_GERMAN = QuestionLanguage(
    closed=_caseless(
        r"(?:ist|sind|war|waren|wird|werden|wurden?|hat|haben|hatten?|kann|können|konnten?|darf|dürfen|muss|muß|müssen"
        r"|soll|sollen|sollten?|lässt|läßt|lassen|gibt\s+es|braucht|brauche|reicht|geht|gehört|gilt|funktioniert"
        r"|unterstützt|enthält|\p{L}{3,}(?:t|en|e)\s+(?:man|ich|es|sich|der|die|das|ein|eine))\b"
    ),
    kinds=(
        (
            "number",
            _caseless(
                r"\bwie\s?viele?[nr]?\b|\bwie\s+(?:lange?|groß|gross|hoch|alt|oft|breit|weit|tief|schwer|teuer)\b"
                r"|^was\s+kostet|^welche[nrs]?\s+(?:preis|gewicht|länge|breite|höhe|tiefe)\b"
            ),
        ),
        ("version", _caseless(r"\bwelche[mnrs]?\s+(?:\p{L}+[- ]){0,3}?(?:version|ausgabe|veröffentlichung)\b")),
        ("date", _caseless(r"(?:^|\b(?:seit|bis|ab)\s)wann\b|\bwelche[mns]?\s+(?:jahr|monat|tag|datum)\b")),
        ("person", _caseless(r"^(?:von\s+)?(?:wer|wem|wen|wessen)\b")),
        (
            "number",
            _caseless(r"\b(?:anzahl|preis|zinssatz|prozentsatz|port(?:nummer)?|höchstens|mindestens|maximal)\b"),
        ),
    ),
    values={
        "number": _caseless(rf"\p{{N}}|\b(?:{_GERMAN_NUMBERS})\b"),
        "date": _caseless(rf"\b(?:1\d{{3}}|20\d{{2}})\b|\b(?:{_GERMAN_MONTHS})\b"),
        "version": _VERSION,
        "person": _PERSON,
    },
    cues=(
        (
            _caseless(r"\b(?:standard|vorgabe|voreinstellung|voreingestellt|standardmäßig|ohne)\b"),
            _caseless(r"\b(?:standard(?:mäßig)?|vorgabe|voreinstellung|voreingestellt|vorgegeben)\b"),
        ),
        (_caseless(r"\b(?:dürfen|darf|erlaubt|verboten)\b"), _caseless(r"\b(?:darf|dürfen|muss|müssen|erlaubt)\b")),
        (
            _caseless(r"^(?:was\s+(?:ist|sind|bedeutet|heißt)|wofür\s+steht)\b"),
            _caseless(
                r"\b(?:bedeutet|bezeichnet|steht\s+für|heißt|versteht\s+man)\b|\b(?:ist|sind)\s+(?:ein|eine|der|die|das)\b"
            ),
        ),
        (
            _caseless(r"^wie\b.*\b(?:man|ich)\b"),
            _caseless(r"^(?:um\b|verwenden|benutzen|klicken|drücken|wählen|geben)|\bum\s.*\bzu\s"),
        ),
        (_caseless(r"\bunterschied"), _caseless(r"\bunterschied|\bim\s+gegensatz\b|\bwährend\b")),
        (_caseless(r"\b(?:version|ausgabe)\b"), _caseless(r"\b(?:seit|ab|erschien|eingeführt|neu\s+in)\b")),
    ),
    asks_what=_caseless(
        r"was\s+(?:ist|sind|war|waren)\s+(?:(?:ein|eine|einen|der|die|das)\s+)?(?P<term>.+?)"
        r"(?:\s+(?:in|im|bei|beim|für|von|vom|auf|unter)\s.*)?$|(?:was\s+(?:bedeutet|heißt)|wofür\s+steht)\s+(?P<term>.+)"
    ),
    says_what=_caseless(
        r"(?P<subject>[^.;:]{1,90}?)\s+(?:ist|sind|war|waren|bedeutet|bedeuten|bezeichnet|bezeichnen|heißt|steht\s+für)\s"
    ),
    pronoun=_caseless(
        r"(?:er|sie|es|dies|diese[mnrs]?|dadurch|damit|dabei|hierbei|dazu|dort|danach|anschließend|nach\s+dieser)\b"
    ),
    negation=_caseless(r"\b(?:nicht|kein\p{L}*|nie|niemals|weder|ohne|unmöglich|nirgends)\b"),
    yes="ja",
    no="nein",
    unknown="Die gefundenen Belege enthalten keine Antwort.",
    names=_NO_NOUNS,
)

_FRENCH_MONTHS = "janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
_FRENCH_NUMBERS = "deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|cent|mille|millions?|illimitée?s?"
_FRENCH_ASKS = (
    r"(?:(?:à|de|d['’]|depuis|jusqu['’]à?|en|dans|avec|pour|par|sur|sous|vers|selon|à\s+partir\s+de)\s*)?"
    r"(?:qui|quoi|quand|où|comment|combien|pourquoi|quel(?:le)?s?|lequel|laquelle|que|qu['’]\p{L}+)\b"
)
_FRENCH = QuestionLanguage(
    closed=_caseless(
        rf"(?!{_FRENCH_ASKS})(?!.*\b(?:combien|quoi)\b)"
        r"(?:est-ce\s+qu|.*\p{L}-(?:t-)?(?:ils?|elles?|on|je|nous|vous|ce)\b)"
    ),
    kinds=(
        (
            "number",
            _caseless(
                r"\bcombien\b|\bquelle\s+(?:est\s+la\s+)?(?:heure|taille|longueur|hauteur|largeur|profondeur|durée)\b"
                r"|\bquel\s+(?:est\s+le\s+)?(?:nombre|port|taux|prix|poids|âge|tarif)\b"
                r"|\bquel(?:le)?\s+(?:est|était)\s+(?:l[ea]\s+|l['’])(?:montant|loyer|indemnité|prime|cotisation|caution|surface"
                r"|superficie|capacité|vitesse|température|budget|coût|salaire|pénalité)\b"
            ),
        ),
        ("version", _caseless(r"\bquelles?\s+versions?\b")),
        (
            "date",
            _caseless(r"^(?:depuis\s+|jusqu['’]à\s+)?quand\b|\bquelle\s+(?:année|date)\b|\bquel\s+(?:jour|mois)\b"),
        ),
        ("person", _caseless(r"^(?:à\s+|de\s+|par\s+)?qui\b")),
    ),
    values={
        "number": _caseless(rf"\p{{N}}|\b(?:{_FRENCH_NUMBERS})\b"),
        "date": _caseless(rf"\b(?:1\d{{3}}|20\d{{2}})\b|\b(?:{_FRENCH_MONTHS})\b"),
        "version": _VERSION,
        "person": _PERSON,
    },
    cues=(
        (_caseless(r"\bdéfaut\b|\bsi\s+je\s+ne\b"), _caseless(r"\bpar\s+défaut\b")),
        (
            _caseless(r"\b(?:permis|interdit|autorisée?|peut-on|doit-on)\b"),
            _caseless(r"\b(?:doit|doivent|interdit|autorisée?)\b"),
        ),
        (
            _caseless(r"^qu['’]est[ -]ce\s+qu|c['’]est\s+quoi|\bque?\s+signifie\b"),
            _caseless(r"\b(?:désigne|signifie|représente|appelle)\b|\b(?:est|sont)\s+(?:un|une|le|la|des|les)\b"),
        ),
        (_caseless(r"^comment\b"), _caseless(r"^(?:pour|utilisez|cliquez|appuyez|choisissez|maintenez|désactivez)\b")),
        (_caseless(r"\bdifférence"), _caseless(r"\bdifférence|\bcontrairement\b|\btandis\s+que\b|\balors\s+que\b")),
        (_caseless(r"\bversion\b"), _caseless(r"\b(?:depuis|à\s+partir|introduit|apparu|nouveau)\b")),
    ),
    asks_what=_caseless(
        r"qu['’]est[ -]ce\s+qu(?:e|['’])\s*(?:un\s+|une\s+|le\s+|la\s+|les\s+|l['’])?(?P<term>.+?)"
        r"(?:\s+(?:dans|pour|sous)\s.*)?$"
        r"|(?:un\s+|une\s+|le\s+|la\s+|l['’])?(?P<term>[^,]+),\s+c['’]est\s+quoi.*|que\s+signifie\s+(?P<term>.+)"
    ),
    says_what=_caseless(
        r"(?P<subject>[^.;:]{1,90}?)\s+(?:est|sont|était|étaient|désigne|désignent|signifie|représente)\s"
    ),
    pronoun=_caseless(
        r"(?:il|elle|ils|elles|ce|cela|ceci|ces|cette|celui|celle|ceux|ensuite|après\s+cela|par\s+la\s+suite)\b"
    ),
    negation=_caseless(
        r"\b(?:ne\s|n['’])(?:\p{L}+\s){1,3}?(?:pas|jamais|plus|aucune?|rien|ni)\b|\b(?:aucune?|sans|impossible)\b"
    ),
    yes="oui",
    no="non",
    unknown="Les passages trouvés ne contiennent pas de réponse.",
    names=_NAMES,
)
_LANGUAGES = MappingProxyType({"de": _GERMAN, "fr": _FRENCH})


_PAST = _caseless(
    r"\b(?:wurden?|war|waren|hatten?|fand(?:en)?|hat|ist\s.*\bge\p{L}+t|a-t-|ont-|a\s+été|fut|était|eu\s+lieu)"
)
_RECURS = MappingProxyType(
    {
        "de": _caseless(
            r"\b(?:wenn|falls|sofern|sobald)\b|\b(?:alle\s+(?:\p{N}|zwei|drei|vier|fünf|sechs|acht|zehn|zwölf)|jede[nrsm]?\b|(?:monat|jähr|halbjähr|vierteljähr"
            r"|wöchent|täg)lich|(?:\p{N}{1,2}\.|erste[nrs]?|letzte[nrs]?)\s+(?:Werktag|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag"
            r"|Mittwoch)|(?:nach|vor|innerhalb|binnen)\s+[^.,;]*\b(?:Tage?n?|Wochen?|Monate?n?|Jahre?n?|Stunden?)\b)"
        ),
        "fr": _caseless(
            r"\b(?:si|lorsqu(?:e|['’])|dès\s+qu(?:e|['’])|en\s+cas\s+d)|\b(?:(?:tous|toutes)\s+les\b|chaque\b|fois\s+par\b|(?:premier|dernier|deuxième)\s+(?:jour|lundi|mardi|mercredi|jeudi"
            r"|vendredi|samedi|dimanche)|(?:après|avant|au\s+bout|sous|dans\s+les)\s+[^.,;]*\b(?:jours?|semaines?|mois|ans?|années?"
            r"|heures?)\b)"
        ),
    }
)
"""What answers when something is due or happens again and again, or under which condition, without a date."""


def question_language(language: str) -> QuestionLanguage | None:
    """Return how questions of a language are read; None for English, and for one of which too little is known."""
    return _LANGUAGES.get(language)


def language_to_answer_in(question: str, texts: Iterable[str]) -> str:
    """Return the language in which a question is compared with evidence, as the code of ``kgrag.languages``.

    That is the question's where any of the texts is in it, or does not tell, else English; where the question does not
    tell, it is the language of the first text.

    >>> language_to_answer_in("Was ist dpkg?", ["dpkg ist ein Programm, das Pakete installiert."])
    'de'
    """
    asked = language_of(question, "")
    languages = [language_of(text, asked or ENGLISH) for text in texts]
    if not asked:
        return languages[0] if languages else ENGLISH
    return asked if asked in languages else ENGLISH


def asked_in(question: str, language: str) -> Asked:
    """Return what a question of a language asks for; "text" where its words do not tell.

    >>> [asked_in(question, "de").kind for question in ("Wann erschien GIMP 2?", "Ist es frei?", "Wie geht das?")]
    ['date', 'boolean', 'text']
    """
    if language == ENGLISH:
        return asked_for(question)
    plain = " ".join(question.split()).rstrip(" ?.!")
    rules = question_language(language)
    if rules is None:
        return Asked("text", (), plain)
    if rules.closed.match(plain):
        return Asked("boolean", (), plain)
    return Asked(next((kind for kind, pattern in rules.kinds if pattern.search(plain)), "text"), (), plain)


def value_lacking_in(question: str, text: str, language: str, known: Iterable[str] = ()) -> str:
    """Return the kind of value that a question asks for and a text lacks; "" where it has one, or nothing tells.

    Args:
        question: as it was asked.
        text: what may answer it.
        language: of both.
        known: lower-case words of the question, which are no value.
    """
    rules, kind = question_language(language), asked_in(question, language).kind
    pattern = rules.values.get(kind) if rules else None
    if pattern is None:
        return ""
    if kind == "date" and _RECURS[language].search(text) and not _PAST.search(question):
        return ""
    words = set(known)
    return "" if any(found[0].lower() not in words for found in pattern.finditer(text)) else kind
