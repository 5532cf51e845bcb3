"""The count of rows in what the engine writes."""

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.server.readers.reader_program import _RowCounter

FORMATS = {
    "application/sparql-results+json": ox.QueryResultsFormat.JSON,
    "application/sparql-results+xml": ox.QueryResultsFormat.XML,
    "text/csv": ox.QueryResultsFormat.CSV,
    "text/tab-separated-values": ox.QueryResultsFormat.TSV,
}
TEXTS = st.one_of(st.none(), st.text(alphabet='"\\{}[],:\r\n<result>a', max_size=12))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS), max_size=8), cuts=st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_as_many_rows_are_counted_as_there_are(rows: list[tuple[str | None, str | None]], cuts: list[int]) -> None:
    cells = " ".join(
        "(" + " ".join("UNDEF" if text is None else str(ox.Literal(text)) for text in row) + ")" for row in rows
    )
    query = "SELECT ?a ?b ?c { VALUES (?a ?b) { " + cells + " } OPTIONAL { BIND(<<( <urn:a> <urn:b> ?a )>> AS ?c) } }"
    for media, form in FORMATS.items():
        data = ox.Store().query(query).serialize(format=form)
        assert data is not None
        counter, at = _RowCounter(media), 0
        for turn in range(len(data)):
            counter.add(data[at : at + cuts[turn % len(cuts)]])
            at += cuts[turn % len(cuts)]
        assert counter.rows == len(rows), media
