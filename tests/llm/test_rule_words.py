"""A question whether something is allowed is answered by what is said of that thing, with whatever word of rules."""

import pytest

from kgrag.llm.extractive.evidence_answers import reply
from kgrag.llm.extractive.rule_words import topic_lacking

LEASE = (
    "Lackierarbeiten mit scharfen Lacken sind in den Räumen nicht erlaubt; milde Lacke sind in den Räumen erlaubt. "
    "Das Halten von Hunden ist im Hof gestattet, in den Räumen nicht. Der Vermieter hält das Dach instand."
)
BOOKLET = (
    "Le télétravail est autorisé deux jours par semaine et doit être autorisé par écrit. La cantine ferme à midi. "
    "Le télétravail depuis l'étranger est interdit."
)


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        (
            "Sind Hunde in den Räumen erlaubt?",
            LEASE,
            "Das Halten von Hunden ist im Hof gestattet, in den Räumen nicht.",
        ),
        (
            "Le télétravail depuis l'étranger est-il autorisé ?",
            BOOKLET,
            "Le télétravail depuis l'étranger est interdit.",
        ),
    ],
)
def test_the_sentence_about_the_thing_answers(question, text, said):
    evidence = [
        {"number": 1, "kind": "chunk", "heading": "", "text": text, "source": "", "before": "", "following": ""}
    ]
    found = reply({"question": question, "evidence": evidence})
    assert [row["text"] for row in found["sentences"]] == [said]


def test_a_word_of_rules_or_its_opposite_is_no_topic():
    assert topic_lacking("Wurde der Antrag angenommen?", {"antrag", "abgelehnt"}, "de") == ""
    assert topic_lacking("Sind Hunde erlaubt?", {"lack", "erlaubt"}, "de") == "hund"
