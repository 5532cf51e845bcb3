"""Whether a sentence answers a question with yes or no: negation, prohibition, exceptions, and figures of a period.

A *yes* is earned: the sentence has all that the question says, forbids nothing that is asked to be allowed, and has a
figure in one clause with the period that it is asked for. What stands behind "except" has the contrary answer. None is
returned where no rule decides.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import regex

from kgrag.answering.asked_clauses import asked_clause
from kgrag.answering.denied_whole import denies_all
from kgrag.answering.narrowed_groups import is_narrowed
from kgrag.answering.opposite_words import in_words_of, outcome, times_allowed
from kgrag.answering.unstated_matters import is_other_duty, is_unstated
from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.attendance_lists import attended, is_attendance_list
from kgrag.llm.extractive.designations import in_asked_marks, other_designation
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.rule_words import rule_terms
from kgrag.text.sentences import word_set

__all__ = ["stated_truth"]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


@dataclass(frozen=True)
class _Rules:
    """How a language denies, forbids, allows and excepts, as patterns.

    Args:
        negation: denies what a sentence says.
        denial: the words of it that turn "allowed" into "forbidden" and back.
        bans: forbid something; the first is the plain word.
        permits: allow something; the first is the plain word.
        modals: verbs of what is allowed or possible.
        exceptions: begin what is excepted.
        verbs: others that end it.
    """

    negation: regex.Pattern[str]
    denial: str
    bans: str
    permits: str
    modals: str
    exceptions: str
    verbs: str

    @cached_property
    def forbids(self) -> regex.Pattern[str]:
        return _caseless(rf"\b(?:{self.bans})\b")

    @cached_property
    def allows(self) -> regex.Pattern[str]:
        return _caseless(rf"\b(?:{self.permits})\b")

    @cached_property
    def may(self) -> regex.Pattern[str]:
        return _caseless(rf"\b(?:{self.modals})\b")

    @cached_property
    def excepts(self) -> regex.Pattern[str]:
        stop = rf"(?!\b(?:{self.verbs}|{self.modals})\b)"
        return _caseless(rf"\b(?:{self.exceptions})\s*(?P<behind>(?:{stop}[^,;.\p{{N}}])*{_LISTED}|(?:{stop}[^,;.])*)")

    def denies(self, text: str) -> bool:
        """Return whether a text says that something isn't so or may not be."""
        plain = self.plain(text)
        return (self.negation.search(plain) is None) == (self.forbids.search(plain) is not None)

    def plain(self, text: str) -> str:
        """Return a text in which one word forbids ("not permitted", "No smoking") or allows ("not forbidden")."""
        denied = rf"(?:{self.denial})\W+(?:\p{{L}}+\W+){{0,2}}?"
        banned, permitted = (words.partition("|")[0] for words in (self.bans, self.permits))
        text = _caseless(rf"{denied}(?:{self.bans})\b").sub(f" {permitted}", text)
        text = _caseless(rf"{denied}(?:{self.permits})\b").sub(f" {banned}", text)
        return str(_NO_DOING.sub(f"{banned} ", text))


_LISTED = r"(?:,\s*[^,;.\p{N}]{1,40})*,?\s(?:and|or|und|oder|sowie|et|ou)\s[^,;.\p{N}]*(?=[;.]|$)"
"""Further things that are excepted: "trainees, interns and guests"."""
_RULES = MappingProxyType(
    {
        ENGLISH: _Rules(
            _caseless(
                r"\b(?:not|no(?![-‐])|nobody|never|cannot|without|neither|nor|unable|refuses?|fail(?:s|ed)? to"
                r"|lack(?:s|ed)?|\w+n['’]t)\b"
            ),
            denial=r"\bnot|\bno\s+longer|\bnever|n['’]t",
            bans="prohibited|prohibits?|prohibiting|prohibition|forbids?|forbidden|forbade|bans?|banned|barred|disallows?"
            "|disallowed|deny|denies|denied|illegal|unlawful|impermissible|outlawed"
            r"|excluded|ruled\s+out|out\s+of\s+the\s+question",
            permits="allowed|allows?|permits?|permitted|permissible|authorised|authorized|lawful|legal",
            modals="may|might|can|could",
            exceptions=r"except(?:ing)?(?:\s+for)?|excluding|with\s+the\s+exception\s+of|but\s+not|other\s+than"
            r"|apart\s+from|unless",
            verbs="is|are|was|were|has|have|had|must|will|shall|should|do|does|did|cannot",
        ),
        "de": _Rules(
            _caseless(r"\b(?:nicht|kein\p{L}*|nie|niemals|weder|ohne|unmöglich|nirgends|niemand\p{L}*)\b"),
            denial=r"\bnicht|\bnie(?:mals)?",
            bans=r"verboten|verbotene[nrms]?|verbietet|verbieten|verbot|untersagt|untersagen|unzulässig|unstatthaft"
            r"|ausgeschlossen|\p{L}+verbot",
            permits="erlaubt|gestattet|zulässig|zugelassen|genehmigt",
            modals="darf|dürfen|durfte|kann|können|könnte",
            exceptions=r"außer(?!\s+(?:Betrieb|Kraft|Haus|Dienst|Acht|Sicht)\b)|mit\s+Ausnahme(?:\s+von)?|ausgenommen"
            r"|bis\s+auf|(?:aber|jedoch)\s+nicht|es\s+sei\s+denn",
            verbs="ist|sind|war|waren|hat|haben|wird|werden|muss|müssen|soll|sollen",
        ),
        "fr": _Rules(
            _caseless(
                r"\b(?:ne\s|n['’])(?:[\p{L}'’]+\s){1,3}?(?:pas|jamais|plus|aucune?|rien|ni)\b|\b(?:aucune?|sans|impossible|ni)\b"
                r"|\A\W*pas\s"
            ),
            denial=r"\bpas|\bplus|\bjamais",
            bans="interdit|interdite?s?|interdisent|interdire|interdiction|défendue?s?|défend|proscrite?s?|proscrire"
            r"|prohibée?s?|illégale?s?|exclue?s?|hors\s+de\s+question",
            permits="permis|permise?s?|permet|permettent|autorisée?s?|autorise|autorisent|licite",
            modals="peut|peuvent|puis-je|peux|pouvons|pouvez|pourra|pourrait",
            exceptions=r"sauf|exceptée?s?|hormis|à\s+l['’]exception\s+d(?:e|es|u)\b|à\s+l['’]exception\s+d['’]|mais\s+pas"
            r"|à\s+moins\s+que",
            verbs="est|sont|était|étaient|a|ont|doit|doivent|sera|seront",
        ),
    }
)
_ALL = _caseless(r"\b(?:all|every(?:one|body)?|alle[nrs]?|jede[rmns]?|tous|toute?s?)\b")
_ONLY = _caseless(
    r"\b(?:only|solely|exclusively|nur|ausschließlich|lediglich|seulement|uniquement|exclusivement)\b(?P<behind>[^,;.]*)"
    r"|\b(?:ne\s|n['’])[^,;.]*?\bqu(?:e\b|['’])(?P<behind>[^,;.]*)"
)
_NO_DOING = _caseless(r"\A\s*no\s+(?=\p{L}+ing\b)")
_CONDITION = _caseless(
    r"(?:\b(?:if|when(?:ever)?|unless|until|although|though|while|because|since)\b[^,;.?]*"
    r"|\b(?:that|which|who)\s+(?:is|are|was|were|does|do|did|has|have|had|can|could|may|will)\s+not\b[^,;.?]*)[,;]?"
)
"""A clause beside the one that states something; whether it is negated doesn't tell."""
_CLAUSES = _caseless(r";|,?\s+\b(?:but|whereas|aber|jedoch|sondern|mais|tandis\s+que|alors\s+que)\b")
_OUT_OF = late_regex(
    r"\bout\s+of\s+(?:service|order|use|stock|date|print)\b|\baußer\s+(?:betrieb|kraft)\b|\bhors\s+service\b"
)
"""The contrary of "in service", with the same terms."""
_WORKS = _caseless(
    r"\b(?:working|works?|running|operational|functioning|usable|be\s+used|in\s+(?:service|use|operation|order|stock|print)"
    r"|available|benutzbar|nutzbar|verfügbar|funktioniert|in\s+(?:Betrieb|Kraft)|benutzt\s+werden|fonctionne(?:nt)?"
    r"|en\s+(?:service|marche)|utilisables?|utilisée?s?)\b(?:-t)?(?:-(?:ils?|elles?|on)\b)?"
)
_OTHER_SUBJECT = _caseless(r"\s*(?:(?:the|an?|der|die|das|eine?|la|les?|une?)\s+|l['’])\p{L}{3,}")
"""A subject of its own, where only the heading is about what is asked: "Use and subletting: The hall may be used …"."""
_SAYS_LITTLE = word_set("possibl use allow work support exist automat happen alway need")
_CONTRARY = ("a", "un", "non", "in", "im", "dis")
_HYPHENATED = late_regex(rf"(?<=\b(?:{'|'.join(_CONTRARY)}))-(?=\p{{L}})")
_MIN_BARE = 6  # letters of a word before which such a syllable makes its contrary: "synchronous", not "sleep"
_FIGURE = late_regex(r"\p{N}+(?:[.,:]\p{N}+)*")
_YEAR = late_regex(r"1[5-9]\d\d|20\d\d")
_PERIOD = late_regex(
    r"(?<!^)\b(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes"
    r"|Thurs|Fri|Satur|Sun)day|Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Montag|Dienstag|Mittwoch"
    r"|Donnerstag|Freitag|Samstag|Sonnabend|Sonntag|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre"
    r"|novembre|décembre|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|first|second|third|fourth|last|this|next"
    r"|erste[nrs]?|zweite[nrs]?|dritte[nrs]?|vierte[nrs]?|premi(?:er|ère)|deuxième|troisième|quatrième|Q[1-4])\b"
)
_OF_A_PERIOD = _caseless(
    r"[;,](?!\p{N})|\b(?:and|but|from|to|compared|against|versus|after|before|instead|und|aber|gegenüber|nach|vor|von|auf"
    r"|statt|et|mais|contre|après|avant|à|puis)\b"
)


def stated_truth(question: str, sentence: str, context: str = "", language: str = ENGLISH) -> bool | None:
    """Return whether what a question asks is so by a sentence; None where that isn't decided.

    Args:
        question: one that yes or no answers.
        sentence: what answers it.
        context: label and headings of the sentence, which name what it is about.
        language: of both; one of English, German and French.

    >>> stated_truth("Is smoking allowed here?", "Smoking is prohibited here.")
    False
    """
    rules = _RULES.get(language)
    if rules is None or is_attendance_list(sentence):
        return attended(question, sentence) if rules else None
    if {*_OUT_OF.findall(sentence.lower())} != {*_OUT_OF.findall(question.lower())}:
        return False if _is_out_of_service(question, sentence, context, language) else None
    asked = set(terms(question, language)) - rule_terms(language)
    if proposal := outcome(question, sentence, language):
        stated = set(terms(f"{proposal.matter} {context} {sentence}", language))
        return (
            proposal.truth
            if asked <= stated | set(terms(in_words_of(question, sentence, language), language))
            else None
        )
    if _leaves_open(question, asked, sentence, language):
        return None
    if other_designation(question, sentence, context, language):
        return _of_another(question, sentence, context, language)
    agrees = times_allowed(question, sentence, language)
    return _of_exceptions(question, in_words_of(question, sentence, language), context, language) if agrees else agrees


def _leaves_open(question: str, asked: Collection[str], sentence: str, language: str) -> bool:
    """Return whether a sentence is of a plan, another time, a smaller group, or a subject that nothing asks about."""
    if is_unstated(question, asked, sentence, language) or is_narrowed(question, sentence, language):
        return True
    said = terms(in_words_of(question, sentence, language), language)
    return _OTHER_SUBJECT.match(sentence) is not None and set(asked).isdisjoint(said)


def _of_another(question: str, sentence: str, context: str, language: str) -> bool | None:
    """Return False for building B where a sentence says something of building A only; None where others may be so."""
    as_asked = in_asked_marks(question, sentence, language)
    if as_asked == sentence or not _ONLY.search(sentence):
        return None
    return False if stated_truth(question, as_asked, context, language) else None


def _of_exceptions(question: str, sentence: str, context: str, language: str) -> bool | None:
    """Return whether what is asked is so by a sentence, in which what is excepted has the contrary answer."""
    rules = _RULES[language]
    asked = set(terms(question, language)) - rule_terms(language)
    excepted = None if rules.excepts.search(question) else rules.excepts.search(sentence)
    if excepted and not excepted["behind"].strip():  # "in den Räumen jedoch nicht"
        excepted = None
    if excepted is None:
        return _of_asked_clause(question, sentence, asked, context, language)
    main = f"{sentence[: excepted.start()]} {sentence[excepted.end() :]}"
    inside, outside = (set(terms(text, language)) for text in (excepted["behind"], main))
    behind = (asked & inside) - outside
    if not inside or (not behind and _ALL.search(question)):
        return None
    if not behind:
        return _of_clauses(question, main, asked, context, language)
    stated = inside | outside | set(terms(context, language)) | (_SAYS_LITTLE if language == ENGLISH else set())
    if not _names(excepted["behind"], language) & behind or not asked <= stated:
        return None
    truth = _of_clauses(question, main, asked - behind, context, language)
    return None if truth is None else not truth


def _is_out_of_service(question: str, sentence: str, context: str, language: str) -> bool:
    """Return whether a question asks whether something works of which a sentence says that it is out of service."""
    asks = _WORKS.search(question)
    if (
        asks is None
        or not _OUT_OF.search(sentence.lower())
        or _RULES[language].negation.search(f"{question} {sentence}")
    ):
        return False
    asked = set(terms(f"{question[: asks.start()]} {question[asks.end() :]}", language))
    return asked <= set(terms(f"{sentence} {context}", language))


def _names(excepted: str, language: str) -> set[str]:
    """Return the first term of each thing that is excepted."""
    items = regex.split(r",|\b(?:and|or|und|oder|sowie|et|ou)\b", excepted)
    return {found[0] for item in items if (found := terms(item, language))}


def _of_asked_clause(question: str, sentence: str, asked: set[str], context: str, language: str) -> bool | None:
    """Return whether what is asked is so by the clause of a sentence that is about it."""
    rules = _RULES[language]
    clause = asked_clause(asked, sentence, context, language, rules.denies, f"{rules.bans}|{rules.permits}")
    if clause is None:
        return None
    if not clause.remnant:
        if clause.text != sentence:
            asked = asked & set(terms(f"{clause.text} {context}", language))
        truth = _of_clauses(question, clause.text, asked, context, language)
    else:
        truth = clause.denies == rules.denies(question)
        if truth and not (
            _within_limits(question, clause.text, asked, language) and _of_its_period(question, clause.text)
        ):
            return None
    if truth is not None and is_other_duty(question, clause.text, language, denied=not truth):
        return None
    return truth


def _of_clauses(question: str, sentence: str, asked: Collection[str], context: str, language: str) -> bool | None:
    """Return whether what is asked is so by a sentence without exceptions."""
    rules = _RULES[language]
    truth: bool | None
    asks, says = (rules.plain(text) for text in (question, sentence))
    whole = set(terms(f"{sentence} {context}", language))
    if not rules.forbids.search(f"{asks} {says}"):
        truth = _agree(asks, says, language)
        if truth and not _states(question, asked, says, whole, language):
            return None
        if truth is False and not denies_all(question, asked, sentence, context, language):
            return None
    else:
        clause = _nearest(says, asked, language)
        if clause is None or not set(asked) <= set(terms(f"{clause} {context}", language)):
            return None
        truth = _of_rule(asks, clause, rules)
    if truth and not (_within_limits(asks, says, asked, language) and _of_its_period(question, sentence)):
        return None
    return truth


def _nearest(sentence: str, asked: Collection[str], language: str) -> str | None:
    """Return the clause that has most of what is asked; None where two have as much of it."""
    clauses = [clause for clause in _CLAUSES.split(sentence) if clause.strip()]
    shares = [len(set(asked) & set(terms(clause, language))) for clause in clauses]
    best = max(shares, default=0)
    if len(clauses) < 2:
        return sentence
    return clauses[shares.index(best)] if shares.count(best) == 1 else None


def _of_rule(asks: str, says: str, rules: _Rules) -> bool | None:
    """Return whether a rule and the question agree; None where the rule may be made, or is about something else."""
    asks_ban, bans = (rules.forbids.search(text) is not None for text in (asks, says))
    denied, denies = (rules.negation.search(text) is not None for text in (asks, says))
    asks_may, may = (rules.may.search(text) is not None for text in (asks, says))
    permits = rules.allows.search(says) is not None
    if bans and (permits or denied != denies or (may and not (asks_ban and asks_may))):
        return None
    if bans:
        return True if asks_ban else (False if asks_may or rules.allows.search(asks) else None)
    if denied or not (may or permits):
        return None
    return denies


def _agree(question: str, sentence: str, language: str) -> bool:
    """Return whether question and sentence are both negated, or none is, and no word of one is the other's contrary."""
    if language != ENGLISH:
        negation = _RULES[language].negation
        return bool(negation.search(sentence)) == bool(negation.search(question))
    agree = _is_negated(question) == _is_negated(sentence, question)
    return agree != _has_contrary(question, sentence)


def _is_negated(text: str, question: str = "") -> bool:
    """Return whether the main clause of a text says that something isn't so; one about nothing asked is left."""
    known, negation = set(terms(question)), _RULES[ENGLISH].negation
    clauses = regex.split(r";|,\s+but\b", _CONDITION.sub(" ", text))
    return any(negation.search(one) for one in clauses if not known or len(clauses) == 1 or known & set(terms(one)))


def _states(question: str, asked: Collection[str], says: str, said: Collection[str], language: str) -> bool:
    """Return whether a sentence, with what is above it, has all that a question says, as a plain *yes* needs.

    "Solveig is a late variety" is near to "Is Solveig an early variety?", and says nothing of early ones.
    """
    rules = _RULES[language]
    allowed = rules.allows.search(says) or rules.may.search(says)
    named = set() if allowed else set(terms(question, language)) & rule_terms(language)
    wanted = {*asked, *named}
    return all(term in said or (language == ENGLISH and term in _SAYS_LITTLE) for term in wanted)


def _within_limits(question: str, sentence: str, asked: Collection[str], language: str) -> bool:
    """Return whether a question whether something is allowed has what it is allowed for only."""
    rules = _RULES[language]
    limit = _ONLY.search(sentence)
    if limit is None or not (rules.may.search(question) or rules.allows.search(question)):
        return True
    return set(terms(limit["behind"], language)) - rule_terms(language) <= {*asked, "us", "use"}


def _of_its_period(question: str, sentence: str) -> bool:
    """Return whether figures and periods of a question are in one clause, or the sentence has no others."""
    wanted, held = _figures(question), _figures(sentence)
    periods = {one for one in wanted if _YEAR.fullmatch(one) or not one[0].isdigit()}
    if not periods or periods == wanted or held <= wanted:
        return True
    return any(wanted <= _figures(f" {clause}") for clause in _OF_A_PERIOD.split(sentence) if clause)


def _figures(text: str) -> set[str]:
    return {found[0].casefold() for pattern in (_FIGURE, _PERIOD) for found in pattern.finditer(text)}


def _has_contrary(question: str, sentence: str) -> bool:
    """Return whether a sentence has the contrary of a word of the question, and not the word: "synchronously"."""
    joined = (_HYPHENATED.sub("", text.lower()) for text in (question, sentence))
    asked, said = (set(regex.findall(r"\p{L}+", text)) for text in joined)
    pairs = [*((word, other) for word in asked for other in said), *((other, word) for word in asked for other in said)]
    return any(
        len(bare) >= _MIN_BARE and not {word, bare} & asked & said and word in {f"{one}{bare}" for one in _CONTRARY}
        for word, bare in pairs
    )
