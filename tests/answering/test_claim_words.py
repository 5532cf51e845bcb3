"""What a sentence of an answer is about is cited with it: the words around a quote, and the line that names the thing."""

from dataclasses import replace

import pytest

from kgrag.answering.claim_words import completed
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.answering.source_sentences import Carried
from kgrag.model import Citation, Hit, Span

TITLE = "Sluice"
ICE = (
    "The ice guard\n\nWhen the water is cold, it stirs the gates for 90 seconds. "
    "Nothing else is done then. In warm water the same costs 14 marks a day, as Osk Bridge found."
)
POLLS = (
    "Boats with a keeper must not be told to use a list. Boats must not be told to ask both red and non-red keepers. "
    "A list is read once."
)

FLAGS = (
    "Some flags change what a gate does.\n\nnoquery\n\nDeny questions. The work goes on.\n\nsigned\n\nAsk the keeper "
    "who signs. Boats wait meanwhile, and others go round. Therefore, this flag should be used on empty canals."
)


def piece(text: str, number: int = 1) -> EvidencePiece:
    span = Span(chunk=f"urn:c{number}", document=f"urn:d{number}", start=100, end=100 + len(text))
    hit = Hit(span.chunk, "chunk", text, 1.0, (span,), {"title": TITLE})
    return EvidencePiece(number, hit, (SourceChunk(text, span),))


def carried(where: EvidencePiece, quote: str) -> Carried:
    (source,) = where.sources
    start = source.text.index(quote)
    begin = source.span.start + start
    citation = Citation(quote, source.span.document, source.span.chunk, begin, begin + len(quote))
    return Carried(citation, quote, ())


def cited(claim: str, question: str, *quotes: str, text: str = ICE, others: tuple[str, ...] = ()) -> list[str]:
    evidence = [piece(text), *(piece(other, number) for number, other in enumerate(others, start=2))]
    found = completed(claim, question, [carried(evidence[0], quote) for quote in quotes], evidence)
    texts = {source.span.chunk: source for each in evidence for source in each.sources}
    for one in found:
        source, here = texts[one.citation.chunk], one.citation
        assert here.quote == source.text[here.start - source.span.start : here.end - source.span.start]
    return [one.citation.quote for one in found]


def test_a_quote_is_cited_with_the_rest_of_its_sentence_where_that_has_more_of_the_claim() -> None:
    claim = "When the water is cold, the gates are stirred for 90 seconds."
    assert cited(claim, "What?", "for 90 seconds") == ["When the water is cold, it stirs the gates for 90 seconds."]


def test_a_quote_that_has_every_word_of_the_claim_is_cited_as_it_is() -> None:
    assert cited("Gates: 90 seconds.", "How long?", "the gates for 90 seconds") == ["the gates for 90 seconds"]


def test_the_line_that_names_the_thing_is_cited_with_what_follows_it() -> None:
    claim = "The ice guard stirs the gates for 90 seconds when the water is cold."
    quote = "When the water is cold, it stirs the gates for 90 seconds."
    assert cited(claim, "What does the ice guard do?", quote) == [f"The ice guard\n\n{quote}"]


@pytest.mark.parametrize(
    ("claim", "quote", "expected"),
    [
        ("The noquery flag denies questions.", "Deny questions.", ["noquery\n\nDeny questions."]),
        (
            "The flag signed should be used on empty canals.",
            "Therefore, this flag should be used on empty canals.",
            ["signed", "Therefore, this flag should be used on empty canals."],
        ),
        ("It denies questions.", "Deny questions.", ["Deny questions."]),
    ],
)
def test_the_term_of_a_definition_list_is_cited_with_what_is_said_of_it(
    claim: str, quote: str, expected: list[str]
) -> None:
    assert cited(claim, "Which flag is it?", quote, text=FLAGS) == expected


def test_a_name_of_the_claim_is_cited_from_another_chunk() -> None:
    claim = "Imre Sollund stirs the gates for 90 seconds when the water is cold."
    quote = "When the water is cold, it stirs the gates for 90 seconds."
    other = "Rules. Keeper Imre Sollund has the guard. He is old."
    assert cited(claim, "Who?", quote, others=(other,)) == [quote, "Keeper Imre Sollund has the guard."]


def test_a_name_that_the_title_of_a_cited_document_has_needs_no_further_citation() -> None:
    evidence = [piece(ICE), piece("Imre Sollund is the keeper here.", 2)]
    untitled = [replace(one, hit=replace(one.hit, attributes={})) for one in evidence]
    quote = carried(evidence[0], "When the water is cold, it stirs the gates for 90 seconds.")
    claim = "When the water is cold, Imre Sollund stirs the gates for 90 seconds."
    titles = {quote.citation.document: "The keeper Imre Sollund"}
    assert len(completed(claim, "What?", [quote], untitled)) == 2
    assert completed(claim, "What?", [quote], untitled, titles=titles) == [quote]


def test_a_name_of_the_question_alone_is_not_sought_in_other_chunks() -> None:
    quote = "When the water is cold, it stirs the gates for 90 seconds."
    claim = "It stirs the gates for 90 seconds when the water is cold."
    assert cited(claim, "What did Sollund do?", quote, others=("Keeper Sollund.",)) == [quote]


BOATS = (
    "Old Ox (May 2031): a barge of the upper lock. It carries 80 tons of salt.\n\n"
    "Amber Lady (June 2033): a ferry of the lower lock. It carries 12 tons of salt."
)


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("How much does Old Ox carry, and how much Amber Lady?", "Amber Lady"),
        ("How much do Old Ox and Amber Lady carry?", "Amber Lady"),
        ("How much of what Old Ox brings does Amber Lady carry?", "Old Ox"),
    ],
)
def test_a_claim_about_one_of_two_things_that_are_asked_about_needs_no_line_about_the_other(
    question: str, about: str
) -> None:
    quotes = ("Amber Lady (June 2033): a ferry of the lower lock.", "It carries 12 tons of salt.")
    assert cited("Amber Lady carries 12 tons of salt.", question, *quotes, text=BOATS)[0].startswith(about)


def test_a_sentence_beside_the_one_that_the_claim_needs_is_joined_by_that_one() -> None:
    claim = "Boats with a keeper must not be told to ask both red and non-red keepers."
    wrong = "Boats with a keeper must not be told to use a list."
    (quote,) = cited(claim, "What must boats not be told?", wrong, text=POLLS)
    assert quote == f"{wrong} Boats must not be told to ask both red and non-red keepers."


def test_citations_that_overlap_are_one() -> None:
    whole = "When the water is cold, it stirs the gates for 90 seconds."
    assert cited("It stirs the gates for 90 seconds.", "?", "for 90 seconds", whole) == [whole]


DEFAULTS = "The stress value adapts it. The following settings are the default with Sluice 2.6 and later.\n\n"
SETTINGS = "1 gate_timeout = 10 s\n\n2 gate_limit = 20\n\n3 gate_junk = 1"


@pytest.mark.parametrize("apart", [False, True])
def test_the_line_that_introduces_a_list_is_cited_with_an_item_of_it(apart: bool) -> None:
    """Also where the list begins a chunk of its own."""
    claim = "The default limit of the gates is gate_limit = 20."
    item, first = piece(SETTINGS if apart else DEFAULTS + SETTINGS), piece(DEFAULTS.strip(), 9)
    quoted = carried(item, "2 gate_limit = 20")
    found = completed(
        claim, "What is the default limit?", [quoted], [item], before=lambda _: first.sources[0] if apart else None
    )
    lead_in = "The following settings are the default with Sluice 2.6 and later."
    assert found[0].citation.quote.splitlines()[0] == lead_in
    assert found[0].citation.chunk == ("urn:c9" if apart else "urn:c1")


@pytest.mark.parametrize("claim", ["Sluice stirs the gates.", "The gates are stirred by something or other."])
def test_titles_and_words_that_say_nothing_need_no_citation(claim: str) -> None:
    assert cited(claim, "?", "it stirs the gates") == ["it stirs the gates"]
