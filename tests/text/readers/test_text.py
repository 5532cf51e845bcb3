"""Plain text: every encoding, and every way in which bytes can be no text."""

import gzip
import io
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.model import Document
from kgrag.text.readers import suffixes
from kgrag.text.readers.sources import cleaned
from tests.text.readers.checks import Make, only, refused

JAPANESE = "これは日本語の文章です。漢字とカタカナが混ざっています。"
ARABIC = "هذا نص باللغة العربية. وهذه جملة أخرى."


def test_a_text_file_is_one_document_titled_by_its_name(make: Make) -> None:
    path = make("field notes.txt", "Sow in June.\n")
    assert only(path) == Document("Sow in June.\n", title="field notes", location=str(path))


@pytest.mark.parametrize("text", [ARABIC, JAPANESE, "\U0001f469\u200d\U0001f467 e\u0301 \u202eabc", "a\u200bb\u00a0c"])
def test_characters_stay_as_they_are(make: Make, text: str) -> None:
    assert only(make("a.txt", text)).text == text


def test_line_ends_become_one_character(make: Make) -> None:
    assert only(make("a.txt", "a\r\nb\rc\n")).text == "a\nb\nc\n"


def test_words_that_a_typesetter_cut_at_a_lines_end_are_whole(make: Make) -> None:
    text = "Each option may be re\u2010\n       moved, also at run\u2010\n       time: a run takes time. It is well-\nknown."
    whole = "Each option may be removed, also at run-time: a run takes time. It is well-\nknown."  # may be meant so
    assert only(make("cron.txt", text)).text == whole


def test_soft_hyphens_are_left_out(make: Make) -> None:
    assert only(make("a.md", "The admin\u00adistrator of the distri\u00ad\nbution")).text.endswith(
        "The administrator of the distribution"
    )
    page = "<p>The distri&shy;bution</p><pre>a-b&shy;c</pre>"
    assert only(make("a.html", page)).text == "The distribution\n\na-bc"


def test_raised_digits_are_no_part_of_the_word_before_them(make: Make) -> None:
    page = (
        "<p>The value<sup><a href='#n3'>3</a></sup> is 10<sup>-2</sup> of CO<sub>2</sub>, the 1<sup>st</sup> one.</p>"
    )
    assert only(make("a.html", page)).text == "The value\u00b3 is 10\u207b\u00b2 of CO2, the 1st one."


@given(st.text(st.characters(exclude_categories=())))
def test_a_cleaned_text_can_be_stored_and_is_left_alone_by_cleaning_again(text: str) -> None:
    result = cleaned(text)
    assert result.encode("utf-8").decode("utf-8") == result
    assert not {"\r", "\x00"} & set(result)
    assert cleaned(result.lstrip("\ufeff")) == result.lstrip("\ufeff")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Größe, café", "utf-8-sig"),
        (JAPANESE, "utf-16"),
        (JAPANESE, "utf-32"),
        ("plain Latin text", "utf-16-le"),
        ("plain Latin text", "utf-16-be"),
        ("Größe der Änderung: naïve Übung", "latin-1"),
        ("El niño comió piña en la mañana", "latin-1"),
        ("“Smart quotes” — and dashes… it’s €5", "cp1252"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        ("Привет, мир! Это русский текст.", "cp1251"),
        ("这是一个中文句子，用于测试编码。", "gb18030"),
        ("Zażółć gęślą jaźń. To jest zdanie po polsku.", "cp1250"),
    ],
)
def test_text_in_another_encoding_is_read(make: Make, text: str, encoding: str) -> None:
    assert only(make("a.txt", text.encode(encoding))).text == text


def test_a_guessed_encoding_is_logged(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    only(make("a.txt", "Größe der Änderung".encode("latin-1")))
    assert "read as cp1252, which is a guess" in caplog.text


def test_utf_8_with_a_damaged_place_stays_utf_8(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    assert only(make("a.txt", JAPANESE.encode() + b"\xff!")).text == f"{JAPANESE}\ufffd!"
    assert "1 places are not UTF-8" in caplog.text


def test_a_zero_byte_file_is_refused_as_empty(make: Make) -> None:
    for suffix in suffixes():
        assert "is empty (0 bytes)" in refused(make(f"a{suffix}", b""))


def test_a_file_of_whitespace_is_refused(make: Make) -> None:
    assert "has no text" in refused(make("a.txt", " \n\u3000\t\n"))


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", bytes(range(1, 256)) * 4, b"\x7fELF\x02\x01\x01" + bytes(9)]
)
def test_a_binary_file_under_a_text_suffix_is_refused(make: Make, data: bytes) -> None:
    for name in ("a.txt", "a.md", "a.csv", "a.json", "a.jsonl", "a.html"):
        assert "binary file" in refused(make(name, data))


@pytest.mark.parametrize("data", [b"\xff" * 5000, b"\xf0\xe1" * 2500, b"\x01\x02\x03\x04" * 500, b"\xfe\n" * 999])
def test_bytes_that_only_repeat_are_refused_as_binary(make: Make, data: bytes) -> None:
    assert "binary file" in refused(make("a.txt", data))


def test_a_short_text_with_a_few_control_characters_is_text(make: Make) -> None:
    assert only(make("a.txt", "a\x1f\x1fb")).text == "a\x1f\x1fb"


def test_a_printed_manual_with_backspaces_is_text(make: Make) -> None:
    text = "N\bNA\bAM\bME\bE\n  ls - list\n" * 20
    assert only(make("a.txt", text)).text == text


def test_a_small_file_that_unpacks_to_a_gigabyte_is_refused_before_it_is_in_memory(make: Make) -> None:
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", compresslevel=1) as packed:
        for _ in range(65):
            packed.write(bytes(1 << 24))
    path = make("a.txt.gz", stream.getvalue())
    tracemalloc.start()
    try:
        assert "more than 1024 MiB" in refused(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_a_compressed_text_is_read(make: Make) -> None:
    document = only(make("a.md.gz", gzip.compress("# Größe\n".encode())))
    assert (document.text, document.title, document.media_type) == ("# Größe\n", "Größe", "text/markdown")
    assert only(make("b.txt.gz", gzip.compress(b"x"))).title == "b"


@pytest.mark.parametrize("data", [b"no gzip", gzip.compress(b"x" * 5000, mtime=0)[:-20]], ids=["no gzip", "cut short"])
def test_broken_compression_is_refused(make: Make, data: bytes) -> None:
    assert "gzip compression is broken" in refused(make("a.txt.gz", data))
    assert "gzip compression is broken" in refused(make("a.jsonl.gz", data))


def test_a_large_text_is_read_in_a_moment(make: Make) -> None:
    text = "Sow in June, harvest in autumn: Größe.\n" * 130_000
    path = make("a.txt", text)
    begin = time.process_time()
    assert only(path).text == text
    assert time.process_time() - begin < 10
