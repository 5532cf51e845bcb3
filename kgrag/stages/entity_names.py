"""Names of entities in normal form, so that two layers that speak of one thing name it by one IRI."""

from __future__ import annotations

import unicodedata

__all__ = ["entity_key"]


def entity_key(name: str) -> str:
    """Give a name in normal form: NFKC, case folded, single spaces; letters of every script stay.

    >>> entity_key("  Ｔōkyō   Tower") == entity_key("tōkyō tower")
    True
    """
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split())
