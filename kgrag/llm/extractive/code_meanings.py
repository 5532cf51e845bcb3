"""What a code means, from the line that a manual has for it: "E4: temperature too low".

Such a line has no word of "What does the code E4 mean?" but the code, so that ranking finds it too improbable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText

__all__ = ["read_code_meaning"]

_CODE = r"(?P<code>(?-i:\p{Lu}{1,4}[ -]?\p{N}{1,5}|\p{N}{1,2}\p{Lu}{1,3}))"
_ASKED = late_regex(
    rf"(?:what\s+(?:does|do)\s+(?:the\s+)?(?:[\p{{L}}-]+\s+){{0,2}}?{_CODE}\s+(?:mean|stand\s+for|indicate|signify)"
    rf"|what\s+is\s+the\s+meaning\s+of\s+(?:the\s+)?(?:[\p{{L}}-]+\s+){{0,2}}?{_CODE}"
    rf"|(?:was\s+(?:bedeutet|heißt|besagt)|wofür\s+steht)\s+(?:(?:der|die|das)\s+)?(?:[\p{{L}}-]+\s+){{0,2}}?{_CODE}"
    rf"|que\s+(?:signifie|veut\s+dire|indique)\s+(?:le\s+|la\s+|l['’])?(?:[\p{{L}}'’-]+\s+){{0,2}}?{_CODE})\s*\??",
    flags=regex.IGNORECASE,
)


def read_code_meaning(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply to what a code means: the line that says it; {} for another question, no line, or several.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    asked = _ASKED.fullmatch(" ".join(question.split()))
    if asked is None:
        return {}
    found = [one for text in texts if not is_fact(text) for one in _lines(asked["code"], text)]
    if len({meaning for _, _, meaning in found}) != 1:
        return {}
    number, quote, meaning = found[0]
    sentence = {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]}
    value = {"kind": "text", "text": meaning, "value": "", "sentence": 0}
    return {"unknown": False, "sentences": [sentence], "values": [value]}


def _lines(code: str, text: EvidenceText) -> Iterator[tuple[int, str, str]]:
    """Yield the lines of a text for a code: the number of the text, the line, and what it says of the code."""
    named = rf"(?:\p{{L}}+\s+)?\**{regex.escape(code)}\**"
    line = rf"^[ \t>*•–-]*(?P<line>{named}\s*[:=–—]\s*(?P<meaning>\p{{L}}[^\n]*?))[ \t]*$"
    for match in regex.finditer(line, text.text, flags=regex.MULTILINE):
        meaning = regex.split(r"(?<=\p{L})[.;](?=\s|$)", match["meaning"])[0]
        yield text.number, match["line"], meaning.strip()
