"""Short answers: cut out of the sentences of an answer by what the question asks for."""

from decimal import Decimal

import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.answering.json_forms import answer_json, value_json
from kgrag.answering.kept_answers import answer_draft
from kgrag.answering.short_answers import short_answers
from kgrag.cli.printing import answer_text
from kgrag.model import Answer, Citation, Hit, Value
from kgrag.vocab import RDF, XSD, Names


def values_of(question, *sentences, headings=()):
    citations = [
        Citation(quote=text, document="urn:d", chunk="urn:c", start=0, end=len(text), sentence=place)
        for place, text in enumerate(sentences)
    ]
    return short_answers(question, sentences, citations, headings)


@pytest.mark.parametrize(
    ("question", "sentence", "kind", "text", "value"),
    [
        ("How many slots are reserved?", "The default is three slots.", "number", "three slots", "3"),
        ("What is the default of gc.auto?", "The default value is 6700.", "number", "6700", "6700"),
        ("How many varieties are sown?", "With 160 kg a hectare, 3 varieties are sown.", "number", "3 varieties", "3"),
        ("How many rows fit?", "At most 1,600 columns fit.", "number", "1,600 columns", "1600"),
        ("When was Ann Lee born?", "Ann Lee was born on 4 May 1901 in Bath.", "date", "4 May 1901", "1901-05-04"),
        ("When did it come out?", "It was released in August, 2021.", "date", "August, 2021", "2021-08"),
        ("In what year was the mill built?", "The mill was built in May 1898.", "date", "1898", "1898"),
        ("Where was Ann Lee born?", "Ann Lee was born in Bath, England.", "text", "Bath", ""),
        (
            "When was the canal dug?",
            "The canal was dug between 1908 and 1913.",
            "date",
            "between 1908 and 1913",
            "1908/1913",
        ),
        ("Which variety is sown?", "The variety LT 7 is sown.", "text", "LT 7", ""),
        ("Who directed Rain?", "Rain is a 1957 film directed by Mira Solen.", "text", "Mira Solen", ""),
        ("Since which version does it exist?", "New in version 3.7.", "text", "3.7", ""),
        ("What is Ann Lee's occupation?", "Ann Lee was an English singer.", "text", "singer", ""),
        ("Is the port 22 or 80?", "The default port is 22.", "choice", "22", ""),
        ("Is the cache on by default?", "The default is off.", "boolean", "no", "false"),
        ("Can the main tree be removed?", "The main tree cannot be removed.", "boolean", "no", "false"),
        ("Does the module read files?", "The module reads files.", "boolean", "yes", "true"),
    ],
)
def test_a_value_of_the_kind_asked_for_is_cut_out(question, sentence, kind, text, value):
    found = values_of(question, sentence)[0]
    assert (found.kind, found.text, found.value) == (kind, text, value)
    assert found.citation == 0


def test_of_two_films_the_earlier_one_is_chosen_by_the_dates_of_their_sentences():
    sentences = ("Blind Shaft is a 2003 film.", "The Mask is a film of 1932.")
    assert values_of("Which film came out first, Blind Shaft or The Mask?", *sentences)[0].text == "The Mask"


def test_an_identifier_is_no_number():
    assert values_of("What is the ISBN of the book?", "The book has the ISBN 318875313.") == ()


def test_the_date_of_one_event_is_no_answer_to_a_question_about_all_of_them():
    said = "The first leap second was inserted on 1 January 1972."
    assert values_of("When is a leap second inserted?", said) == ()
    assert [value.value for value in values_of("When was the first leap second inserted?", said)] == ["1972-01-01"]


def test_a_value_that_no_quote_contains_is_left_out():
    citation = Citation(quote="The rate is 65 kg.", document="urn:d", chunk="urn:c", start=0, end=18)
    assert short_answers("How much is the rate?", ["The rate is 80 kg."], [citation]) == ()


def test_json_has_values_in_the_types_of_json():
    assert value_json(Value("boolean", "no", "false", citation=0))["value"] is False
    assert value_json(Value("number", "2.5 t", "2.5", "t"))["value"] == Decimal("2.5")


def test_short_answers_and_confidence_are_kept_as_triples_that_conform(demo_kb: KnowledgeBase) -> None:
    answer = demo_kb.ask("When is chickpea sown in the Hill Zone?")
    value = Value("number", "25 kg", "25", "kg", citation=0)
    kept = Answer(
        **{name: getattr(answer, name) for name in ("question", "text", "method", "citations", "hits")},
        values=(value,),
        confidence=0.75,
    )
    demo_kb.keep(kept)
    rows = demo_kb.query(
        "SELECT ?value ?unit ?quote WHERE { ?short a kg:ShortAnswer ; rdf:value ?value ; kg:unit ?unit ; "
        "prov:wasDerivedFrom/kg:quote ?quote ; dcterms:isPartOf/kg:confidence ?confidence }"
    )
    assert rows.values() == [("25", "kg", answer.citations[0].quote)]
    assert shacl.validate(demo_kb.store, shacl.graph_shapes()) == []


def test_without_an_answer_the_nearest_passages_are_shown_with_their_best_sentence_marked(demo_kb) -> None:
    answer = demo_kb.ask("Which emperor abolished the tax on chickpea?")
    assert answer.unknown
    assert answer_json(answer)["nearest"][0]["quote"] == answer.nearest[0].quote
    assert f"»{' '.join(answer.nearest[0].quote.split())}«" in answer_text(answer)


def test_an_explained_answer_says_what_found_each_hit_and_at_which_rank():
    hit = Hit("urn:c", "passage", "Rain is a film.", 1.25, (), {"found_by": {"passages": 1, "names": 4}})
    answer = Answer("Is it?", "Rain is a film.", "auto", hits=(hit,))
    assert "  1.250  passage (passages 1, names 4)  Rain is a film." in answer_text(answer, explain=True)


def test_an_interval_is_kept_as_a_text_and_not_as_a_year():
    value = Value("date", "between 1908 and 1913", "1908/1913")
    answer = Answer("When was the canal dug?", "text", "passages", values=(value,))
    typed = [triple.object for triple in answer_draft(answer, names=Names()).triples if triple.predicate == RDF.value]
    assert [(one.value, one.datatype) for one in typed] == [("1908/1913", XSD.string)]


def test_a_contrary_of_a_word_of_the_question_makes_a_yes_a_no():
    said = "Some commands, for instance DROP TABLE, are forced to commit synchronously."
    assert [value.text for value in values_of("Is DROP TABLE committed asynchronously?", said)] == ["no"]
    assert [value.text for value in values_of("Is DROP TABLE committed synchronously?", said)] == ["yes"]


@pytest.mark.parametrize(
    ("question", "sentence", "texts"),
    [
        ("What does the parameter set?", "Specifies the number of slots of the Sender.", []),
        ("Which header is needed?", "However, it is optional.", []),
        ("Which variety is early?", "Brena is an early variety.", ["Brena"]),
        ("Which weekday does 6 mean?", "0 means Sunday, 1 means Monday, 6 means Saturday.", ["Saturday"]),
        (
            "Which variables are set?",
            "SHELL is set to /bin/sh, and LOGNAME and HOME from it.",
            ["SHELL", "LOGNAME", "HOME"],
        ),
        ("What was the name of the first server?", "Jeeves was written by Ann Lee for ARPA and DEC.", ["Jeeves"]),
    ],
)
def test_a_name_is_given_where_one_is_asked_for_and_no_word_that_opens_a_sentence(question, sentence, texts):
    assert [value.text for value in values_of(question, sentence)] == texts


@pytest.mark.parametrize(
    ("question", "sentence", "texts"),
    [
        ("How many zones are there?", "There are three growing zones.", ["three"]),
        ("How many varieties are there?", "The varieties are LT 11 and LT 7.", []),
        ("How often is it watered?", "It is sown from 1 March to 15 March 2001, and not since 1998.", []),
        ("What is the largest minute?", "The minute is 0-59.", []),
        ("What is the limit of the note?", "The limit is in the note [9].", []),
        ("What does it use by default?", "By default, one local server is used.", []),
        ("How much did it cost?", "It cost 47 billion.", ["47 billion"]),
        ("How often does it wake up?", "It wakes up every 5 minutes at 3 degrees.", ["every 5 minutes"]),
    ],
)
def test_digits_of_names_dates_ranges_and_notes_count_nothing(question, sentence, texts):
    assert [value.text for value in values_of(question, sentence)] == texts


@pytest.mark.parametrize(
    ("question", "sentence", "headings", "texts"),
    [
        ("Is Solveig an early variety?", "Solveig is a late variety.", (), []),
        ("Is Solveig a late variety?", "Solveig is a late variety.", (), ["yes"]),
        ("Does the canal serve the Hill Zone?", "The canal serves the River Zone only.", (), []),
        ("Is --prune of gc on by default?", "--prune is on by default.", ("git gc",), ["yes"]),
        (
            "Is an empty log rotated by default?",
            "An empty log is rotated by default, overriding no\u2010 tifempty.",
            (),
            ["yes"],
        ),
        ("Is a Bcc line removed if -t is not given?", "If -t is not given, any Bcc line is not removed.", (), ["no"]),
        ("Can HOME be set?", "HOME can be set; LOGNAME can not.", (), ["yes"]),
        ("Can LOGNAME be set?", "HOME can be set; LOGNAME can not.", (), ["no"]),
        ("Is Brena an early or a late variety?", "Solveig is a late variety.", (), []),
        ("Is Brena an early or a late variety?", "Brena is an early variety.", (), ["early"]),
        ("Is the Coastal Zone dry or humid?", "The Hill Zone is dry, and the Coastal Zone is humid.", (), ["humid"]),
        ("Was A5 or B7 built first?", "In the year in which A5 was built, B7 was.", (), []),
    ],
)
def test_yes_needs_a_sentence_that_states_all_that_is_asked(question, sentence, headings, texts):
    assert [value.text for value in values_of(question, sentence, headings=headings)] == texts


def test_two_questions_have_a_value_each():
    said = ("It was founded in 1962 in Ostrel.", "Ida Vask leads the station.")
    assert [value.text for value in values_of("When was it founded and who leads the station?", *said)] == [
        "1962",
        "Ida Vask",
    ]


def test_a_second_verb_of_the_same_subject_is_no_second_question():
    said = "Lentil needs loam and should be stored cool."
    assert values_of("Which crop needs loam and should be stored cool?", said)[0].text == "Lentil"


def test_of_several_facts_none_is_said_to_be_the_largest():
    texts = ("Lentil, Hill Zone – rate: 40 kg.", "Lentil, River Zone – rate: 50 kg.")
    citations = [
        Citation(quote=f"Crop rate: {text[-6:-1]}", document="urn:d", chunk="urn:c", start=0, end=9, sentence=place)
        for place, text in enumerate(texts)
    ]
    assert short_answers("What is the largest amount of lentil?", texts, citations) == ()
    assert short_answers("What is the amount of lentil?", texts, citations)[0].text == "40 kg"


def test_what_each_of_two_is_does_not_say_which_is_more_of_it():
    question = "Which ship is faster, the Heron or the Skylark?"
    values = "The Skylark reaches 22 knots, while the Heron reaches 18 knots."
    compared = "The Skylark is faster than the Heron."
    for sentence, expected in ((values, []), (compared, ["Skylark"])):
        cited = [Citation(sentence, "urn:d", "urn:c", 0, len(sentence))]
        assert [one.text for one in short_answers(question, [sentence], cited)] == expected
