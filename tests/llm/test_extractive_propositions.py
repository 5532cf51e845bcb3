"""What the extractive model makes of the prompts of SiReRAG."""

from kgrag import prompting
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.sentence_facts import facts, rewrite
from kgrag.llm.extractive.summaries import summary
from kgrag.methods.sire_rag.propositions import ChunkInContext, facts_prompt


def names(sentence: str, title: str = "") -> list[str]:
    (fact,) = facts({"title": title, "paragraphs": [{"number": 1, "text": sentence}]})["facts"]
    return fact["entities"]


def test_a_pronoun_at_the_beginning_becomes_the_title() -> None:
    assert rewrite({"title": "Ada Lovelace", "text": "She wrote notes."}) == "Ada Lovelace wrote notes."
    assert rewrite({"title": "Ada Lovelace", "text": "Her notes were read."}) == "Ada Lovelace's notes were read."


def test_a_sentence_that_names_the_title_stays_as_it_is() -> None:
    assert rewrite({"title": "Heat (film)", "text": "Heat was shot in 1995."}) == "Heat was shot in 1995."


def test_another_sentence_gets_the_title_in_front() -> None:
    assert rewrite({"title": "Heat (film)", "text": "Many liked the film."}) == "Heat (film): Many liked the film."


def test_without_a_title_nothing_is_put_in_front() -> None:
    assert rewrite({"title": "", "text": "It rained. All day."}).splitlines() == ["It rained.", "All day."]


def test_the_title_is_named_with_what_tells_it_from_others() -> None:
    assert names("Heat was directed by Michael Mann.", "Heat (film)") == ["Heat (film)", "Michael Mann"]


def test_a_word_that_begins_a_sentence_is_no_name() -> None:
    assert names("The river is long.") == []
    assert names("The Danube is long.") == ["Danube"]


def test_months_and_years_are_no_names() -> None:
    assert names("It began in March 1914.") == []


def test_a_name_of_another_script_is_found_where_it_is_the_title() -> None:
    assert names("高い。", "東京タワー") == ["東京タワー"]
    assert names("東京タワー: 高い。", "東京タワー") == ["東京タワー"]
    assert names("Лев Толстой написал роман.", "") == ["Лев Толстой"]


def test_empty_text_states_nothing() -> None:
    assert facts({"title": "A", "paragraphs": [{"number": 1, "text": ""}]}) == {"facts": []}
    assert summary({"texts": []}) == ""
    assert summary({"texts": [" "]}) == ""


def test_a_summary_copies_sentences_and_keeps_within_its_length() -> None:
    texts = [f"Barley field {number} gave {number} tonnes of grain for malt." for number in range(300)]
    said = summary({"texts": texts})
    assert 0 < len(said.split()) <= 120
    assert all(f"{sentence}." in texts for sentence in said.removesuffix(".").split(". "))


def test_a_single_long_sentence_is_its_own_summary() -> None:
    text = "barley " * 500 + "ends."
    assert summary({"texts": [text]}) == text


def test_the_model_gives_what_the_prompts_ask_for() -> None:
    model = ExtractiveModel()
    prompts = [
        prompting.render("sire_rag/rewrite", title="Heat", before="", text="It was shot."),
        facts_prompt([ChunkInContext("urn:c", "It was shot.", "Heat", "")]),
        prompting.render("sire_rag/summary", texts=["Heat was shot."]),
    ]
    first, second, third = model.complete(prompts)
    assert (first.text, third.text) == ("Heat was shot.", "Heat was shot.")
    assert second.data == {"facts": [{"paragraph": 1, "fact": "Heat was shot.", "entities": ["Heat"]}]}


def test_words_that_only_lead_to_a_name_and_kinds_of_people_are_no_names() -> None:
    assert names("Ajax: However, Ajax left.") == ["Ajax"]
    assert names("List of Danish painters.") == []


def test_initials_belong_to_a_name() -> None:
    assert names("In 1963 John F. Kennedy died.") == ["John F. Kennedy"]


def test_a_name_with_a_place_in_it_names_the_place_too() -> None:
    assert names("She left the University of Oxford.") == ["University of Oxford", "Oxford"]
