"""Footnotes of Markdown: a sentence with the mark "[^1]" is shown without it, and what the note says behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText

__all__ = ["with_footnotes"]

_MARK = late_regex(r"\s?\[\^(?P<name>[\w-]+)\]")


def with_footnotes(reply: Mapping[str, Any], texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return a reply with its footnotes: each mark is taken out, and the note quoted behind its sentence.

    Args:
        reply: as ``answering/answer`` has it.
        texts: the evidence; the note of a sentence is in the same document.
    """
    if not any(_MARK.search(row["text"]) for row in reply.get("sentences", ())):
        return dict(reply)
    titles = {text.number: text.title for text in texts}
    rows: list[dict[str, Any]] = []
    for row in reply["sentences"]:
        rows.append(row | {"text": _MARK.sub("", row["text"])})
        cited = {titles.get(int(quote["evidence"]), "") for quote in row["citations"]}
        for name in dict.fromkeys(_MARK.findall(row["text"])):
            rows += _notes(name, [text for text in texts if text.title in cited])[:1]
    return dict(reply) | {"sentences": rows}


def _notes(name: str, texts: Sequence[EvidenceText]) -> list[dict[str, Any]]:
    """Return the note of a mark as a sentence with its citation, by each text that has it."""
    pattern = regex.compile(rf"^\[\^{regex.escape(name)}\]:\s*(?P<note>[^\n]+(?:\n[ \t]+[^\n]+)*)", regex.MULTILINE)
    found = ((text.number, match["note"].rstrip()) for text in texts for match in pattern.finditer(text.text))
    return [
        {"text": " ".join(note.split()), "citations": [{"evidence": number, "quote": note}]} for number, note in found
    ]
