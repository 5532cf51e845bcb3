"""Entries of a manual: a value is cited below the line of its own entry, with this line, and never over its border."""

from collections.abc import Callable

import pytest

from kgrag.answering.citation_runs import in_runs
from kgrag.answering.claim_words import completed
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.answering.manual_entries import entry_lines
from kgrag.answering.source_sentences import Carried, Quote, cited
from kgrag.knowledge_base.facade import KnowledgeBase
from kgrag.model import Citation, Hit, Span

MANUAL = (
    "Settings of a gate\n\nThese settings are for keepers who write the names of all of their gates at once.\n\n"
    "GATENAME <string>\n\nName of the gate. Maximum of 9 letters.\n\n"
    "ICEDATE [ yy/mm | mm/yy ]\n\nLast month of ice. Maximum of 9 letters.\n\n"
    "CALL time in minutes\n\nTime between the bells that call the keepers to the lock in fog or ice. The default is 7 "
    "minutes. The gate sends a call by its bell.\n\n"
    "LIMITS <metres>\n\nUsual values are:\n\n\nA  102  103  104\nB  202  203  204\n\n\nwhere A = upper gates."
)
CHOICES = (
    "Keepers make one for each of the gates.\n\n"
    "never keeps the boats from the lock. They wait then. Also, the bell of fog is silenced for keepers.\n\n"
    "always lets them in. No boat waits."
)
SMALL = "For a small gate:\n\nIt is best to wait.\n\nBefore a test the wind must be known, or it is in vain:"
RULES = "The water must be at 100 marks.\nThe wind must be below 5 marks."
_Before = Callable[[str], SourceChunk | None]


def chunk(text: str, number: int = 1) -> SourceChunk:
    return SourceChunk(text, Span(f"urn:c{number}", "urn:d", 5000 * number, 5000 * number + len(text)))


def of_fact(claim: str, fact: str, *quotes: str, text: str = MANUAL) -> list[str]:
    source = chunk(text)
    piece = EvidencePiece(1, Hit("urn:f", "hyperedge", fact, 1.0, (source.span,)), (source,))
    store = KnowledgeBase().store
    carried = [one for quote in quotes for one in cited(Quote(quote, 1), claim, [piece], store, sentence=0)]
    whole = [one.citation for one in completed(claim, claim, carried, [piece])]
    return [one.quote for one in in_runs(whole, {"urn:c1": source}, of_facts={"urn:c1"})]


def of_text(claim: str, quote: str, text: str, before: _Before | None = None) -> list[str]:
    source = chunk(text, 9)
    start = source.span.start + text.index(quote)
    one = Carried(Citation(quote, "urn:d", "urn:c9", start, start + len(quote)), quote, ())
    piece = EvidencePiece(1, Hit("urn:c9", "passage", text, 1.0, (source.span,)), (source,))
    return [each.citation.quote for each in completed(claim, claim, [one], [piece], before=before)]


def test_lines_of_entries_are_those_with_choices_too_and_no_rows_of_figures() -> None:
    found = [MANUAL[start:end] for start, end in entry_lines(MANUAL)]
    lines = ["GATENAME <string>", "ICEDATE [ yy/mm | mm/yy ]", "CALL time in minutes", "LIMITS <metres>"]
    assert found == ["Settings of a gate", *lines]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GATENAME", "GATENAME <string>\n\nName of the gate. Maximum of 9 letters."),
        ("ICEDATE", "ICEDATE [ yy/mm | mm/yy ]\n\nLast month of ice. Maximum of 9 letters."),
    ],
)
def test_a_value_that_two_entries_have_is_cited_below_the_line_of_its_own(name: str, expected: str) -> None:
    fact = f"setting name: {name}; setting applies to: keepers; setting measure: Maximum of 9 letters"
    quotes = f"setting name: {name}", "setting measure: Maximum of 9 letters"
    assert of_fact(f"{name} may have a maximum of 9 letters.", fact, *quotes) == [expected]
    assert of_fact(f"{name} may have a maximum of 9 letters.", fact, quotes[1])[0].startswith(name)


def test_a_value_below_words_like_the_name_is_cited_with_the_line_of_its_entry() -> None:
    fact = "setting name: CALL; setting default: 7 minutes; setting effect: The gate sends a call by its bell."
    (found,) = of_fact("The default of CALL is 7 minutes.", fact, "setting default: 7 minutes")
    assert found.startswith("CALL time in minutes\n\nTime between")
    assert "The default is 7 minutes." in found


def test_citations_of_two_entries_are_no_run() -> None:
    quotes = "Maximum of 9 letters.", "ICEDATE [ yy/mm | mm/yy ]\n\nLast month"
    places = [(5000 + MANUAL.index(quote), quote) for quote in quotes]
    citations = [Citation(quote, "urn:d", "urn:c1", start, start + len(quote)) for start, quote in places]
    assert [one.quote for one in in_runs(citations, {"urn:c1": chunk(MANUAL)})] == list(quotes)


def test_the_sentence_that_names_a_choice_is_cited_with_what_follows_it() -> None:
    claim = "With the rule set to never, the bell of fog is silenced for keepers."
    (found,) = of_text(claim, "Also, the bell of fog is silenced for keepers.", CHOICES)
    assert found == CHOICES.split("\n\n")[1]
    assert of_text("No boat waits.", "No boat waits.", CHOICES) == ["No boat waits."]


def test_the_line_of_an_entry_that_began_some_passages_before_is_cited() -> None:
    start, between = (
        chunk("Rules.\n\nLETIN never | always", 7),
        chunk("Says when boats may enter the lock by night.", 8),
    )
    before = {"urn:c9": between, "urn:c8": start}.get
    found = of_text("With LETIN set to always, no boat waits.", "No boat waits.", CHOICES, before)
    assert found == ["LETIN never | always", "always lets them in. No boat waits."]


def test_the_short_line_with_a_colon_names_what_a_list_below_another_introduction_is_about() -> None:
    before = {"urn:c9": chunk(SMALL, 8)}.get
    quote = "The wind must be below 5 marks."
    assert of_text("At a small gate the wind must be below 5 marks.", quote, RULES, before)[0] == "For a small gate:"
    assert of_text("The wind must be below 5 marks.", quote, RULES, before) == [quote]
