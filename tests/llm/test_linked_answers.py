"""Short answers over two passages, by plan; verdicts of studies. Texts are ours."""

import numpy as np
import pytest

from kgrag.answering.short_answers import named_values
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.linked_answers import linked_answer
from kgrag.llm.extractive.linked_facts import passages_of
from kgrag.llm.extractive.study_verdicts import VERDICT_FEATURES, verdict, verdict_features
from kgrag.model import Citation, Prompt

PAGES = {
    "Salt Rain": "Salt Rain is a 1957 Danish drama film directed by Mira Solen and starring Ann Lee.",
    "The Long Mill (film)": "The Long Mill( also The Mill) is a 1961 British film written and directed by Tom Ash.",
    "Mira Solen": "Mira Solen( 4 May 1901 – 12 June 1977) was a Danish-born film director. She was born in Ribe, Denmark.",
    "Tom Ash": "Thomas Ash (born 3 March 1920) is a British director. He is the son of Peter Ash and his wife Ida Holm.",
    "Peter Ash": "Peter Ash, son of Hugo Ash, was a miller who died in Leeds in 1940.",
    "Ida Holm": "Ida Holm was a Norwegian painter, the wife of Peter Ash.",
}


def evidence(*titles):
    return [EvidenceText(place, "passage", title, PAGES[title]) for place, title in enumerate(titles, 1)]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the director of film Salt Rain born?", "4 May 1901"),
        ("What is the place of birth of the director of film Salt Rain?", "Ribe"),
        ("Which film has the director who died first, Salt Rain or The Long Mill?", None),
        ("Which film has the director who was born later, Salt Rain or The Long Mill?", "The Long Mill"),
        ("Which film came out first, The Long Mill or Salt Rain?", "Salt Rain"),
        ("Who is the paternal grandfather of Tom Ash?", "Hugo Ash"),
        ("Who is the mother of the director of The Long Mill?", "Ida Holm"),
        ("Where did Tom Ash's father die?", "Leeds"),
        ("Do Tom Ash and Ida Holm have the same nationality?", "no"),
        ("How much did the film Salt Rain cost?", None),
    ],
)
def test_a_plan_is_followed_from_passage_to_passage(question, answer):
    found = linked_answer(question, passages_of(evidence(*PAGES)))
    assert (found and found.text) == answer


def test_a_comparison_names_a_sentence_for_each_step_of_both_things():
    question = "Which film has the director who was born later, Salt Rain or The Long Mill?"
    found = linked_answer(question, passages_of(evidence(*PAGES)))
    assert [step.value for step in found.steps] == ["Mira Solen", "4 May 1901", "Tom Ash", "3 March 1920"]
    assert all(step.sentence in PAGES[list(PAGES)[step.number - 1]] for step in found.steps)


class Same:
    """An embedder to which all texts are alike."""

    identity = "all-MiniLM-L6-v2"

    def embed(self, texts, kind):
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


def test_the_model_names_the_value_and_quotes_every_step():
    rows = [
        {"number": one.number, "kind": "passage", "heading": one.heading, "text": one.text} for one in evidence(*PAGES)
    ]
    question = "What is the place of birth of the director of film Salt Rain?"
    prompt = Prompt("answering/answer", "", {"question": question, "evidence": rows})
    reply = ExtractiveModel(Same).complete([prompt])[0].data
    assert [value["text"] for value in reply["values"]] == ["Ribe"]
    assert [row["citations"][0]["evidence"] for row in reply["sentences"]] == [1, 3]
    assert 0.4 < reply["confidence"] < 1


def test_a_value_that_no_citation_has_is_left_out():
    citation = Citation("She was born in Ribe.", "urn:d", "urn:c", 0, 21, sentence=0)
    reply = {"values": [{"kind": "text", "text": text, "value": ""} for text in ("Oslo", "Ribe")]}
    assert [value.text for value in named_values(reply, [citation])] == ["Ribe"]


def shares_of(*sentences):
    features = verdict_features("Does surgery improve survival?", sentences, frozenset({"surgeri"}), [frozenset()] * 3)
    assert len(features) == len(VERDICT_FEATURES)
    return {name: share for share, name in verdict(features)}


def test_a_study_that_finds_no_difference_speaks_for_no():
    denied = shares_of(
        "Ninety were followed.", "There was no significant difference (p = 0.6).", "Both did not differ."
    )
    shown = shares_of("Ninety were followed.", "Survival was significantly higher (p = 0.01).", "It improved.")
    assert denied["no"] > shown["no"]
    assert shown["yes"] > denied["yes"]
