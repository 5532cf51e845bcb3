"""Who was at a meeting is read from the lists of its minutes, of the meeting that a question means."""

import pytest

from kgrag.llm.extractive.attendance_lists import read_attendance
from kgrag.llm.extractive.evidence_sentences import EvidenceText

MARCH = EvidenceText(
    1,
    "chunk",
    "",
    "Present: Dr Ann Bell (chair), Tom Roe. Excused: Lea Voss.\n\n1. Roof",
    title="Minutes, 12 March 2026",
)
JUNE = EvidenceText(2, "chunk", "", "Present: Lea Voss, Tom Roe.\nAbsent: Ann Bell.\n", title="Minutes, 18 June 2026")
SITZUNG = EvidenceText(
    3, "chunk", "", "12. März 2026\n\nAnwesend: Ute Bär (Vorsitz), Jan Holm.\nEntschuldigt: Ida Lang.", title="Sitzung"
)
REUNION = EvidenceText(
    4, "chunk", "", "Présents à la réunion du 4 mai : Aline Roux, Marc Junod. Excusée : Odile Perrin.", title="Réunion"
)


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("Was Lea Voss at the meeting in March?", "Excused: Lea Voss"),
        ("Did Lea Voss attend the meeting of 18 June 2026?", "Present: Lea Voss, Tom Roe"),
        ("Was Dr Bell present on 18 June 2026?", "Absent: Ann Bell"),
        ("War Ida Lang in der Sitzung?", "Entschuldigt: Ida Lang"),
        ("Odile Perrin était-elle présente à la réunion du 4 mai ?", "Excusée : Odile Perrin"),
        ("Was Lea Voss at the meeting?", ""),  # of two meetings
        ("Was Lea Voss at the meeting in May?", ""),
        ("Was Tom Roe elected at the meeting in March?", ""),
        ("Was Sam Poe at the meeting in March?", ""),
    ],
)
def test_a_person_is_looked_up_in_the_list_of_the_meeting(question, quote):
    sentences = read_attendance(question, [MARCH, JUNE, SITZUNG, REUNION]).get("sentences", [])
    assert [row["text"] for row in sentences] == ([quote] if quote else [])


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who was excused from the meeting in March?", ["Lea Voss"]),
        ("Who was absent on 18 June 2026?", ["Ann Bell"]),
        ("Wer war entschuldigt?", ["Ida Lang"]),
        ("Qui était présent à la réunion du 4 mai ?", ["Aline Roux", "Marc Junod"]),
        ("Who was present?", []),
    ],
)
def test_all_names_of_a_list_are_the_short_answer(question, names):
    reply = read_attendance(question, [MARCH, JUNE, SITZUNG, REUNION])
    assert [value["text"] for value in reply.get("values", [])] == names
