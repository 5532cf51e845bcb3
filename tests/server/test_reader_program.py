"""The count of rows in what the engine writes."""

import json
import socket
import struct
import subprocess
import sys

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


_SLOW_TO_BEGIN = """
import os, time
from kgrag.server.readers import reader_program

write = os.write


def slow(descriptor, data):
    if data[:1] == b"R":
        time.sleep(0.3)
    return write(descriptor, data)


os.write = slow
reader_program.main()
"""


def test_the_answer_to_a_request_that_waited_already_comes_after_the_word_that_the_reader_is_ready() -> None:
    header = json.dumps({"media": "text/turtle", "base": "", "task": "parse", "max_bytes": 99, "max_rows": 0}).encode()
    body = b"<urn:s> <urn:p:p> 1 ."
    ours, its = socket.socketpair()
    limits = json.dumps({"memory": 1 << 30, "stack": 1 << 24})
    with ours, its:
        ours.sendall(struct.pack(">IIIQ", 1, len(header), 2, len(body)) + header + b"{}" + body)
        ours.shutdown(socket.SHUT_WR)
        command = [sys.executable, "-c", _SLOW_TO_BEGIN, limits]
        done = subprocess.run(command, stdin=its.fileno(), capture_output=True, check=True, timeout=60)
    letters, at = [], 0
    while at < len(done.stdout):
        letter, _, length = struct.unpack_from(">cII", done.stdout, at)
        letters.append(letter)
        at += 9 + length
    assert letters == [b"R", b"W"]
