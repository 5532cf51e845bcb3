"""Follow-ups are made full questions by rule, what can be understood alone is left as it is, and the rest says so."""

from collections import Counter
from collections.abc import Sequence

import pytest

from benchmarks.follow_ups import outcome, questions, turns_of
from kgrag.answering.conversation import full_question
from kgrag.answering.follow_ups import Exchange, resolve
from kgrag.llm.extractive import ExtractiveModel

SOWING = Exchange("When is chickpea sown in the Hill Zone?", "In the Hill Zone, chickpea is sown in March. [1]")


def test_full_questions_among_the_benchmark_are_left_as_they_are() -> None:
    rows = [row for row in questions() if row.get("alone")]
    assert [row["says"] for row in rows if full_question(turns_of(row), ExtractiveModel()).text != row["says"]] == []


def test_most_follow_ups_of_the_benchmark_are_made_full_without_an_embedder() -> None:
    rows = [row for row in questions() if not row.get("alone")]
    counted = Counter(outcome(row, full_question(turns_of(row), ExtractiveModel())) for row in rows)
    assert counted["right"] >= 39
    assert counted["wrong"] <= 4


@pytest.mark.parametrize(
    ("message", "full"),
    [
        ("How is it irrigated?", "How is chickpea irrigated?"),
        ("And its yield?", "Chickpea’s yield?"),
        ("Why?", "Why is it that in the Hill Zone, chickpea is sown in March?"),
        ("In 2022?", "When is chickpea sown in the Hill Zone in 2022?"),
        ("Which varieties are grown there?", "Which varieties are grown in the Hill Zone?"),
        ("And lentil?", "When is lentil sown in the Hill Zone?"),
        ("No, I mean lentil.", "When is lentil sown in the Hill Zone?"),
        ("Sorry, the one in the Coastal Zone.", "When is chickpea sown in the Coastal Zone?"),
        ("I mean not chickpea but lentil.", "When is lentil sown in the Hill Zone?"),
        ("No, thanks.", "No, thanks."),
        ("Thanks!", "Thanks!"),
        ("Is it true that lentil is a legume?", "Is it true that lentil is a legume?"),
    ],
)
def test_a_message_becomes_a_full_question(message: str, full: str) -> None:
    assert resolve(message, [SOWING]).text == full


VARIABLES = Exchange(
    "Which environment variables does cron set?",
    "Several variables are set. SHELL is set to /bin/sh, and LOGNAME and HOME are set from the entry of the owner. [1]",
)
LOGNAME = Exchange("What is LOGNAME set from?", "From the entry. [1]")
CLAIMS = Exchange("How many claims were filed in 2022?", "Three. [1]")
RFC = Exchange("Which RFC specified NTP version 1?", "Version 2 followed in RFC 1119. NTP version 1 was in RFC 1059.")


@pytest.mark.parametrize(
    ("message", "before", "full"),
    [
        ("What is the second one set from?", [VARIABLES], "What is LOGNAME set from?"),
        ("No, I mean the first one.", [VARIABLES, LOGNAME], "What is SHELL set from?"),
        ("And the next one?", [VARIABLES, LOGNAME], "What is HOME set from?"),
        ("And in the year before?", [CLAIMS], "How many claims were filed in 2021?"),
        ("And a year later?", [CLAIMS], "How many claims were filed in 2023?"),
        ("And before that?", [CLAIMS], "How many claims were filed before 2022?"),
        ("When was it published?", [RFC], "When was RFC 1059 published?"),
    ],
)
def test_things_are_counted_and_dates_are_reckoned_from_what_was_said(
    message: str, before: list[Exchange], full: str
) -> None:
    assert resolve(message, before).text == full


@pytest.mark.parametrize("message", ["And before that?", "And the fourth one?", "What happens after that?"])
def test_what_was_not_said_is_not_made_up(message: str) -> None:
    resolved = resolve(message, [VARIABLES])
    assert message in resolved.text
    assert "could not be found in the conversation" in resolved.unresolved


def test_what_cannot_be_resolved_says_so() -> None:
    resolved = resolve("What did she say?", [SOWING])
    assert resolved.text == "What did she say?"
    assert "“she”" in resolved.unresolved


def test_a_short_message_in_another_language_is_asked_with_the_question_before_it_and_says_so() -> None:
    resolved = resolve("¿Y las lentejas?", [Exchange("¿Cuándo se siembran los garbanzos en la zona?")])
    assert resolved.text == "¿Cuándo se siembran los garbanzos en la zona? ¿Y las lentejas?"
    assert "for English, German and French" in resolved.unresolved


PRICE = "The Mixer Dora costs 480 EUR. [1]"


@pytest.mark.parametrize(
    ("question", "answer", "message", "full"),
    [
        ("What does the Mixer Dora cost?", PRICE, "Is it in stock?", "Is the Mixer Dora in stock?"),
        ("What is the price of the Mixer Dora?", PRICE, "Is it in stock?", "Is the Mixer Dora in stock?"),
        ("Which pump weighs 40 KG?", "The Pump Alba weighs 40 KG.", "Is it loud?", "Is Pump Alba loud?"),
        ("Which pump has 40 kW?", "The Pump Alba has 40 kW.", "Is it loud?", "Is Pump Alba loud?"),
        ("Which price list is valid?", "That of March 2024.", "Where is it?", "Where is the price list?"),
        ("What is the date of the fair?", "3 March 2024.", "Where is it held?", "Where is the fair held?"),
    ],
)
def test_a_pronoun_means_no_unit_currency_number_or_date(question: str, answer: str, message: str, full: str) -> None:
    assert resolve(message, [Exchange(question, answer)]).text == full


def test_a_pronoun_behind_a_value_alone_is_not_resolved_and_says_so() -> None:
    resolved = resolve("Is it strong?", [Exchange("Which currency applies?", "All prices are in EUR.")])
    assert resolved.text == "Is it strong?"
    assert "“it”" in resolved.unresolved


@pytest.mark.parametrize(
    ("question", "message", "full"),
    [
        ("What is the quantity of the Border Spade B1?", "And its price?", "The Border Spade B1’s price?"),
        ("How many of the Rake G2 are in stock?", "And its price?", "The Rake G2’s price?"),
        ("How many passengers can the Skylark carry?", "How fast is she?", "How fast is the Skylark?"),
        ("When was the Halcyon launched?", "Who commands her?", "Who commands the Halcyon?"),
    ],
)
def test_what_has_the_quantity_is_meant_and_no_quantity(question: str, message: str, full: str) -> None:
    resolved = resolve(message, [Exchange(question, "75.")])
    assert (resolved.text, resolved.unresolved) == (full, "")


def test_a_new_place_replaces_the_old_one_behind_another_preposition() -> None:
    def alike(text: str, others: Sequence[str]) -> list[float]:
        return [0.6 if one in ("Paris", "Rome") else 0.1 for one in others]

    asked = resolve("And in Rome?", [Exchange("What is the limit for Paris in 2024?", "GBP 120.")], alike)
    assert asked.text == "What is the limit in Rome in 2024?"
    asked = resolve("And in Rome?", [Exchange("Who spoke for Anna Berg in 2024?", "Tom Hall.")], alike)
    assert asked.text == "Who spoke for Anna Berg in 2024 in Rome?"


def test_a_date_is_no_person() -> None:
    before = [Exchange("How fast is the Skylark?", "The Skylark will sail from 1 October 2025 at 22 knots. [1]")]
    assert resolve("When was she built?", before).text == "When was the Skylark built?"


@pytest.mark.parametrize(
    ("question", "message", "full"),
    [
        (
            "Who is the trainer of the fire wardens course?",
            "When does it take place?",
            "When does the fire wardens course take place?",
        ),
        ("Who is the contact at Voltis?", "When does their contract end?", "When does Voltis’s contract end?"),
        ("When does Voltis’s contract end?", "And Norvent?", "When does Norvent’s contract end?"),
        ("How much does the river test cost?", "How long does it take?", "How long does the river test take?"),
        ("Is the Seminar Room West accessible?", "Does it have a phone?", "Does the Seminar Room West have a phone?"),
        (
            "How many days do trainees get?",
            "And how many can they carry over?",
            "How many days can trainees carry over?",
        ),
        ("Who teaches coxing?", "How long does it take to learn?", "How long does it take to learn?"),
    ],
)
def test_it_is_no_person_and_a_possessive_stays_one(question: str, message: str, full: str) -> None:
    resolved = resolve(message, [Exchange(question, "75.")])
    assert (resolved.text, resolved.unresolved) == (full, "")
