"""Questions that go from a name over relations to a value, followed through passages with titles."""

import pytest

from kgrag.answering.further_evidence import with_looked_up
from kgrag.llm.extractive import evidence_answers
from kgrag.model import Completion, Hit

PASSAGES = {
    "Rain over Bath (1957 film)": "Rain over Bath is a 1957 British drama film directed, produced and written by Mira "
    "Solen. It was released on 4 May 1957.",
    "Dry Season": "Dry Season is a 1957 Indian film starring Ann Lee. It was directed by Odo Fahr and released in "
    "March 1957.",
    "Mira Solen": "Mira Solen( 3 April 1901 – 12 June 1960) was an English-born Welsh film director. Her father died in "
    "York in 1911. She was born in Bath, Somerset and died in Leeds.",
    "Odo Fahr": "Odo Fahr (born Otto Fahrner, 9 October 18988 December 1970) was a German-born American director. Born "
    "in Ulm, Fahr moved to Boston.",
    "Ann Lee, 2nd Duchess of Rain": "Ann Lee, 2nd Duchess of Rain (b. 1801 – d. Rain, 1850) was the youngest daughter "
    "of Countess Eva of Bray and her husband Count Karl Lee.",
    "Karl Lee": "Karl Lee (c. 1770 – 9 July 1831) was a soldier and banker. He was buried in Bray.",
    "The Gleaner": "The Gleaner is a weekly. It has been in publication since 1885.",
    "Oxlip": "Oxlip is a rock band from Leeds. Formed in 1998 by two singers, it has published a paper.",
    "Wold": "Wold is a rock band from York, which was formed in 2001.",
    "Vera Odell": "Vera Odell (Ghent, 25 October 1952) is a Belgian-born former party politician living in Rome.",
    "Tess Moor": "Tess Moor (born 4 June 1980) in Strabane, Northern Ireland is an Austrian-born senior diplomat.",
    "Lou Hart": "Lou Hart is an American dance pop singer from Perth, Western Australia.",
    "Lea Hart": "Lea Hart is a retired cyclist from France.",
    "Eva of Bray": "Eva of Bray was a painter. She died on 2 May 1840.",
}


def ask(question, *titles, looked_up=False):
    evidence = [
        {"number": number, "kind": "passage", "heading": title, "title": title, "text": PASSAGES[title]}
        | ({"looked_up": True} if looked_up else {})
        for number, title in enumerate(titles or PASSAGES, 1)
    ]
    return evidence_answers.reply({"question": question, "evidence": evidence})


@pytest.mark.parametrize(
    ("question", "text", "value", "steps"),
    [
        ("Where was the director of film Rain Over Bath born?", "Bath, Somerset", "", 2),
        ("In which city was the director of Rain over Bath born?", "Bath", "", 2),
        ("What is the date of death of the director of Rain over Bath (1957 Film)?", "12 June 1960", "1960-06-12", 2),
        ("When did Ann Lee, 2nd Duchess of Rain's father die?", "9 July 1831", "1831-07-09", 2),
        ("When did the mother of Ann Lee, 2nd Duchess of Rain die?", "2 May 1840", "1840-05-02", 2),
        ("Where was the director of Dry Season born?", "Ulm", "", 2),
        ("What nationality is the director of Dry Season?", "American", "United States", 2),
        ("What is Karl Lee's occupation?", "soldier", "", 1),
        ("What is Vera Odell's occupation?", "politician", "", 1),
        ("What is Tess Moor's occupation?", "diplomat", "", 1),
        ("In what city was Vera Odell born?", "Ghent", "", 1),
        ("In what city was Tess Moor born?", "Strabane", "", 1),
        ("In what city was Lou Hart born?", "Perth", "", 1),
        ("Which film is the oldest, Dry Season or Rain over Bath?", "Dry Season", "", 2),
        ("Which film has the director who was born earlier, Rain over Bath or Dry Season?", "Dry Season", "", 4),
        ("Which film came out later, Rain Over Bath or Dry Season?", "Rain Over Bath", "", 2),
        ("Which magazine was published first, Dry Season or The Gleaner?", "The Gleaner", "", 2),
        ("Which band was formed first, Wold or Oxlip?", "Oxlip", "", 2),
        ("Which band was formed first Wold or Oxlip?", "Oxlip", "", 2),
        ("Who lived longer, Mira Solen or Odo Fahr?", "Odo Fahr", "", 2),
        ("Do both films Rain over Bath and Dry Season have directors from the same country?", "no", "false", 4),
    ],
)
def test_each_step_is_a_sentence_and_the_value_is_in_the_last(question, text, value, steps):
    reply = ask(question)
    assert (reply["values"][0]["text"], reply["values"][0]["value"]) == (text, value)
    assert len(reply["sentences"]) == steps
    for sentence in reply["sentences"]:
        (citation,) = sentence["citations"]
        assert citation["quote"] in list(PASSAGES.values())[citation["evidence"] - 1]


def test_a_name_that_no_passage_is_about_is_to_be_looked_up():
    question = "Where was the director of Rain over Bath born?"
    first = ask(question, "Rain over Bath (1957 film)", "Dry Season")
    assert first["look_up"] == ["Mira Solen"]
    assert "values" not in first
    again = ask(question, "Rain over Bath (1957 film)", "Dry Season", "Mira Solen", looked_up=True)
    assert again["values"][0]["text"] == "Bath, Somerset"


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("When did the director of Dry Season marry?", ""),  # no such relation
        (f"Who is the {'father of the ' * 40}father of Ann Lee?", ""),  # too many steps
        ("What is Odo Fahr's cause of death?", ""),  # one step
        ("Where did the director of Dry Season die?", "the death place of Odo Fahr"),
        ("Which film came out first, Rain over Bath or Wet Season?", "the release date of Wet Season"),
        ("When did the composer of Dry Season die?", "the composer of Dry Season"),
        ("Where was the mother of the director of Dry Season born?", "the mother of Odo Fahr"),
        ("Which film came out first, Dry Season or Dry Season?", "a difference in release date between Dry Season and"),
        ("In what city was Lea Hart born?", "the birth city of Lea Hart"),
        ("What is Lea Hart's job at Rain?", ""),
    ],
)
def test_an_unsure_step_of_several_is_named_in_place_of_a_guess(question, step):
    reply = ask(question)
    assert "values" not in reply
    assert reply.get("not_stated", "").startswith(step)
    if step:
        assert (reply["unknown"], reply["sentences"]) == (True, [])
        assert reply["nearest"]
        assert step in reply["reason"]
    else:
        assert "not_stated" not in reply


def test_a_sentence_with_all_words_of_a_question_answers_it_without_steps():
    evidence = [{"number": 1, "kind": "passage", "title": "Notes", "text": "The director of Dry Season died in Ulm."}]
    question = "Where did the director of Dry Season die?"
    assert not evidence_answers.reply({"question": question, "evidence": evidence})["unknown"]


def test_what_is_missing_after_a_look_up_takes_the_place_of_what_was_missing_before():
    first = Completion(
        "", {"unknown": True, "look_up": ["Odo"], "not_stated": "the birth place of Odo", "nearest": [1]}
    )
    again = Completion("", {"unknown": True, "not_stated": "the death place of Odo", "reason": "Nothing."})
    hits = [Hit("urn:a", "passage", "", 1.0)]
    found, reply = with_looked_up(hits, first, lambda _: [Hit("urn:b", "passage", "", 1.0)], lambda _: again)
    assert found == hits
    assert reply.data == {**first.data, "not_stated": "the death place of Odo", "reason": "Nothing."}
    assert with_looked_up(hits, first, lambda _: [Hit("urn:b", "passage", "", 1.0)], lambda _: first) is None
