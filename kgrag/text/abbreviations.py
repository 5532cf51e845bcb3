"""Whether a full stop belongs to the word before it: abbreviations of English, German and French, initials, dates.

``sentences`` asks here for every full stop that a capital letter or digit follows. What is listed never ends a
sentence, or only before a word that sentences begin with, or goes on before a digit alone, so that a real end is lost
only where such a word comes last by chance.
"""

from __future__ import annotations

from types import MappingProxyType

import regex

from kgrag.late_patterns import late_regex

__all__ = ["belongs_to_word"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Never the end of a sentence: a name, number or clause follows.
_LEADING = _words(
    """adm approx bros ca capt cf cmdr col dr drs eq esp fig figs gen gov hon lt maj messrs mr mrs ms mt mx nos op pp
    pres prof ref refs rep rev sec secs sen sgt st vol vols vs viz e.g i.e bspw bzw d.h evtl ggf ing insb insbes
    hr inkl exkl einschl mlle mme nr p.ex resp s.o s.u sog sté u.a vgl z.b z.t zzgl"""
)
# The end of a sentence only when a usual first word follows.
_TRAILING = _words(
    """al av ave blvd bld co corp dept dist ed eds est etc ets inc jr ltd ph.d plc rd sr univ bd bhf geb gest inh
    verh"""
)
# Part of a number or date when a digit follows.
_BEFORE_DIGIT = _words(
    """abb abs abschn abt al alin anh anl anm apr apt art aug av b bd bldg c ch chap cl d dec env feb fl geb gest jan
    jul jun kap lit mar max mind no nov oct p par para paras pos r rdnr réf rm rn s sept sep str tab tel tél ziff
    éd"""
)
_DAYS = _words("Mo Di Mi Do Fr Sa So")
# In the middle of a sentence a letter or two by another: "z. B.", "e. V.", "i. d. R.", "u. Co.", "p. ex.".
_SPACED = MappingProxyType(
    {
        "a": _words("a o"),
        "b": _words("w"),
        "d": _words("h i r f"),
        "e": _words("g k v"),
        "h": _words("c v"),
        "i": _words("a d h s v"),
        "k": _words("a"),
        "m": _words("e w"),
        "n": _words("chr"),
        "o": _words("ä b g v"),
        "p": _words("a ex"),
        "s": _words("o u"),
        "u": _words("a ä co m u v"),
        "v": _words("a chr h m"),
        "z": _words("b h hd t z zt"),
    }
)
_SPACED_LEADING = late_regex(
    r"(?<![\p{L}\p{N}])(?:z\.\s?(?:[BTZ]|Hd|Zt)|d\.\s?[hi]|i\.\s?[AVSH]|i\.\s?d|v\.\s?a|o\.\s?g|m\.\s?[EW]|p\.\s?ex|c\.-à-d)$"
)
_SPACED_TRAILING = late_regex(
    r"(?<![\p{L}\p{N}])(?:e\.\s?[VGK]|u\.\s?[aäUm]|o\.\s?ä|s\.\s?[ou]|h\.\s?c|[nv]\.\s?Chr|p\.\s?a|i\.\s?d\.\s?[RF])$"
)
_DEGREE = late_regex(r"\b(?:Dr|Prof)\.(?:\s?\p{Ll}{1,5}\.)*\s?\p{Ll}{1,5}$")
"""What a doctor is of: "Dr. med. Anna Rothe", "Dr. rer. nat."."""
# A number with a full stop is an ordinal behind such a word, and before a month: "im 19. Jahrhundert", "3. Oktober".
_ORDINAL = late_regex(
    r"\b(?:am|ab|bis|das|dem|den|der|des|die|im|ins|seit|vom|zum|zur)\s+\p{N}{1,2}$", flags=regex.IGNORECASE
)
_IN_DATE = late_regex(r"(?<![\p{N}.])\p{N}{1,2}(?:\.\s?\p{N}{1,2})?$")
_DATE_BEHIND = late_regex(r"\.\s?(?:\p{N}{1,2}\.\s?)?\p{N}{4}(?!\p{N})")
_MONTHS = _words(
    "januar jänner februar märz april mai juni juli august september oktober november dezember jahrhundert"
)
_STARTERS = _words(
    """a after all although an and another as at both but by during each finally for from he her here his however i if
    in it its later many most my no not on one our she since so some such that the their then there these they
    this those thus to two under we what when where which while who with you aber alle als am an auf aus bei da
    dabei damit danach dann das dazu dem den der des die dies diese dieser dieses ein eine einen einer er es für
    ich ihr im ist jede jeder jedes kein keine man mit nach nur oder sie sind und von vor wann was wenn wer wie
    wir zu zum zur aucun avec ce ces cet cette chaque dans des elle elles en et il ils je mais nous on ou où par
    pour quand que qui sans si son sur toute tous un une vous à"""
)
_ARTICLES = _words("la le les")
"""Words that begin French sentences, and names behind an initial."""


def belongs_to_word(behind: str, before: str, following: tuple[str, str], *, at_start: bool) -> bool:
    """Return whether a full stop belongs to the word before it, so that no sentence ends there.

    Args:
        behind: what is before the full stop, as far as it is looked at.
        before: the word before it, with the letters and full stops that belong to it.
        following: the word after it, "" for none, and the characters behind that.
        at_start: whether the word begins its line or sentence.

    >>> belongs_to_word("Westwerk e", "e", ("V", ". hat"), at_start=False)
    True
    >>> belongs_to_word("Er kam um 5", "5", ("Dann", " ging er"), at_start=False)
    False
    """
    word, rest = following
    if before.isdigit():
        return at_start or _is_ordinal(behind, before, word, rest)
    lower, next_word = before.casefold(), word.casefold()
    if lower in _LEADING or _SPACED_LEADING.search(behind) or _DEGREE.search(behind):
        return True
    if _is_numbered(before, word, rest) or (rest.startswith(".") and next_word in _SPACED.get(before, ())):
        return True
    if at_start and len(before) == 1:  # the letter of a list item
        return True
    is_initial = len(before) == 1 and before.isupper()
    if not (is_initial or "." in before or lower in _TRAILING or _SPACED_TRAILING.search(behind)):
        return False
    begins = next_word in _STARTERS or (next_word in _ARTICLES and not is_initial)
    return bool(word) and not begins


def _is_numbered(before: str, word: str, rest: str) -> bool:
    """Return whether a number follows that belongs to a word: "Abs. 2", "Hauptstr. 12", "Fr. 8 Uhr", "gem. § 5"."""
    if not word:
        return rest.startswith("§") or (before.casefold() in {"tel", "tél"} and rest.startswith("+"))
    is_counted = before.casefold() in _BEFORE_DIGIT or before.casefold().endswith("str") or before in _DAYS
    return word[:1].isdigit() and is_counted


def _is_ordinal(behind: str, before: str, word: str, rest: str) -> bool:
    """Return whether a number with a full stop is an ordinal or part of a date: "am 3. Mai", "31. 3. 2025"."""
    if _ORDINAL.search(behind) or (len(before) <= 2 and word.casefold() in _MONTHS):
        return True
    dated = _IN_DATE.search(behind)
    return dated is not None and _DATE_BEHIND.match(f". {word}{rest}") is not None
