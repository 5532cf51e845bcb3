"""What comes nearest where there is no answer is in the language of the question, where any of it is."""

from typing import Any

from kgrag.llm.extractive.evidence_answers import reply

GERMAN = "Der Parkplatz der Kantine ist für die Gäste von auswärts gesperrt und wird am Abend geöffnet."
ENGLISH = "A ticket for the car park costs 14 pounds, and it is sold at the desk by the gate."


def _nearest(question: str, *texts: str) -> list[str]:
    evidence: list[dict[str, Any]] = [
        {"number": number, "kind": "chunk", "heading": "", "text": text, "source": "", "title": ""}
        for number, text in enumerate(texts, start=1)
    ]
    found = reply({"question": question, "evidence": evidence})
    assert found["unknown"]
    return [one["quote"] for one in found["nearest"]]


def test_passages_in_another_language_are_left_out_where_one_is_in_that_of_the_question() -> None:
    question = "How many kilograms does the bridge near the Kantine weigh?"
    assert _nearest(question, ENGLISH, GERMAN) == [ENGLISH]
    assert _nearest(question, GERMAN) == [GERMAN]
