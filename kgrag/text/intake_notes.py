"""What of the documents of one intake is stored otherwise than their sender may think."""

from __future__ import annotations

from dataclasses import dataclass, field

from kgrag.model import Document

__all__ = ["IntakeNotes"]

_INSTEAD = "\ufffd"
_MAX_SHOWN = 20


@dataclass(slots=True)
class IntakeNotes:
    """Notes on documents as they come, one after the other; the first few of many.

    >>> notes = IntakeNotes()
    >>> for number, text in enumerate(("Rye\ufffd", "Oats", "Barley")):
    ...     notes.look_at(Document(text, location=f"crops.jsonl#{number // 2}", id=str(number // 2)), graph=text)
    >>> for line in notes.shown():
    ...     print(line)
    crops.jsonl#0: 1 character that is none (U+0000, half of a pair, undecoded bytes) stands as U+FFFD
    crops.jsonl#0: another text of this id came before it; a file keeps both, a feed the later one
    """

    _lines: list[str] = field(default_factory=list)
    _count: int = 0
    _graphs: dict[str, str] = field(default_factory=dict)  # location of a record -> graph of its document

    def look_at(self, document: Document, graph: str) -> None:
        """Note what is to be said of a document, which goes into a graph."""
        where = document.location or document.id or document.title or "a document"
        if count := document.text.count(_INSTEAD):
            those = "1 character that is none" if count == 1 else f"{count} characters that are none"
            stands = "stands" if count == 1 else "stand"
            self._add(f"{where}: {those} (U+0000, half of a pair, undecoded bytes) {stands} as U+FFFD")
        if document.id and document.location and self._graphs.setdefault(document.location, graph) != graph:
            self._add(f"{where}: another text of this id came before it; a file keeps both, a feed the later one")

    def _add(self, line: str) -> None:
        self._count += 1
        if len(self._lines) < _MAX_SHOWN:
            self._lines.append(line)

    def shown(self) -> tuple[str, ...]:
        """Return the notes, and how many more there were."""
        more = self._count - len(self._lines)
        return (*self._lines, *([f"{more} more of such notes"] if more else []))
