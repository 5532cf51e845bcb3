"""The extractive model: a text mapped onto a slice of an ontology by rules."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.llm.extractive import ExtractiveModel
from kgrag.model import Prompt

STRING = "http://www.w3.org/2001/XMLSchema#string"


def class_of(label, **properties):
    rows = [
        {
            "iri": f"urn:crops#{name}",
            "label": name.replace("_", " "),
            "range": f"urn:crops#{ends}" if ends else STRING,
            "range_label": ends or "string",
        }
        for name, ends in properties.items()
    ]
    return {"iri": f"urn:crops#{label.title().replace(' ', '')}", "label": label, "comment": "", "properties": rows}


SLICE = {
    "classes": [
        class_of("crop", crop_name="", storage_guideline="", has_growing_zone="GrowingZone", has_pest="Pest"),
        class_of("growing zone", zone_name="", has_seed_variety="SeedVariety"),
        class_of("seed variety", variety_name="", has_sowing_time="SowingTime", has_seeding_rate="SeedingRate"),
        class_of("sowing time", start_date="", end_date=""),
        class_of("seeding rate", amount=""),
        class_of("pest", pest_name="", treatment=""),
    ]
}


def graph(text, ontology=SLICE):
    prompt = Prompt("og_rag/map", "", {"ontology": "", "slice": ontology, "text": text})
    completion = ExtractiveModel().complete([prompt])[0]
    assert json.loads(completion.text) == completion.data
    return completion.data["@graph"]


def test_labelled_lines_become_one_nested_thing():
    text = (
        "Crop name: Lentil\nStorage guidelines: dry and cool\n"
        "- Growing zone: Hill Zone\n- Variety: LT 7\n- Seeding rate: 45 kg/ha\n"
    )
    assert graph(text) == [
        {
            "@type": "crop",
            "crop name": "Lentil",
            "storage guideline": "dry and cool",
            "has growing zone": {
                "@type": "growing zone",
                "zone name": "Hill Zone",
                "has seed variety": {
                    "@type": "seed variety",
                    "variety name": "LT 7",
                    "has seeding rate": {"@type": "seeding rate", "amount": "45 kg/ha"},
                },
            },
        }
    ]


def test_a_repeated_name_begins_the_next_thing():
    (crop,) = graph("Crop: Lentil\nPest: aphid\nTreatment: soap spray\nPest: pod borer\nTreatment: neem")
    assert crop["has pest"] == [
        {"@type": "pest", "pest name": "aphid", "treatment": "soap spray"},
        {"@type": "pest", "pest name": "pod borer", "treatment": "neem"},
    ]


def test_a_table_gives_a_thing_a_row():
    head = "| Variety name | Seeding rate | Start date | Colour |\n|---|---|---|---|\n"
    rows = head + "| A 1 | 5 kg | 1 May | red |\n| B 2 | 6 kg | 2 May | blue |"
    first, second = graph(rows)
    assert first == {
        "@type": "seed variety",
        "variety name": "A 1",
        "has seeding rate": {"@type": "seeding rate", "amount": "5 kg"},
        "has sowing time": {"@type": "sowing time", "start date": "1 May"},
    }
    assert second["variety name"] == "B 2"


def test_the_first_heading_names_the_one_thing_that_a_text_can_be_about():
    assert graph("# Lentil\n\nStorage guideline: dry") == [
        {"@type": "crop", "crop name": "Lentil", "storage guideline": "dry"}
    ]
    assert graph("# How we came to grow it\n\nNothing else.") == []


def test_a_sentence_gives_names_figures_and_dates_beside_their_words():
    when = "sown from 1 March to 15 March at a seeding rate of 140 kg per hectare."
    text = f"Brena is an early variety for the Hill Zone, {when}"
    assert graph(text) == [
        {
            "@type": "growing zone",
            "zone name": "Hill Zone",
            "has seed variety": {
                "@type": "seed variety",
                "variety name": "Brena",
                "has sowing time": {"@type": "sowing time", "start date": "1 March", "end date": "15 March"},
                "has seeding rate": {"@type": "seeding rate", "amount": "140 kg per hectare"},
            },
        }
    ]


def test_a_name_found_once_is_known_everywhere_in_the_text():
    text = "The variety CP 12-4 stands drought. The seeding rate of CP 12-4 is 80 kg per hectare."
    assert graph(text) == [
        {
            "@type": "seed variety",
            "variety name": "CP 12-4",
            "has seeding rate": {"@type": "seeding rate", "amount": "80 kg per hectare"},
        }
    ]


def test_two_things_in_one_clause_are_not_given_each_others_figures():
    text = "The variety CP 12-4 and the variety CP 30-1 have a seeding rate of 80 kg per hectare."
    assert graph(text) == [
        {"@type": "seed variety", "variety name": "CP 12-4"},
        {"@type": "seed variety", "variety name": "CP 30-1"},
    ]


def test_what_is_denied_is_not_stated():
    (thing,) = [
        item
        for item in graph("The variety CP 12-4 is not grown in the Coastal Zone.")
        if item["@type"] == "growing zone"
    ]
    assert thing == {"@type": "growing zone", "zone name": "Coastal Zone"}


@pytest.mark.parametrize(
    "text", ["", "The treaty was signed in 1648.", "Note: see below", "# \n\n- :", "a|b\n1|2", "Zone: "]
)
def test_a_text_about_something_else_gives_nothing(text):
    assert graph(text) == []


def test_an_ontology_without_classes_gives_nothing():
    assert graph("Crop: Lentil", {"classes": []}) == []


def test_local_names_serve_where_there_are_no_labels():
    ontology = {
        "classes": [
            {"iri": "http://x#Crop", "label": "", "properties": [{"iri": "http://x#has_crop_name", "range": STRING}]}
        ]
    }
    assert graph("Crop name: Lentil", ontology) == [{"@type": "Crop", "has_crop_name": "Lentil"}]


def leaves(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner) if key != "@type" else ()
    else:
        for inner in value:
            yield from leaves(inner)


_PARTS = [
    "variety ",
    "Hill Zone",
    "Crop: ",
    "seeding rate of ",
    "40 kg/ha",
    "CP 1-2",
    "\n",
    "| ",
    "# ",
    ", and ",
    " is a ",
    "from 1 May to 2 May",
]


@given(st.lists(st.sampled_from(_PARTS) | st.text(max_size=8), max_size=14).map("".join))
def test_every_value_stands_in_the_text_word_by_word(text):
    assert all(value in text for value in leaves(graph(text)))
