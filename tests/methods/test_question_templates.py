"""Questions of a fixed form."""

import pytest

from kgrag.mapping import Concept, Ontology, Property
from kgrag.methods.poly_rag.question_templates import templated
from kgrag.querying.text_to_sparql.named_entities import NamedEntity

ONTOLOGY = Ontology(
    {"urn:Film": Concept("urn:Film", "film")},
    {"urn:director": Property("urn:director", "director"), "urn:birthPlace": Property("urn:birthPlace", "birthPlace")},
)


def mention(question: str, name: str) -> NamedEntity:
    start = question.index(name)
    return NamedEntity(name, start, start + len(name), f"urn:{name.replace(' ', '_')}", "urn:label")


@pytest.mark.parametrize(
    ("question", "name", "form"),
    [
        ("Who is the director of Big Fish?", "Big Fish", "values"),
        ("Who is Big Fish's director?", "Big Fish", "values"),
        ("How many directors does Big Fish have?", "Big Fish", "count"),
        ("Which films have the director Tim Burton?", "Tim Burton", "subjects"),
    ],
)
def test_the_form_is_read_from_where_the_name_stands(question: str, name: str, form: str) -> None:
    found = templated(question, [mention(question, name)], ONTOLOGY)
    assert found is not None
    assert (found.form, found.properties) == (form, ("urn:director",))


def test_the_class_that_is_asked_for_is_kept() -> None:
    question = "Which films have the director Tim Burton?"
    found = templated(question, [mention(question, "Tim Burton")], ONTOLOGY)
    assert found is not None
    assert found.concepts == ("urn:Film",)


@pytest.mark.parametrize(
    "question",
    ["Who is the first director of Big Fish?", "What about Big Fish?", "Who likes the director of Big Fish?"],
)
def test_a_word_more_or_less_is_not_read(question: str) -> None:
    assert templated(question, [mention(question, "Big Fish")], ONTOLOGY) is None


@pytest.mark.parametrize(
    "question",
    ["Is Tim Burton not the director of Big Fish?", "Has Big Fish more directors than Tim Burton?"],
)
def test_a_word_that_changes_what_is_asked_is_not_passed_over(question: str) -> None:
    """Before, both were read as "Is Tim Burton the director of Big Fish?"."""
    named = [mention(question, "Tim Burton"), mention(question, "Big Fish")]
    assert templated(question, named, ONTOLOGY) is None


def test_a_word_of_the_label_may_be_one_that_changes_others() -> None:
    above = Ontology({}, {"urn:e": Property("urn:e", "elevation above the sea level")})
    question = "What is the elevation above the sea level of Big Fish?"
    found = templated(question, [mention(question, "Big Fish")], above)
    assert found is not None
    assert found.form == "values"


def test_a_question_without_a_name_is_not_read() -> None:
    assert templated("Who is the director?", [], ONTOLOGY) is None


def test_an_ontology_without_terms_reads_nothing() -> None:
    question = "Who is the director of Big Fish?"
    assert templated(question, [mention(question, "Big Fish")], Ontology()) is None
