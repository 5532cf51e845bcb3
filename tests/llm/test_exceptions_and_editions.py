"""Groups, times and editions that a question names, or that are in force, and footnotes of an answer."""

import pytest

from kgrag import KnowledgeBase
from kgrag.answering.short_answers import short_answers
from kgrag.llm.extractive.document_editions import in_force
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.excepted_groups import with_exception
from kgrag.llm.extractive.footnotes import with_footnotes
from kgrag.llm.extractive.opposite_things import is_opposite
from kgrag.llm.extractive.question_languages import value_lacking_in
from kgrag.llm.extractive.time_relations import other_time, states_time
from kgrag.model import Citation

TABLE = "| Course | Fee (EUR) |\n|---|---|\n| T-02 | 95 |\n| T-03 | 140 |"
COURSES = EvidenceText(
    1, "chunk", "", f"{TABLE}\n\nTrainees attend all courses free of charge, except T-03.", title="Courses"
)


def row(text, number=1):
    return {"text": text, "citations": [{"evidence": number, "quote": text}]}


@pytest.mark.parametrize(
    ("question", "is_put_first"),
    [
        ("How much does T-02 cost for trainees?", True),
        ("How much do trainees pay for T-02?", True),
        ("How much does T-03 cost for trainees?", False),  # which the sentence excepts
        ("How much does T-02 cost?", False),
        ("How much does T-02 cost for guests?", False),
    ],
)
def test_what_frees_the_group_of_a_question_comes_first(question, is_put_first):
    found = with_exception(question, {"unknown": False, "sentences": [row("T-02 – Fee (EUR): 95.")]}, [COURSES])
    assert found["sentences"][0]["text"].startswith("Trainees attend") == is_put_first


def test_the_price_of_all_is_no_short_answer_for_a_group_that_pays_nothing():
    sentences = ["The annual subscription is 48 GBP.", "Honorary members pay no subscription."]
    citations = [Citation(text, "urn:d", "urn:c", 0, len(text), at) for at, text in enumerate(sentences)]
    assert short_answers("How much subscription do honorary members pay?", sentences, citations) == ()
    assert [one.text for one in short_answers("How much is the annual subscription?", sentences, citations)] == [
        "48 GBP"
    ]


@pytest.mark.parametrize(
    ("question", "sentence", "before", "language", "is_other"),
    [
        ("What is the notice period after probation?", "During probation it is two weeks.", "", "en", True),
        ("What is the notice period during probation?", "During probation it is two weeks.", "", "en", False),
        ("What is the notice period during probation?", "After probation it is two weeks.", "", "en", True),
        (
            "Wie lang ist die Frist nach der Probezeit?",
            "Während der Probezeit beträgt sie zwei Wochen.",
            "",
            "de",
            True,
        ),
        (
            "Quel est le délai après la période d'essai ?",
            "Pendant la période d'essai il est d'une semaine.",
            "",
            "fr",
            True,
        ),
        ("Is it open in winter?", "It is open during winter.", "", "en", False),
    ],
)
def test_what_is_so_on_one_side_of_a_time_is_not_so_on_the_other(question, sentence, before, language, is_other):
    assert bool(other_time(question, sentence, before, language)) == is_other


def test_after_that_is_after_the_time_of_the_sentence_before():
    before, sentence = "During probation the notice period is two weeks.", "After that it is eight weeks."
    assert states_time("What is the notice period after probation?", sentence, before)
    assert not states_time("What is the notice period during probation?", sentence, before)


@pytest.mark.parametrize(
    ("question", "first_line", "kept"),
    [
        ("Who approves flights?", "This policy ended on 31 December 2025.", [2]),
        ("Who approved flights?", "This policy ended on 31 December 2025.", [1, 2]),
        ("Who approves flights in 2025?", "This policy ended on 31 December 2025.", [1, 2]),
        ("Who approves flights?", "Flights need an approval.", [1, 2]),
    ],
)
def test_an_edition_that_has_ended_is_passed_over(question, first_line, kept):
    texts = [
        EvidenceText(1, "chunk", "", first_line, title="Travel policy 2025"),
        EvidenceText(2, "chunk", "", "Flights need an approval.", title="Travel policy 2026"),
    ]
    assert [text.number for text in in_force(question, texts)] == kept


def test_a_footnote_is_quoted_in_place_of_its_mark():
    text = EvidenceText(1, "chunk", "", "Keys are due by noon[^1].\n\n[^1]: On Sundays by six.", title="Hire")
    found = with_footnotes({"sentences": [row("Keys are due by noon[^1].")]}, [text])
    assert [one["text"] for one in found["sentences"]] == ["Keys are due by noon.", "On Sundays by six."]
    assert found["sentences"][1]["citations"] == [{"evidence": 1, "quote": "On Sundays by six."}]


def test_a_footnote_is_part_of_an_answer(tmp_path):
    (tmp_path / "hire.md").write_text(
        "# Hire terms\n\nHirers must return the keys by noon[^1]. The stage must be swept.\n\n[^1]: On Sundays by six.\n"
    )
    with KnowledgeBase() as kb:
        kb.ingest(tmp_path)
        answer = kb.ask("By when must hirers return the keys?")
    assert "[^1]" not in answer.text
    assert "On Sundays by six." in answer.text


def test_the_next_inspection_is_not_the_last_one():
    assert is_opposite("When was the last inspection?", ["The next inspection is due on 3 May."])
    assert not is_opposite("When is the next inspection?", ["The next inspection is due on 3 May."])


def test_a_condition_answers_when_in_german_and_french():
    assert not value_lacking_in("Wann ist ein Helm vorgeschrieben?", "Er ist vorgeschrieben, wenn gebaut wird.", "de")
    assert not value_lacking_in("Quand le casque est-il obligatoire ?", "Il est obligatoire si l'on bâtit.", "fr")
    assert value_lacking_in("Wann ist ein Helm vorgeschrieben?", "Ein Helm ist vorgeschrieben.", "de")
