import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.server.media_types import RDF, RESULTS, choose, main_type


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "text/turtle"),
        ("application/rdf+xml, text/turtle;q=0.9", "application/rdf+xml"),
        ("text/*;q=0.2, application/n-triples;q=0.1", "text/turtle"),
        ("*/*, text/turtle;q=0", "application/n-triples"),
        ("text/turtle;q=zero", ""),
        ("Text/Turtle", "text/turtle"),
        ("text/html", ""),
    ],
)
def test_the_most_wanted_format_is_chosen(accept: str, chosen: str) -> None:
    assert choose(accept, RDF) == chosen


@settings(deadline=None)
@given(st.text())
def test_any_accept_header_gives_an_offer_or_none(accept: str) -> None:
    assert choose(accept, RESULTS) in {"", *RESULTS}


def test_a_content_type_gives_its_type_and_character_set() -> None:
    assert main_type('Text/Turtle; Charset="UTF-8"') == ("text/turtle", "utf-8")
    assert main_type("text/turtle") == ("text/turtle", "")
