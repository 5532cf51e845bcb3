"""Words that are a value and no thing: a number, unit, currency, month or day. A pronoun never means one."""

from __future__ import annotations

from typing import Final

import regex

from kgrag.text.figures import MONTHS, units
from kgrag.text.sentences import word_set

__all__ = ["is_measure", "is_value", "owner_in"]

_CURRENCIES: Final = word_set(
    """aed ars aud brl cad chf clp cny cop czk dkk egp eur gbp hkd huf idr ils inr isk jpy krw kwd mad mxn myr nok nzd
    pen php pkr pln qar ron rub sar sek sgd thb try twd uah usd vnd zar franken franc francs kronen rubel zloty"""
)
_DAYS: Final = word_set(
    """monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag samstag
    sonnabend sonntag lundi mardi mercredi jeudi vendredi samedi dimanche januar jänner februar märz mai juni
    juli oktober dezember janvier février mars avril juin juillet août septembre octobre novembre décembre"""
)
_MEASURES: Final = word_set(
    """price cost fee charge fare rent weight mass height width length depth size area volume capacity power speed age
    date number amount temperature duration warranty guarantee deadline colour color currency unit preis kosten
    gebühr miete gewicht masse höhe breite länge tiefe größe fläche volumen kapazität leistung geschwindigkeit
    alter datum anzahl betrag temperatur dauer laufzeit garantie frist farbe währung einheit prix coût tarif
    loyer poids hauteur largeur longueur profondeur taille surface capacité puissance vitesse âge nombre montant
    température durée garantie délai couleur devise unité"""
)
"""Attributes of which a question wants the value: it is about the thing that has them."""


def is_value(words: str, text: str = "") -> bool:
    """Return whether words are a value or its unit, by themselves or where a text has them behind a number.

    >>> [is_value(words) for words in ("EUR", "3 March", "Monday", "Mixer Dora", "RFC 1059")]
    [True, True, True, False, False]
    >>> is_value("KAR", "It costs 480 KAR."), is_value("IBM", "In 2024 IBM bought it.")
    (True, False)
    """
    parts = words.casefold().split()
    if parts and all(_is_part(part.strip(".,")) for part in parts):
        return True
    behind = rf"(?<![\p{{L}}\p{{N}}])(?!(?:1[5-9]|20)\d\d\s)\p{{N}}[\p{{N}}.,]*\s?{regex.escape(words)}(?!\w)"
    return bool(text) and regex.fullmatch(r"\p{L}{1,4}", words) is not None and regex.search(behind, text) is not None


def _is_part(word: str) -> bool:
    is_number = regex.fullmatch(r"[\p{N}.,:/-]+(?:st|nd|rd|th|er)?", word) is not None
    return is_number or word in _CURRENCIES | _DAYS or word in MONTHS or bool(units(word))


def is_measure(noun: str) -> bool:
    """Return whether a noun is an attribute that has a value, so that "it" behind it means what has the attribute.

    >>> is_measure("price"), is_measure("author"), is_measure("Poids")
    (True, False, True)
    """
    return noun.casefold() in _MEASURES


def owner_in(about: str) -> str:
    """Return what a question is about: what has the attribute of which it asks the value; "" for a value.

    >>> owner_in("the price of the Mixer Dora"), owner_in("the author of rsync"), owner_in("40")
    ('the Mixer Dora', 'the author of rsync', '')
    """
    attribute, _, owner = about.partition(" of ")
    if owner and is_measure(attribute.rpartition(" ")[2]):
        about = owner
    return "" if is_value(about.removeprefix("the ")) else about
