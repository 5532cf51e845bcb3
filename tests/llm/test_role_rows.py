"""Who has a role is the name in the one row of a table that has the role as a whole cell."""

from typing import Any

import pytest

from kgrag.llm.extractive.evidence_answers import reply

TABLES = {
    "en": "| Task | Name | Extension |\n|---|---|---|\n| Company doctor | Dr. Kai Lorenz | 360 |\n| Payroll | Uwe Brandl | 322 |",
    "de": "| Aufgabe | Name | Durchwahl |\n|---|---|---|\n| Betriebsarzt | Dr. Kai Lorenz | 360 |\n| Datenschutz | Rolf Immler | 377 |",
    "fr": "| Fonction | Nom | Poste |\n|---|---|---|\n| Médecin du travail | Dr Anne Roussel | 230 |\n| Paie | Luc Petit | 231 |",
}


def _reply(question: str, *tables: str) -> dict[str, Any]:
    evidence = [
        {"number": number, "kind": "chunk", "heading": "", "text": table, "source": "", "title": ""}
        for number, table in enumerate(tables, start=1)
    ]
    return reply({"question": question, "evidence": evidence})


@pytest.mark.parametrize(
    ("question", "language", "name"),
    [
        ("Who is the company doctor?", "en", "Dr. Kai Lorenz"),
        ("Wer ist der Betriebsarzt?", "de", "Dr. Kai Lorenz"),
        ("Qui est le médecin du travail ?", "fr", "Dr Anne Roussel"),
    ],
)
def test_who_has_a_role_is_named_by_its_row(question: str, language: str, name: str) -> None:
    found = _reply(question, TABLES[language])
    assert (found["unknown"], len(found["sentences"])) == (False, 1)
    assert name in found["sentences"][0]["text"]


@pytest.mark.parametrize(
    "question", ["Wer ist der frühere Betriebsarzt?", "Wer ist der Arzt?", "Wer ist der Hausmeister?"]
)
def test_a_role_that_no_cell_is_names_nobody(question: str) -> None:
    assert _reply(question, TABLES["de"])["unknown"]


def test_a_role_that_two_rows_have_names_neither_alone() -> None:
    other = TABLES["de"].replace("Dr. Kai Lorenz", "Dr. Ute Gerber")
    found = _reply("Wer ist der Betriebsarzt?", TABLES["de"], other)
    assert found["unknown"] or len(found["sentences"]) == 2
