"""Numbers that name a place in a document or a town, or a telephone: of sections, items of a list, houses and rooms.

The 4 of "§ 4 Deposit" and the 12 of "Harbour Street 12" stand near what a question asks for, and measure nothing.
"""

from __future__ import annotations

import regex

from kgrag.late_patterns import late_regex

__all__ = ["numbered_places"]

_NUMBER = r"(?P<number>\p{N}+(?:\.\p{N}+)*\p{L}?)(?![\p{L}\p{N}]|[.,]\p{N})"
_IN_TEXT = (
    rf"§§?\s*{_NUMBER}",
    r"\b(?:article|art\.|artikel|section|sect\.|clause|paragraph|chapter|item|page|room|annex|appendix|figure"
    r"|abschnitt|absatz|abs\.|ziffer|kapitel|seite|raum|zimmer|anlage|anhang|punkt|top|pos\.|position|nr\.|nummer"
    rf"|no\.|chapitre|alinéa|annexe|n°)\s*{_NUMBER}(?!\s*(?:%|€|£|\$|°|(?:eur|euros?|[kcm]?m[²³]?)(?!\p{{L}})))",
    r"\b\p{Lu}[\p{L}.-]*(?:straße|strasse|str\.|weg|platz|gasse|allee|ufer|damm|ring|markt|chaussee)"
    rf"\s+{_NUMBER}(?!\s?(?:[kcdm]?m[²³]?|qm|%|€|EUR)(?!\p{{L}}))",
    r"\b\p{Lu}\p{L}+\s+(?:Street|Road|Lane|Avenue|Row|Square|Straße|Strasse|Weg|Platz|Allee|Ufer)"
    rf"\s+{_NUMBER}(?!\s?(?:[kcdm]?m[²³]?|%|square|years?|days?|hours?)(?!\p{{L}}))",
    rf"{_NUMBER}\s*,?\s+(?:bis\s+|ter\s+)?(?:rue|avenue|boulevard|quai|chemin|allée|impasse|place)\s+(?:d[eu]s?\b|\p{{Lu}})",
    rf"{_NUMBER}\s+(?-i:\p{{Lu}}\p{{L}}+\s+(?:Street|Road|Lane|Avenue|Row|Square|Terrace)\b)",
    r"\b(?:telefon|tel\.|telephone|phone|téléphone|tél\.|fax|extension|durchwahl)\s*:?\s*"
    r"(?P<number>\+?\(?\p{N}[\p{N} ()/-]*)",
)
_AS_HEADING = (
    rf"^\s*(?:§\s*)?{_NUMBER}[.)]?\s+(?-i:\p{{Lu}})[^:.;\n]{{0,60}}:(?=\s)",
    r"(?:^|\n)\s*\(?(?P<number>\p{N}{1,3})[.)](?=\s+(?-i:\p{Lu}))",
)
_PLACES = tuple(late_regex(pattern, flags=regex.IGNORECASE) for pattern in (*_IN_TEXT, *_AS_HEADING))


def numbered_places(text: str, question: str = "") -> list[tuple[int, int]]:
    """Return where a text has the numbers of places, but for those whose word a question has: "Which room number?".

    >>> numbered_places("§ 4 Deposit: it is 8,100."), numbered_places("In Hafenstraße 12 ein Raum mit 45 m².")
    ([(2, 3)], [(15, 17)])
    """
    asked = question.casefold()
    found = set()
    for pattern in _PLACES:
        for match in pattern.finditer(text):
            word = match.string[match.start() : match.start("number")].strip(" (§.").casefold()
            if not word or word not in asked:
                found.add(match.span("number"))
    return sorted(found)
