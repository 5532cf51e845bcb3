"""Citations of one sentence that stand near each other are one run of the text."""

from kgrag.answering.citation_runs import in_runs
from kgrag.answering.source_sentences import SourceChunk
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
