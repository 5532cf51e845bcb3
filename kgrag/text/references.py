r"""The works that a text cites: entries of its reference list, and those that its ``[@keys]`` name in a BibTeX file.

Entries keep their wording, on one line; ``kgrag.methods.cg_rag.citations`` finds out which documents they name. A
reference list follows the last heading "References" (or "Bibliography", "Works cited" …); its entries begin with
``[12]`` or ``12.``, or are items of a list.

>>> entries("As [1] shows.\n\nReferences\n\n[1] A. Sower. Growing\nbeans. 1999.\n[2] B. Reaper. Weeds. 2001.")
('[1] A. Sower. Growing beans. 1999.', '[2] B. Reaper. Weeds. 2001.')
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from kgrag.late_patterns import late_re

__all__ = ["bibliography_of", "entries", "keyed"]

_LOG = logging.getLogger(__name__)
_TITLES = (
    "references|bibliography|works cited|literature cited|literature|reference list|literatur|literaturverzeichnis"
)
_HEADING = late_re(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*)?(?:\d{{1,2}}\.?[ \t]+|[IVX]{{1,5}}\.[ \t]+)?(?:{_TITLES})[ \t]*[:.]?[ \t]*#*[ \t]*$",
    flags=re.IGNORECASE | re.MULTILINE,
)
_END = late_re(r"^[ \t]*(?:#{1,6}[ \t]+\S|(?:Appendix|Appendices|Acknowledge?ments?|Anhang)\b)", flags=re.MULTILINE)
_MARKED = late_re(
    r"^[ \t]*(?:[-*+][ \t]+)?(?P<number>\[\d{1,3}\]|\(\d{1,3}\)|\d{1,3}\.)[ \t]+(?=\S)", flags=re.MULTILINE
)
_ITEM = late_re(r"^[ \t]*[-*+][ \t]+(?=\S)", flags=re.MULTILINE)
_KEY = late_re(r"(?<![\w.@])@(?P<key>[A-Za-z0-9_][\w:.#$%&+?<>~/-]*)")
_MAX_ENTRY_CHARACTERS = 1000
_MAX_ENTRIES = 2000
_MAX_BIBLIOGRAPHY_BYTES = 20_000_000


def entries(text: str) -> tuple[str, ...]:
    """Return the entries of a text's reference list, each once, in order; () where it has none."""
    headings = list(_HEADING.finditer(text))
    if not headings:
        return ()
    start = headings[-1].end()
    end = _END.search(text, start)
    body = text[start : end.start() if end else len(text)]
    begins = [match.start() for match in _MARKED.finditer(body)] or [match.start() for match in _ITEM.finditer(body)]
    lines: dict[str, None] = {}
    for first, last in pairwise([*begins, len(body)]):
        # An entry ends at a blank line; a word that was parted at the end of a line is joined again.
        entry = re.split(r"\n[ \t]*\n", body[first:last].strip(), maxsplit=1)[0]
        entry = " ".join(re.sub(r"(?<=[a-z])-\n[ \t]*(?=[a-z])", "", entry).split())
        if entry := _ITEM.sub("", entry)[:_MAX_ENTRY_CHARACTERS]:
            lines[entry] = None
    return tuple(lines)[:_MAX_ENTRIES]


def bibliography_of(path: Path, named: str) -> Path | None:
    """Return the BibTeX file that a text names, when it is in the text's own folder; else None.

    A text is data: it cannot make kgrag read a file elsewhere.
    """
    name = named.strip().strip("\"'")
    if not name or Path(name).name != name or Path(name).suffix.lower() != ".bib":
        return None
    bibliography = path.parent / name
    return bibliography if bibliography.is_file() and not bibliography.is_symlink() else None


def keyed(text: str, bibliography: Path) -> tuple[str, ...]:
    """Return the works that the ``@keys`` of a text name, in order: DOI, else title; else the key itself.

    A bibliography that does not parse is logged, and its keys are kept as they are.
    """
    keys = dict.fromkeys(match["key"].rstrip(".:?") for match in _KEY.finditer(text))
    known = dict(_works(bibliography))
    return tuple(dict.fromkeys(known.get(key.casefold(), f"@{key}") for key in keys))[:_MAX_ENTRIES]


def _works(bibliography: Path) -> Iterator[tuple[str, str]]:
    from pybtex.database import BibliographyDataError, parse_bytes
    from pybtex.exceptions import PybtexError

    try:
        if bibliography.stat().st_size > _MAX_BIBLIOGRAPHY_BYTES:
            raise ValueError(f"more than {_MAX_BIBLIOGRAPHY_BYTES:,} bytes")
        parsed = parse_bytes(bibliography.read_bytes(), "bibtex", encoding="utf-8")
    except (OSError, ValueError, PybtexError, BibliographyDataError) as error:
        _LOG.warning("%s: not read as BibTeX: %s", bibliography, error)
        return
    for key, entry in parsed.entries.items():
        fields = {name.casefold(): str(value) for name, value in entry.fields.items()}
        without_tex = (re.sub(r"\\[A-Za-z]+\s?|[{}\\]", "", fields.get(name, "")) for name in ("doi", "title"))
        if work := next(filter(None, (" ".join(value.split()) for value in without_tex)), ""):
            yield key.casefold(), work
