"""Questions about two names, and yes, no or maybe from the abstract of a study."""

import pytest

from kgrag.llm.extractive import evidence_answers
from kgrag.llm.extractive.study_findings import FEATURES, WEIGHTS, findings_features

PASSAGES = {
    "Mira Solen": "Mira Solen is a Welsh guitarist and singer. She was educated in Leeds.",
    "Odo Fahr": "Odo Fahr (born 1950) is a German bassist, guitarist and singer. He lives in Bath.",
    "Karl Lee": "Karl Lee is an American film director and producer who grew up in York.",
    "Eva Bray": "Eva Bray was a British film director.",
    "Oxlipia": "Oxlipia is a genus of herbs. It contains 12 known species from Chile.",
    "Woldia": "Woldia is a genus of about 1,200 species of trees.",
    "Leeds Tower": "Leeds Tower is an office building of 120 m.",
    "York Spire": "York Spire is a church tower, which is 300 feet tall.",
    "Xing, Jiang": "Xing is a county-level city in Jiang.",
    "Bai": "Bai is a prefecture-level town in Gansu.",
}


def ask(question, *titles, texts=None):
    shown = texts or {title: PASSAGES[title] for title in titles or PASSAGES}
    evidence = [
        {"number": number, "kind": "passage", "heading": title, "title": title, "text": text}
        for number, (title, text) in enumerate(shown.items(), 1)
    ]
    return evidence_answers.reply({"question": question, "evidence": evidence})


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Are Mira Solen and Odo Fahr both guitarists?", "yes"),
        ("Are Mira Solen and Odo Fahr both German guitarists?", "no"),
        ("Were both Mira Solen and Karl Lee guitarists?", "no"),
        ("Which genus has more species, Oxlipia or Woldia?", "Woldia"),
        ("Which genus contains fewer species, Oxlipia or Woldia?", "Oxlipia"),
        ("Which building is taller, Leeds Tower or York Spire?", "Leeds Tower"),
        ("Which building is taller York Spire or Leeds Tower?", "Leeds Tower"),
        ("Which musician was educated in Leeds, Odo Fahr or Mira Solen?", "Mira Solen"),
        ("Which musician is from Germany, Odo Fahr or Mira Solen?", "Odo Fahr"),
        ("Is Bai or Xing, Jiang a county-level city?", "Xing, Jiang"),
        ("What profession did Karl Lee and Eva Bray both hold?", "film director"),
        ("What occupation do Mira Solen and Odo Fahr have in common?", "guitarist"),
    ],
)
def test_two_names_are_compared_by_the_passages_about_them(question, text):
    reply = ask(question)
    assert reply["values"][0]["text"] == text
    assert 0 < reply["confidence"] < 1
    for sentence in reply["sentences"]:
        assert any(sentence["citations"][0]["quote"] in text for text in PASSAGES.values())


def test_a_name_without_a_passage_is_looked_up_and_what_cannot_be_read_is_not_guessed():
    assert ask("Are Mira Solen and Odo Fahr both guitarists?", "Mira Solen")["look_up"] == ["Odo Fahr"]
    for question in (
        "Which musician is not from Germany, Odo Fahr or Mira Solen?",
        "Which genus has more species, Oxlipia or Karl Lee?",
    ):
        assert not ask(question).get("values")


@pytest.mark.parametrize("question", ["Is Leeds Tower old or new?", "Is the Leeds Tower tall or small?"])
def test_what_is_no_name_is_not_looked_up(question):
    assert "" not in ask(question).get("look_up", [])


STUDY = "We asked 45 patients in a randomised trial. {} The survey had a median of 3 answers from respondents; see the cohort."


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ("Salt significantly reduced pain (p < 0.01) and was associated with better sleep (p < 0.001).", "yes"),
        ("Salt did not reduce pain (p = 0.6), with no significant effect on pain. Pain was similar (p = 0.8).", "no"),
    ],
)
def test_yes_or_no_follows_from_how_a_study_words_its_results(found, text):
    reply = ask("Does salt reduce pain? Is it really needed?", texts={"": STUDY.format(found)})
    assert reply["values"][0]["text"] == text
    assert reply["sentences"][0]["citations"][0]["quote"] in found


def test_only_a_closed_question_about_a_study_is_answered_so():
    found = STUDY.format("Salt significantly reduced pain (p < 0.01).")
    assert not ask("What reduces pain?", texts={"": found}).get("values")
    assert not ask("Does salt reduce pain?", texts={"": "Salt reduces pain."}).get("values")
    assert not ask("Is salt or sugar better?", texts={"": found}).get("values")
    for either in ("Does salt or sugar reduce pain?", "Salt or sugar in pain (or not): is it the same?"):
        assert ask(either, texts={"": found})["values"][0]["text"] == "yes"
    assert ask("Does salt help?", texts={"": "Salt was associated with sleep in 40 patients at a hospital."})["values"]
    assert not ask("Does mv write?", texts={"": "mv writes what groups mean."}).get("confidence")
    assert len(findings_features("Does it?", "")) == len(FEATURES) == len(WEIGHTS)
