r"""What a text cites: the entries of its reference list, and the works that its ``[@keys]`` name in a BibTeX file.

Entries are kept as they stand, on one line; ``kgrag.methods.cg_rag.citations`` finds out which documents they
name. A reference list follows the last heading "References" (or "Bibliography", "Works cited" …); its entries begin
with ``[12]`` or
``12.``, or are items of a list.

>>> entries("As [1] shows.\n\nReferences\n\n[1] A. Sower. Growing\nbeans. 1999.\n[2] B. Reaper. Weeds. 2001.")
('[1] A. Sower. Growing beans. 1999.', '[2] B. Reaper. Weeds. 2001.')
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

__all__ = ["bibliography_of", "entries", "keyed"]

_LOG = logging.getLogger(__name__)
_TITLES = (
    "references|bibliography|works cited|literature cited|literature|reference list|literatur|literaturverzeichnis"
)
_HEADING = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*)?(?:\d{{1,2}}\.?[ \t]+|[IVX]{{1,5}}\.[ \t]+)?(?:{_TITLES})[ \t]*[:.]?[ \t]*#*[ \t]*$",
    flags=re.IGNORECASE | re.MULTILINE,
)
_END = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+\S|(?:Appendix|Appendices|Acknowledge?ments?|Anhang)\b)", flags=re.MULTILINE)
_MARKED = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?P<number>\[\d{1,3}\]|\(\d{1,3}\)|\d{1,3}\.)[ \t]+(?=\S)", flags=re.MULTILINE
)
_ITEM = re.compile(r"^[ \t]*[-*+][ \t]+(?=\S)", flags=re.MULTILINE)
_KEY = re.compile(r"(?<![\w.@])@(?P<key>[A-Za-z0-9_][\w:.#$%&+?<>~/-]*)")
_LONGEST = 1000
_MOST = 2000
_LARGEST = 20_000_000  # bytes of a bibliography


def entries(text: str) -> tuple[str, ...]:
    """Give the entries of a text's reference list, each once, in order; () where it has none."""
    headings = list(_HEADING.finditer(text))
    if not headings:
        return ()
    start = headings[-1].end()
    end = _END.search(text, start)
    body = text[start : end.start() if end else len(text)]
    begins = [match.start() for match in _MARKED.finditer(body)] or [match.start() for match in _ITEM.finditer(body)]
    pieces = (body[first:last] for first, last in pairwise([*begins, len(body)]))
    found = dict.fromkeys(entry for piece in pieces if (entry := _tidied(piece)))
    return tuple(found)[:_MOST]


def _tidied(piece: str) -> str:
    """Put an entry on one line, up to the first blank line, words that were parted at a line end joined again."""
    whole = re.split(r"\n[ \t]*\n", piece.strip(), maxsplit=1)[0]
    joined = re.sub(r"(?<=[a-z])-\n[ \t]*(?=[a-z])", "", whole)
    line = " ".join(joined.split())
    return _ITEM.sub("", line)[:_LONGEST]


def bibliography_of(path: Path, named: str) -> Path | None:
    """Give the BibTeX file that a text names, when it stands in the text's own folder; else None.

    A text is data: it can't make kgrag read a file elsewhere.
    """
    name = named.strip().strip("\"'")
    if not name or Path(name).name != name or Path(name).suffix.lower() != ".bib":
        return None
    beside = path.parent / name
    return beside if beside.is_file() and not beside.is_symlink() else None


def keyed(text: str, bibliography: Path) -> tuple[str, ...]:
    """Give what the ``@keys`` of a text stand for, in order: DOI, else title with its authors' names; else the key.

    A bibliography that does not parse is logged, and its keys are kept as they are.
    """
    keys = dict.fromkeys(match["key"].rstrip(".:?") for match in _KEY.finditer(text))
    known = dict(_works(bibliography))
    return tuple(dict.fromkeys(known.get(key.casefold(), f"@{key}") for key in keys))[:_MOST]


def _works(bibliography: Path) -> Iterator[tuple[str, str]]:
    from pybtex.database import BibliographyDataError, parse_bytes
    from pybtex.exceptions import PybtexError

    try:
        if bibliography.stat().st_size > _LARGEST:
            raise ValueError(f"more than {_LARGEST:,} bytes")
        parsed = parse_bytes(bibliography.read_bytes(), "bibtex", encoding="utf-8")
    except (OSError, ValueError, PybtexError, BibliographyDataError) as error:
        _LOG.warning("%s: not read as BibTeX: %s", bibliography, error)
        return
    for key, entry in parsed.entries.items():
        fields = {name.casefold(): _plain(value) for name, value in entry.fields.items()}
        if work := fields.get("doi") or fields.get("title"):
            yield key.casefold(), work


def _plain(value: str) -> str:
    """Give a field without braces and commands, on one line."""
    return " ".join(re.sub(r"\\[A-Za-z]+\s?|[{}\\]", "", str(value)).split())
