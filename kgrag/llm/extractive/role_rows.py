"""Who has a role, by the row of a table that has the role as a whole cell: "Wer ist der Betriebsarzt?".

"Who is the company doctor?" asks for the name in the row "Company doctor | Dr. Kai Lorenz | 360", and is read as the
question for that name, which the rules for cells answer. A role that two rows have, or only a part of a cell, is left
to the rules for sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.extractive.table_answers import read_table_answer
from kgrag.llm.extractive.table_rows import read_tables

__all__ = ["read_role"]

_WHO: Final = late_regex(
    r"(?:who\s+(?:is|are)\s+(?:the|our|your)|wer\s+(?:ist|sind)\s+(?:der|die|das|unsere?|eure?|ihre?)"
    r"|qui\s+(?:est|sont)\s+(?:le|la|les|notre|votre|l['’]))\s*(?P<role>.{3,60}?)[\s?.!]*",
    flags=regex.IGNORECASE,
)
_NAME_LABEL: Final = late_regex(r"(?:names?|noms?|namen)", flags=regex.IGNORECASE)
_ASKED_BY_NAME: Final = MappingProxyType(
    {"en": "What is the name: {}?", "de": "Wie lautet der Name: {}?", "fr": "Quel est le nom : {} ?"}
)


def read_role(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply that names who has a role, from the one row with it; {} for other questions and tables."""
    asked = _WHO.fullmatch(question.strip())
    language = language_to_answer_in(question, [text.text for text in texts]) if asked else ""
    if not asked or language not in _ASKED_BY_NAME:
        return {}
    role = " ".join(asked["role"].casefold().split())
    rows = {
        row.line
        for text in texts
        if text.kind != "hyperedge"
        for table in read_tables(text, language)
        if any(_NAME_LABEL.fullmatch(label.strip()) for label in table.labels)
        for row in table.rows
        if any(" ".join(cell.text.casefold().split()) == role for cell in row.cells)
    }
    found = read_table_answer(_ASKED_BY_NAME[language].format(asked["role"]), texts) if len(rows) == 1 else {}
    quoted = [quote["quote"].strip() for row in found.get("sentences", ()) for quote in row["citations"]]
    is_of_row = any(line.strip() in quoted for line in rows)
    return found if is_of_row and not found["unknown"] else {}
