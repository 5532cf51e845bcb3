"""Values of an attribute of a thing, read from sentences by rules."""

import pytest

from kgrag.llm.extractive.asked_values import asked_values


@pytest.mark.parametrize(
    ("thing", "label", "range_", "text", "values"),
    [
        ("Ann Lee", "genre", "Genre", "The musical genre of Ann Lee is rhythm and blues.", ["rhythm and blues"]),
        ("NR-1", "body style", "", "The NR-1, with a two door body style, is from 1969.", ["two door"]),
        (
            "Oak Hall",
            "floor count",
            "number",
            "Oak Hall has an area of 3746.66 square metres over 3 floors.",
            ["3"],
        ),
        (
            "Oak Hall",
            "owner",
            "Organisation",
            "The owner of Oak Hall is the College of Mary and it is red.",
            ["College of Mary"],
        ),
        ("Mary Mill", "nationality", "Country", "The American Mary Mill drew it with Ann.", ["United States"]),
        ("Mexico", "area total", "number", "New Mexico has a total area of 490.9 km.", []),
        ("Oak Hall", "leader", "Person", "Jo Bell, who is the leader of Spain, lives in Oak Hall.", []),
        ("Bath", "leader", "Person", "The leader of Bath is Jo Bell. The currency is the pound.", ["Jo Bell"]),
        (
            "Raúl Sendic",
            "birth date",
            "Date",
            "Raul Sendic was born on the 5th May, 1913 in Asuncion.",
            ["5th May, 1913"],
        ),
        ("Airman (comics)", "creator", "Person", "Airman, AKA Drake, was created by Ann Lee.", ["Ann Lee"]),
        ("Bakso", "ingredient", "", "Rice is from Java.", []),
    ],
)
def test_a_sentence_is_read_for_what_is_asked(
    thing: str, label: str, range_: str, text: str, values: list[str]
) -> None:
    assert [one.text for one in asked_values(thing, label, range_, [text])] == values


def test_a_pronoun_stands_for_the_thing_of_the_sentence_before() -> None:
    text = "1036 Ganymed has an epoch of 2004. Its orbital period is 374976 seconds. The period of Hera is 3 days."
    (value,) = asked_values("1036 Ganymed", "orbital period", "number", [text])
    assert value.text == "374976"
    assert [text[start:end] for _, start, end in value.places] == ["Its orbital period is 374976 seconds."]


def test_most_sentences_decide_and_other_values_of_half_as_many_stay() -> None:
    texts = ["Bath has a population of 90,000.", "The population of Bath is 88,859.", "Bath's population: 88,859."]
    assert [one.text for one in asked_values("Bath", "population total", "number", texts)] == ["88,859"]
    dishes = ["Bakso is made with celery.", "An ingredient of Bakso is celery.", "Rice is an ingredient of Bakso."]
    assert [one.text for one in asked_values("Bakso", "ingredient", "", dishes)] == ["celery", "Rice"]
