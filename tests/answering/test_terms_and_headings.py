"""Terms and headings in citations: cited with what stands below them, in reading order, and known where they are shown."""

from kgrag.answering.citation_runs import in_runs
from kgrag.answering.claim_words import completed
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.answering.shown_headings import repeating_headings
from kgrag.answering.source_sentences import Carried, Quote, cited
from kgrag.knowledge_base.facade import KnowledgeBase
from kgrag.model import Citation, Hit, Span

DIRECTIVES = (
    "OPENING minutes\n\n    How long a gate takes. The default is 4 minutes.\n\n"
    "TOLL marks\n\n    What a barge pays at the gate. It is due at once. The default is 22 marks."
)
SPAN = Span("urn:c", "urn:d", 100, 100 + len(DIRECTIVES))
SOURCE = SourceChunk(DIRECTIVES, SPAN)


def citation(quote: str, text: str = DIRECTIVES, *, chunk: str = "urn:c", start: int = 100) -> Citation:
    at = text.index(quote)
    return Citation(quote, "urn:d", chunk, start + at, start + at + len(quote))


def test_a_term_is_cited_with_what_is_said_below_it_and_not_with_what_stands_above() -> None:
    piece = EvidencePiece(1, Hit("urn:c", "passage", DIRECTIVES, 1.0, (SPAN,)), (SOURCE,))
    (found,) = cited(Quote("TOLL marks", 1), "The toll is 22 marks.", [piece], KnowledgeBase().store, sentence=0)
    assert found.citation.quote == "TOLL marks\n\n    What a barge pays at the gate."


def test_a_term_and_its_value_are_one_run_also_where_they_are_those_of_a_fact() -> None:
    pieces = [citation("The default is 22 marks."), citation("TOLL marks")]
    for of_facts in ((), ("urn:c",)):
        (run,) = in_runs(pieces, {"urn:c": SOURCE}, of_facts=of_facts)
        assert (run.quote[:10], run.quote[-9:]) == ("TOLL marks", "22 marks.")


def test_values_of_a_fact_are_whole_as_they_are() -> None:
    pieces = (citation("How long a gate takes"), citation("4 minutes"))
    assert in_runs(pieces, {"urn:c": SOURCE}, of_facts=("urn:c",)) == pieces


def test_citations_of_a_passage_stand_in_the_order_of_its_text() -> None:
    far = citation("The end.", "The end.", chunk="urn:x", start=0)
    late, early = citation("It is due at once."), citation("How long a gate takes.")
    found = in_runs([late, far, early], {"urn:c": SOURCE})
    assert [one.quote for one in found] == ["How long a gate takes.", "The end.", "It is due at once."]


def test_a_name_in_the_heading_that_is_shown_needs_no_line() -> None:
    text = (
        "toll option. Ask a keeper of the lock, who knows the way of all of the barges and of boats. It is due at once."
    )
    span = Span("urn:c", "urn:d", 0, len(text))
    for heading, count in (("", 2), ("Gates > toll option", 1)):
        source = SourceChunk(text, span, heading)
        piece = EvidencePiece(1, Hit("urn:c", "passage", text, 1.0, (span,)), (source,))
        carried = Carried(citation("It is due at once.", text, start=0), "It is due at once.", ())
        found = completed("The toll option is due at once.", "When is the toll option due?", [carried], [piece])
        assert len(found) == count, heading


def test_a_term_is_cited_from_its_own_line_and_not_from_a_sentence_that_has_it_too() -> None:
    text = f"Of the TOLL marks a third is kept for the lock, and ice.\n\n{DIRECTIVES}"
    span = Span("urn:c", "urn:d", 0, len(text))
    piece = EvidencePiece(1, Hit("urn:c", "passage", text, 1.0, (span,)), (SourceChunk(text, span),))
    (found,) = cited(Quote("TOLL marks", 1), "TOLL of the lock in ice.", [piece], KnowledgeBase().store, sentence=0)
    assert found.citation.quote.startswith("TOLL marks\n")


def test_a_quote_of_the_heading_that_is_shown_repeats_it_beside_another() -> None:
    source = SourceChunk(DIRECTIVES, SPAN, "Canal > Toll marks")
    quotes = [Quote("The default is 22 marks.", 1), Quote("toll marks", 1), Quote("OPENING minutes", 1)]
    at = {"toll marks": "TOLL marks"}
    carried = [[Carried(citation(at.get(one.text, one.text)), one.text, ())] for one in quotes]
    found = repeating_headings(quotes, carried, {"urn:c": source})
    assert [one.quote for one in found] == ["TOLL marks"]
    assert repeating_headings(quotes[1:2], carried[1:2], {"urn:c": source}) == set()
    of_a_fact = [quotes[0], Quote("option name: Toll marks", 1)]
    assert [one.quote for one in repeating_headings(of_a_fact, carried[:2], {"urn:c": source})] == ["TOLL marks"]


def test_a_sentence_that_carries_another_quote_too_is_no_repeated_heading() -> None:
    source = SourceChunk(DIRECTIVES, SPAN, "Canal > Toll marks")
    told = Carried(citation("The default is 22 marks."), "", ())
    quotes = [Quote("option default: The default is 22 marks.", 1), Quote("option name: Toll marks", 1)]
    carried = [[told], [Carried(citation("TOLL marks"), "", ()), told]]
    assert [one.quote for one in repeating_headings(quotes, carried, {"urn:c": source})] == ["TOLL marks"]


def test_a_letter_in_a_heading_is_not_the_other_one() -> None:
    text = "-R rows\n\n    Rows are counted. The default is 22."
    source = SourceChunk(text, Span("urn:c", "urn:d", 0, len(text)), "Options > -R rows")
    quotes = [Quote("The default is 22.", 1), Quote("option name: -r", 1)]
    carried = [[Carried(citation("The default is 22.", text, start=0), "", ())]] * 2
    assert repeating_headings(quotes, carried, {"urn:c": source}) == set()


def test_a_name_that_only_the_passage_before_has_is_cited_from_there() -> None:
    before = "Of the Osk Sluice a keeper notes all. One of these rules may be broken:"
    text = "Load must be above 25 tons. The gate must be shut."
    span = Span("urn:c", "urn:d", len(before) + 1, len(before) + 1 + len(text))
    previous = SourceChunk(before, Span("urn:b", "urn:d", 0, len(before)))
    piece = EvidencePiece(1, Hit("urn:c", "passage", text, 1.0, (span,)), (SourceChunk(text, span),))
    quote = citation("Load must be above 25 tons.", text, start=span.start)
    claim = "At the Osk Sluice the load must be above 25 tons."
    found = completed(claim, claim, [Carried(quote, quote.quote, ())], [piece], before={"urn:c": previous}.get)
    assert [one.citation.chunk for one in found] == ["urn:b", "urn:c"]
    assert found[0].citation.quote.startswith("Of the Osk Sluice")


def test_a_long_value_of_a_fact_is_cited_where_it_is_written_and_not_where_its_words_are() -> None:
    texts = (
        "Ann Lee, the keeper of Elm gate, asked a barge in ice of the toll of the gate, and of the name of the lock.",
        "Also, the toll of the gate is not asked of a barge in ice.",
    )
    sources = tuple(
        SourceChunk(text, Span(f"urn:c{number}", "urn:d", 200 * number, 200 * number + len(text)))
        for number, text in enumerate(texts)
    )
    value = "the toll of the gate is not asked of a barge in ice"
    fact = f"name: toll; keeper: Ann Lee, the keeper of Elm gate; effect: {value}"
    spans = tuple(source.span for source in sources)
    piece = EvidencePiece(1, Hit("urn:f", "hyperedge", fact, 1.0, spans), sources)
    (found,) = cited(Quote(value, 1), "No toll is asked in ice.", [piece], KnowledgeBase().store, sentence=0)
    assert found.citation.quote == texts[1]
