"""Readings of lines and lists that have few words of a question, before sentences are ranked for it.

Each of them answers where one place of the evidence is certain, and has nothing to say otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kgrag.llm.extractive.attendance_lists import read_attendance
from kgrag.llm.extractive.code_meanings import read_code_meaning
from kgrag.llm.extractive.contact_values import read_contact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.exempted_things import read_exempted
from kgrag.llm.extractive.labelled_lines import read_labelled
from kgrag.llm.extractive.listed_offers import read_offer

__all__ = ["read_directly"]

_READINGS: Final = (read_code_meaning, read_contact, read_attendance, read_offer, read_exempted, read_labelled)


def read_directly(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply of the first reading that has one; {} for none."""
    return next((found for read in _READINGS if (found := read(question, texts))), {})
