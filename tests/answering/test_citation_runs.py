"""Citations of one sentence that stand near each other are one run of the text."""

import pytest

from kgrag.answering.citation_runs import in_runs
from kgrag.answering.evidence_pieces import SourceChunk
from kgrag.model import Citation, Span

TEXT = "quiet_hours\n    When no gate moves. The default is 22 to 6.\n" + "A line of other things. " * 30 + "The end."
SOURCE = SourceChunk(TEXT, Span("urn:c", "urn:d", 100, 100 + len(TEXT)))


def citation(quote: str, *, chunk: str = "urn:c", derived: str = "") -> Citation:
    start = 100 + TEXT.index(quote)
    return Citation(quote, "urn:d", chunk, start, start + len(quote), 0, derived)


def test_pieces_near_each_other_are_cited_with_what_stands_between() -> None:
    pieces = [citation("The default is 22 to 6."), citation("The end."), citation("quiet_hours")]
    run, end = in_runs(pieces, {"urn:c": SOURCE})
    assert run.quote == "quiet_hours\n    When no gate moves. The default is 22 to 6."
    assert TEXT[run.start - 100 : run.end - 100] == run.quote
    assert end == pieces[1]


def test_whole_sentences_stay_apart() -> None:
    pieces = (citation("When no gate moves."), citation("The default is 22 to 6."))
    assert in_runs(pieces, {"urn:c": SOURCE}) == pieces


def test_words_of_a_model_and_other_chunks_stay_as_they_are() -> None:
    pieces = [citation("quiet_hours"), citation("When no gate moves.", derived="words"), citation("The", chunk="urn:x")]
    assert in_runs(pieces, {"urn:c": SOURCE}) == tuple(pieces)


def test_a_piece_within_another_is_not_cited_again() -> None:
    pieces = [citation("When no gate moves. The default is 22 to 6."), citation("no gate moves")]
    assert in_runs(pieces, {"urn:c": SOURCE}) == (pieces[0],)


LINES = """Crops of zones

Dr Lee visited Hull. He went home.

In this year the zones grew:

* Rye, Hill Zone
* Oats, Coast Zone

Crop | Zone | Yield
Rye | Hill Zone | 20
Oats | Coast Zone | 21

Barley, Lake Zone

It is sown there since May.
"""


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        ("Lee visited Hull", ["Lee visited Hull"]),
        ("Dr Lee", ["Dr Lee visited Hull."]),
        ("Oats, Coast Zone", ["In this year the zones grew:\n\n* Rye, Hill Zone\n* Oats, Coast Zone"]),
        ("Rye | Hill Zone", ["Crop | Zone | Yield\nRye | Hill Zone | 20"]),
        ("Coast Zone | 21", ["Crop | Zone | Yield", "Oats | Coast Zone | 21"]),
        ("Barley, Lake Zone", ["Barley, Lake Zone\n\nIt is sown there since May."]),
    ],
)
def test_names_alone_are_cited_with_what_says_something_of_them(quote: str, expected: list[str]) -> None:
    start = LINES.index(quote)
    source = SourceChunk(LINES, Span("urn:c", "urn:d", 0, len(LINES)))
    found = in_runs([Citation(quote, "urn:d", "urn:c", start, start + len(quote))], {"urn:c": source})
    assert [one.quote for one in found] == expected
    assert all(LINES[one.start : one.end] == one.quote for one in found)


WRAPPED = "When there are five keepers or fewer for\na week, the warden may name new keepers until\nthere are six. Rain is rare.\n"


@pytest.mark.parametrize(
    ("quoted", "cited"),
    [
        (["When there are five keepers or fewer for", "there are six."], [WRAPPED[: WRAPPED.index(" Rain")]]),
        (["When there are five keepers"], [WRAPPED[: WRAPPED.index(" Rain")]]),
        (["the warden may name new keepers"], ["the warden may name new keepers"]),
        (["Rain is rare."], ["Rain is rare."]),
    ],
)
def test_lines_of_a_wrapped_sentence_and_conditions_are_cited_with_it(quoted: list[str], cited: list[str]) -> None:
    source = SourceChunk(WRAPPED, Span("urn:c", "urn:d", 0, len(WRAPPED)))
    places = [(WRAPPED.index(quote), quote) for quote in quoted]
    citations = [Citation(quote, "urn:d", "urn:c", at, at + len(quote)) for at, quote in places]
    assert [one.quote for one in in_runs(citations, {"urn:c": source}, of_facts=["urn:c"])] == cited


def test_citations_that_overlap_are_one() -> None:
    pieces = [citation("When no gate moves. The default"), citation("The default is 22 to 6.")]
    assert [one.quote for one in in_runs(pieces, {"urn:c": SOURCE}, of_facts=["urn:c"])] == [
        "When no gate moves. The default is 22 to 6."
    ]
