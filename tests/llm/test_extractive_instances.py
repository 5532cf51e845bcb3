"""Instances of attributes in text by rules: which end is the subject, which value a cue leads to, what is no value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.sentence_facts import mentions
from kgrag.model import Prompt


def found(text: str, label: str, range_: str = "") -> list[tuple[str, str]]:
    term = {"label": label, "range_label": range_, "own": True}
    variables = {
        "slice": {"classes": [{"label": "Thing", "properties": [term]}]},
        "title": "",
        "triples": False,
        "paragraphs": [{"number": 1, "text": text}],
    }
    (completion,) = ExtractiveModel().complete([Prompt("poly_rag/facts", "", variables)])
    return [(one["name"], said["value"]) for one in completion.data["things"] for said in one["attributes"]]


@pytest.mark.parametrize(
    ("text", "label", "pairs"),
    [
        ("Auron was created by Ann Lee and Bo Oak.", "creator", [("Auron", "Ann Lee"), ("Auron", "Bo Oak")]),
        ("Ann Lee created Auron.", "creator", [("Auron", "Ann Lee")]),
        ("Ann Lee is the director of Big Fish.", "director", [("Big Fish", "Ann Lee")]),
        ("The director of Big Fish is Ann Lee.", "director", [("Big Fish", "Ann Lee")]),
        ("Big Fish's director is Ann Lee.", "director", [("Big Fish", "Ann Lee")]),
        ("Ann Lee was born in Bath.", "birthPlace", [("Ann Lee", "Bath")]),
        ("Ann Lee (born 9 August 1963 in Bath) sings.", "birthPlace", [("Ann Lee", "Bath")]),
        ("Bath is the birth place of Ann Lee.", "birthPlace", [("Ann Lee", "Bath")]),
        ("Big Fish was shot in Bath, which is led by Bo Oak.", "leader", [("Bath", "Bo Oak")]),
        ("Ann Lee lives in Leeds. She was born in Bath.", "birthPlace", [("Ann Lee", "Bath")]),
        ("Love on Wheels is a film directed by Ann Lee.", "director", [("Love on Wheels", "Ann Lee")]),
        ("Ann Lee was an English poet and painter.", "occupation", [("Ann Lee", "poet"), ("Ann Lee", "painter")]),
    ],
)
def test_the_wording_says_which_end_is_the_subject(text: str, label: str, pairs: list[tuple[str, str]]) -> None:
    assert found(text, label) == pairs


@pytest.mark.parametrize(
    ("text", "label", "range_", "pairs"),
    [
        ("Ann Lee was born in Bath on 9 August 1963.", "birthDate", "Date", [("Ann Lee", "9 August 1963")]),
        ("Ann Lee was born in Bath on 9 August 1963.", "birthYear", "Year", [("Ann Lee", "1963")]),
        ("Ann Lee was born on 9 August 1963.", "birthPlace", "Place", []),
        ("1097 Vicia has a temperature of 171 kelvins.", "temperature", "number", [("1097 Vicia", "171")]),
        ("Bath Airport has a runway length of 3,800.", "runwayLength", "number", [("Bath Airport", "3,800")]),
    ],
)
def test_a_value_is_of_the_kind_that_the_attribute_has(
    text: str, label: str, range_: str, pairs: list[tuple[str, str]]
) -> None:
    assert found(text, label, range_) == pairs


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Ann Lee painted Auron.", "director"),
        ("The song was composed by Bo Oak.", "composer"),
        ("", "director"),
        ("Ann Lee directed.", "director"),
        ("Ann Lee directed Ann Lee.", "director"),
    ],
)
def test_without_a_cue_a_subject_or_a_value_nothing_is_said(text: str, label: str) -> None:
    assert found(text, label) == []


def test_a_number_at_the_start_belongs_to_the_name_and_a_year_does_not() -> None:
    assert [one.text for one in mentions("1097 Vicia is large.")] == ["1097 Vicia"]
    assert [(one.text, one.kind) for one in mentions("In 1963 Ann Lee met Bo.")] == [
        ("1963", "date"),
        ("Ann Lee", "name"),
        ("Bo", "name"),
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.text(alphabet="Aab ,.'s(19of-by\"", max_size=60), st.sampled_from(["director", "birthDate", "height", "party"])
)
def test_every_subject_and_value_is_copied_from_the_text(text: str, label: str) -> None:
    plain = " ".join(text.split())
    for subject, value in found(text, label):
        assert subject in plain
        assert value in plain
