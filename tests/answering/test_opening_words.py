"""Words that only open a sentence ("Therefore Rex", "There is") cost it neither its support nor a useless citation."""

import pytest

from kgrag.answering.claim_words import completed
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.answering.source_sentences import Carried, carrying
from kgrag.answering.support import Ground, unsupported
from kgrag.model import Citation, Hit, Span

OSK = "The gauge at Osk Bridge is read every 6 hours. Above 455 centimetres the lock is shut."


def ground(text: str) -> Ground:
    return Ground((text,), question="How often is the gauge read?", shown=text)


@pytest.mark.parametrize(
    "opening",
    ["Therefore", "Hence", "So", "Thus", "Consequently", "However", "Normally", "Without", "Only", "Because", "Every"],
)
def test_a_word_that_only_opens_a_sentence_is_no_part_of_the_name_behind_it(opening: str) -> None:
    assert unsupported(f"{opening} Osk Bridge is read every 6 hours.", ground(OSK)) == []


@pytest.mark.parametrize("name", ["Northern Osk Bridge", "Kelly Osk Bridge", "Therefore Elm Bridge", "Hence Elm"])
def test_a_name_that_is_not_cited_is_found_behind_an_opening_word_and_at_the_beginning(name: str) -> None:
    assert unsupported(f"{name} is read every 6 hours.", ground(OSK)) == [
        name.removeprefix("Therefore ").removeprefix("Hence ")
    ]


def test_a_statement_is_carried_by_a_sentence_without_its_opening_word() -> None:
    assert carrying("Hence a toll.", ["A toll is due."]) == [(0, 0, len("A toll is due."))]


@pytest.mark.parametrize(
    ("text", "claim", "quote"),
    [
        (
            "Above 455 centimetres the lock is shut. Therefore boats wait in the basin.",
            "Therefore the lock is shut to boats above 455 centimetres.",
            "Above 455 centimetres the lock is shut.",
        ),
        (
            "The keeper of barges rises at dawn. There is no toll for rowing boats.",
            "There is no toll for rowing boats at dawn.",
            "There is no toll for rowing boats.",
        ),
    ],
)
def test_no_line_is_cited_for_words_that_tie_sentences_together(text: str, claim: str, quote: str) -> None:
    span = Span("urn:c", "urn:d", 0, len(text))
    piece = EvidencePiece(1, Hit("urn:c", "chunk", text, 1.0, (span,)), (SourceChunk(text, span),))
    at = text.index(quote)
    cited = Carried(Citation(quote, "urn:d", "urn:c", at, at + len(quote)), quote, ())
    found = completed(claim, "What holds?", [cited], [piece])
    assert [one.citation.quote for one in found] == [quote]
