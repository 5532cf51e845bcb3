"""CSV, JSON and JSON Lines: a document a record, and records that are none."""

import json
from pathlib import Path

import pytest

from kgrag.errors import UnreadableDocument
from kgrag.model import Document
from kgrag.text.chunking import chunk, count_tokens
from kgrag.text.readers import read_path, read_paths, sources
from tests.text.readers.checks import Make, only, parts, refused


def test_a_table_with_a_text_column_is_a_document_a_row(make: Make) -> None:
    path = make("a.csv", 'id,Title,TEXT,cites\n7,Soy,"sown\nin June",a; b\n,Wheat,late,\n')
    assert list(read_path(path)) == [
        Document("sown\nin June", "Soy", f"{path}#7", "7", "text/csv", ("a", "b"), source=str(path)),
        Document("late", "Wheat", f"{path}#L4", "", "text/csv", source=str(path)),
    ]


def test_a_table_without_a_text_column_is_one_document(make: Make) -> None:
    document = only(make("crops.csv", "crop,,t/ha\nSoy,x,2\n\nWheat,,3,extra\n"))
    assert document.text == "crop: Soy; column 2: x; t/ha: 2\ncrop: Wheat; t/ha: 3; column 4: extra"
    assert document.title == "crops"


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(make: Make, mark: str) -> None:
    assert only(make("a.csv", f"a{mark}b\n1{mark}2,5\n" if mark != "," else "a,b\n1,x\n")).text.startswith("a: 1; b: ")


def test_quotes_in_tab_separated_files_may_be_meant_as_they_stand(make: Make) -> None:
    assert only(make("a.tsv", 'a\tb\n"x\t5" tall\n')).text == 'a: "x; b: 5" tall'
    assert only(make("b.tsv", 'a\tb\n"x\ty"\tz\n')).text == "a: x y; b: z"


def test_a_cell_of_a_megabyte_is_read(make: Make) -> None:
    assert len(only(make("a.csv", f"text\n{'x' * 1_000_000}\n")).text) == 1_000_000


def test_a_quote_that_is_never_closed_is_refused_with_its_line(make: Make) -> None:
    assert "begins on line 3" in refused(make("a.csv", 'id,text\n1,a\n2,"b\n3,c\n'))


def test_a_table_without_rows_is_refused(make: Make) -> None:
    assert "no rows" in refused(make("a.csv", "id,name\n"))
    assert "no rows" in refused(make("b.csv", "id,text\n\n"))


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_records_keep_title_identifier_and_citations(make: Make) -> None:
    record = {"id": "P1", "title": "Soy", "text": "Sown\r\nin June.", "cites": ["P2", 3, "P2"]}
    path = make("a.jsonl", lines(record))
    assert only(path) == Document(
        "Sown\nin June.", "Soy", f"{path}#P1", "P1", "application/jsonl", ("P2", "3"), source=str(path)
    )


@pytest.mark.parametrize("field", ["id", "_id", "idx", "pmid"])
def test_identifiers_go_by_many_names(make: Make, field: str) -> None:
    assert only(make("a.jsonl", lines({field: 0, "text": "x"}))).id == "0"


def test_a_record_without_identifier_is_placed_by_its_line(make: Make) -> None:
    path = make("a.jsonl", "\n" + lines({"text": "x"}))
    assert only(path).location == f"{path}#L2"


@pytest.mark.parametrize("field", ["text", "abstract", "contents"])
def test_text_goes_by_many_names(make: Make, field: str) -> None:
    assert only(make("a.jsonl", lines({field: "x", "other": 1}))).text == "x"


def test_sentences_are_joined(make: Make) -> None:
    assert only(make("a.jsonl", lines({"text": "", "sentences": ["One.", " Two."]}))).text == "One. Two."


def test_labelled_chunks_are_sections(make: Make) -> None:
    chunks = [{"label": "AIM", "text": "To see."}, {"label": "END", "text": "Seen."}]
    document = only(make("a.jsonl", lines({"chunks": chunks})))
    assert document.text == "To see.\nSeen."
    assert parts(document) == [("AIM", "To see."), ("END", "Seen.")]


@pytest.mark.parametrize(
    "data", [{"text": "x"}, [{"text": "x"}], {"documents": [{"text": "x"}]}], ids=["record", "list", "documents"]
)
def test_json_is_a_record_or_a_list_of_them(make: Make, data: object) -> None:
    assert only(make("a.json", json.dumps(data))).text == "x"


def test_records_are_read_while_the_file_is(make: Make) -> None:
    documents = read_path(make("a.jsonl", lines({"text": "x"}) + "no JSON\n"))
    assert next(documents).text == "x"
    with pytest.raises(UnreadableDocument, match="line 2, column 1"):
        next(documents)


def test_a_bad_line_loses_no_line_behind_it_and_is_named(make: Make) -> None:
    good = [json.dumps({"id": f"G{number}", "text": f"x{number}"}) for number in range(1, 4)]
    good[0] = json.dumps({"id": "G1", "text": "ä" * 20}, ensure_ascii=False)
    data = "\n".join([good[0], '{"text": ', good[1], '{"id": 4}', '"x"', '{"text": "\\xff"}', good[2]]).encode()
    path = make("a.jsonl", data + b'\n{"text": "\xff"}\n')
    broken: dict[Path, str] = {}
    assert [document.id for document in read_paths([path], broken=broken)] == ["G1", "G2", "G3"]
    (message,) = broken.values()
    assert "a.jsonl: 3 were read and 5 left out: " in message
    for found in (
        "at line 2, column 9",
        "line 4 has no text",
        "line 5 is text",
        "at line 6,",
        "line 8 has bytes that",
    ):
        assert found in message


def test_every_bad_line_is_numbered_however_many_there_are(make: Make) -> None:
    broken: dict[Path, str] = {}
    path = make("a.jsonl", lines({"text": "x"}) + "?\n" * 5000 + lines({"text": "y"}) + "?\n")
    assert len(list(read_paths([path.parent], broken=broken))) == 2
    assert broken[path].endswith("; and 22-5001, 5003.")


def test_a_line_without_end_is_left_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "LONGEST_LINE", 100)
    broken: dict[Path, str] = {}
    path = make("a.jsonl", lines({"text": "x"}, {"text": "y" * 5000}, {"text": "z"}))
    assert [document.text for document in read_paths([path], broken=broken)] == ["x", "z"]
    assert "line 2 has more than 100 characters" in broken[path]


def test_a_bad_record_of_a_list_or_row_of_a_table_is_left_out(make: Make) -> None:
    broken: dict[Path, str] = {}
    listed = make("a.json", json.dumps([{"text": "x"}, 5, {"text": "z"}]))
    table = make("b.csv", "id,text\n1,x\n2,\n3,z\n")
    torn = make("c.csv", 'id,text\n1,x\n2,"y\n3,z\n')
    texts = [document.text for document in read_paths([listed, table, torn], broken=broken)]
    assert texts == ["x", "z", "x", "z", "x"]
    assert "record 2 is a number" in broken[listed]
    assert "line 3 has no text" in broken[table]
    assert "begins on line 3" in broken[torn]
    assert "nothing from there on was read" in broken[torn]


def test_a_file_of_bad_lines_only_is_refused(make: Make) -> None:
    with pytest.raises(UnreadableDocument, match=r"line 1, column 1.*line 2, column 1"):
        list(read_paths([make("a.jsonl", "?\n?\n")], broken={}))


@pytest.mark.parametrize("tokens", [8, 20, 40, 180])
def test_no_chunk_ends_inside_a_row_that_fits_into_one(make: Make, tokens: int) -> None:
    rows = [f"{number},soy, {'Dry. Then wet. ' * (number % 5)},{number}.5" for number in range(1, 200)]
    document = only(make("crops.csv", "\n".join(["plot,crop,state,yield", *rows])))
    starts = [0, *(at + 1 for at, character in enumerate(document.text) if character == "\n")]
    sizes = [count_tokens(line) for line in document.text.split("\n")]
    chunks = chunk(document, tokens=tokens)
    assert all(piece.text.startswith("plot: ") for piece in chunks if tokens >= max(sizes))
    for start, size in zip(starts, sizes, strict=True):
        row = document.text[start:].split("\n", 1)[0]
        assert size > tokens or any(row in piece.text for piece in chunks)
    assert len(chunks) <= 2 * sum(sizes) / tokens + 1
    assert max(piece.tokens for piece in chunks) <= tokens


def test_a_record_without_text_is_refused_with_line_fields_and_what_was_expected(make: Make) -> None:
    message = refused(make("a.jsonl", lines({"text": "x"}, {"id": 2, "body": "y"})))
    assert "line 2 has no text (its fields: id, body); expected an object with one of text, abstract" in message


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (["x"], "line 1 is a list"),
        ("x", "line 1 is text"),
        (None, "line 1 is null"),
        ({"text": 5}, "'text' is a number"),
        ({"text": {"a": 1}}, "'text' is an object"),
        ({"sentences": [[1, "x"]]}, "'sentences' is a list"),
        ({"chunks": [{"label": "x"}]}, "'chunks' is a list"),
        ({"text": "x", "cites": {"a": 1}}, "'cites' is an object"),
        ({"text": " \n"}, "has no text"),
        ({}, "its fields: none"),
    ],
)
def test_what_is_no_record_is_refused(make: Make, record: object, found: str) -> None:
    assert found in refused(make("a.jsonl", lines(record)))


@pytest.mark.parametrize("deep", ["[" * 5000 + "]" * 5000, '{"text":' * 5000 + "1" + "}" * 5000, "[" * 5000])
def test_json_nested_5000_deep_is_refused(make: Make, deep: str) -> None:
    assert "nested too deeply" in refused(make("a.json", deep))
    assert "line 2 is nested too deeply" in refused(make("a.jsonl", lines({"text": "x"}) + deep))


def test_brackets_in_a_text_are_no_nesting(make: Make) -> None:
    assert only(make("a.json", json.dumps({"text": "[" * 5000}))).text == "[" * 5000


def test_what_is_no_json_is_refused_with_its_place(make: Make) -> None:
    assert "line 2, column 1" in refused(make("a.json", '{"text": "x",\n}'))
    assert "number that cannot be read" in refused(make("b.json", '{"text": ' + "9" * 5000 + "}"))


def test_files_without_records_are_refused(make: Make) -> None:
    assert "empty list" in refused(make("a.json", "[]"))
    assert "only blank lines" in refused(make("a.jsonl", "\n \n"))


def test_characters_that_no_store_can_hold_are_replaced(make: Make) -> None:
    document = only(make("a.jsonl", '{"text": "a\\ud800b\\u0000c", "title": "t\\udfff", "id": "\\ud83d\\ude00"}'))
    assert (document.text, document.title, document.id) == ("a\ufffdb\ufffdc", "t\ufffd", "\U0001f600")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1"])
def test_records_in_another_encoding_are_read(make: Make, encoding: str) -> None:
    data = '{"text": "Größe der Änderung"}\r\n{"text": "zwei"}'.encode(encoding)
    assert [document.text for document in read_path(make("a.jsonl", data))] == ["Größe der Änderung", "zwei"]


def test_a_line_in_another_encoding_than_the_first_megabyte_is_refused(make: Make) -> None:
    data = lines({"text": "x"}).encode() * 80_000 + b'{"text": "\xff"}\n'
    assert "bytes that are not utf-8" in refused(make("a.jsonl", data))


@pytest.mark.parametrize(
    ("name", "documents"),
    [
        ("multihop/2wiki_6119/corpus.jsonl.gz", 6119),
        ("multihop/musique_dev/corpus.jsonl.gz", 2546),
        ("scifact/corpus.jsonl.gz", 5183),
        ("pubmedqa/corpus.jsonl.gz", 1000),
    ],
)
def test_published_corpora_are_read_as_they_are(data: Path, name: str, documents: int) -> None:
    found = list(read_path(data / name))
    assert len(found) == len({document.id for document in found}) == documents
