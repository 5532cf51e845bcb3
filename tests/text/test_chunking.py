"""Chunks tile the text: nothing lost, nothing cut inside a word or a grapheme cluster, no crumbs, linear time."""

import time
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import InvalidSettings
from kgrag.model import Document, Section
from kgrag.text.chunking import chunk, context_before, count_tokens, statements_around

WORD_BORDER = regex.compile(r"(?w)\b")
CLUSTER = regex.compile(r"\X")
FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
HARD = [
    *("a", "b", "Z", "1", ".", ",", "!", "?", "\n", "\t", "\r", "_", "'", '"', "-", "(", ")"),
    *("\n\n", " ", "\u00a0", "\u3000", "\u202f", "\u2028", "\u200b", "\u00ad", "\ufeff", "\x1c", "\x85"),
    *("\u0301", "\u0903", "\u200d", "\ufe0f", "\u0e33", "\u0eb3", "\u0600", "\u06dd", "\U000110bd"),
    *(FAMILY, "\U0001f469\U0001f3fd", "\U0001f1e9\U0001f1ea", "\U0001f1e9", "1\ufe0f\u20e3", "\U0001f600"),
    *(
        "e\u0301",
        "क्षि",
        "가",
        "\u1100",
        "\u1161",
        "漢",
        "。",
        "カタ",
        "ひ",
        "ภา",
        "เ",
        "א",
        "العربية",
        "\u202e",
        "3.5",
        "it's",
    ),
]
texts = st.text() | st.lists(st.sampled_from(HARD), max_size=60).map("".join)
limits = st.integers(min_value=1, max_value=12)


def pieces(text: str, tokens: int) -> list[str]:
    return [piece.text for piece in chunk(Document(text), tokens=tokens)]


@st.composite
def sectioned(draw: st.DrawFn) -> Document:
    text = draw(texts)
    place = st.integers(min_value=0, max_value=len(text))
    spans = st.tuples(place, place, st.sampled_from(["", "A", "A > B", "C"]), st.booleans())
    found = draw(st.lists(spans, max_size=5))
    return Document(
        text, sections=tuple(Section(start, end, heading, whole=whole) for start, end, heading, whole in found)
    )


@given(sectioned(), limits)
def test_every_character_that_is_not_whitespace_is_in_exactly_one_chunk(document: Document, tokens: int) -> None:
    chunks = chunk(document, tokens=tokens)
    covered = [place for piece in chunks for place in range(piece.start, piece.end)]
    assert len(covered) == len(set(covered))
    assert {place for place, letter in enumerate(document.text) if not letter.isspace()} <= set(covered)
    assert covered == sorted(covered)


@given(sectioned(), limits)
def test_a_chunk_is_the_span_of_its_document(document: Document, tokens: int) -> None:
    chunks = chunk(document, tokens=tokens)
    assert all(document.text[piece.start : piece.end] == piece.text for piece in chunks)
    assert [piece.order for piece in chunks] == list(range(len(chunks)))


@given(sectioned(), limits)
def test_no_chunk_ends_inside_a_word_or_a_grapheme_cluster(document: Document, tokens: int) -> None:
    words = {match.start() for match in WORD_BORDER.finditer(document.text)}
    clusters = {0, *(match.end() for match in CLUSTER.finditer(document.text))}
    borders = {place for piece in chunk(document, tokens=tokens) for place in (piece.start, piece.end)}
    assert borders <= words
    assert borders <= clusters


@given(texts, limits)
def test_no_chunk_has_more_tokens_than_allowed(text: str, tokens: int) -> None:
    assert all(1 <= piece.tokens <= tokens for piece in chunk(Document(text), tokens=tokens))


@given(texts, limits)
def test_the_tokens_of_the_chunks_add_up_to_those_of_the_text(text: str, tokens: int) -> None:
    assert sum(piece.tokens for piece in chunk(Document(text), tokens=tokens)) == count_tokens(text)


@given(texts.filter(lambda text: not regex.search(r"[\u0E33\u0EB3\p{GCB=Prepend}]", text)))
def test_a_token_is_a_word_segment_that_is_not_whitespace(text: str) -> None:
    borders = [match.start() for match in WORD_BORDER.finditer(text)]
    segments = [text[start:end] for start, end in pairwise(borders)]
    assert count_tokens(text) == sum(1 for segment in segments if not segment.isspace())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hello, world!", 4),
        ("It's 3.5 kg/ha.", 6),
        ("第一章。", 4),
        ("カタカナ", 1),
        (FAMILY, 1),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 2),
        ("cafe\u0301", 1),
        ("שלום עולם", 2),
        ("น้ำ", 1),
        (" \n\t", 0),
        ("", 0),
    ],
)
def test_words_and_punctuation_marks_count_as_tokens(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_a_text_without_anything_but_whitespace_has_no_chunks() -> None:
    assert chunk(Document(" \n\u3000\t")) == []


def test_whitespace_around_a_chunk_is_left_out() -> None:
    assert pieces("  one two \n\n three  ", 2) == ["one two", "three"]


def test_a_blank_line_is_preferred_to_a_sentence_end() -> None:
    assert pieces("One two three.\n\nFour five six. Seven eight nine ten eleven.", 8) == [
        "One two three.",
        "Four five six.",
        "Seven eight nine ten eleven.",
    ]


@pytest.mark.parametrize("written", ["    {}", "```\n{}\n```", "{}"], ids=["indented", "fenced", "marked"])
@pytest.mark.parametrize("words", [6, 10, 14])
def test_a_block_of_code_stays_whole_and_with_the_sentence_that_introduces_it(written: str, words: int) -> None:
    code = "$ tool drain\n\n$ tool wait 5\n\n$ tool stop"
    block = written.format(code.replace("\n\n", "\n\n    ") if written[0] == " " else code)
    introduced = f"To stop the tool after the last of all requests, so that none of them is lost, run:\n\n{block}"
    text = f"{'word ' * words}end. {introduced}\n\n{'After it the tool rests. ' * 6}"
    marked = ((text.index(block), text.index(block) + len(block)),) if written == "{}" else ()
    holding = [one.text for one in chunk(Document(text, code=marked), tokens=48) if "tool drain" in one.text]
    assert [one.count(introduced) for one in holding] == [1]


def test_a_block_of_code_that_no_chunk_holds_is_cut() -> None:
    text = "Run:\n\n" + "\n\n".join(f"    $ tool stop {number}" for number in range(40))
    assert all(one.tokens <= 24 for one in chunk(Document(text), tokens=24))


def test_a_sentence_end_is_preferred_to_a_comma() -> None:
    assert pieces("One two. Three, four five six seven eight nine.", 8)[0] == "One two."


def test_an_abbreviation_does_not_end_a_chunk() -> None:
    assert pieces("We met Dr. Rao there and then left the field quickly.", 8)[0] != "We met Dr."


def test_what_is_little_more_than_a_chunk_is_shared_out() -> None:
    sizes = [piece.tokens for piece in chunk(Document("word " * 11), tokens=10)]
    assert sizes == [9, 2] or min(sizes) > 2


def test_a_single_word_longer_than_a_chunk_stays_whole() -> None:
    word = "Donaudampfschiff" * 500
    assert pieces(f"one {word} two", 1) == ["one", word, "two"]


@pytest.mark.parametrize("after", ["", " ARCHIVE", " ARCHIVE of a repository"])
def test_a_word_of_several_tokens_that_fits_into_a_chunk_is_not_cut(after: str) -> None:
    text = f"borg --consider-part-files-of-archives{after}"
    assert pieces(text, 11)[1] == "--consider-part-files-of-archives"


def test_an_emoji_sequence_at_the_border_of_a_chunk_stays_whole() -> None:
    for count in range(1, 6):
        text = "a " * count + FAMILY + "\U0001f1e9\U0001f1ea" + " b"
        assert any(FAMILY in piece for piece in pieces(text, 3))
        assert any("\U0001f1e9\U0001f1ea" in piece for piece in pieces(text, 3))


def test_right_to_left_text_is_cut_at_spaces_in_reading_order() -> None:
    text = "هذا نص باللغة العربية. وهذه جملة أخرى؟ نعم."
    assert pieces(text, 6) == ["هذا نص باللغة العربية.", "وهذه جملة أخرى؟ نعم."]


def test_chinese_is_cut_at_sentence_ends() -> None:
    assert pieces("第一句话。第二句话。第三句话。", 6) == ["第一句话。", "第二句话。", "第三句话。"]


def test_chinese_without_sentence_ends_begins_no_chunk_with_a_closing_mark() -> None:
    assert all(piece[0] not in "」，" for piece in pieces("他说「你好」就走了" * 20, 7))


def test_thai_is_cut_at_spaces_and_never_before_or_after_half_a_syllable() -> None:
    found = pieces("ภาษาไทยง่ายนิดเดียว น้ำเย็น" * 10, 12)
    assert all(piece[-1] not in "เแโใไ" for piece in found)
    assert all(piece[0] != "ำ" for piece in found)
    assert "น้ำเย็นภาษาไทย"[:7] in "".join(found)


def test_a_section_ends_a_chunk_and_gives_it_its_heading_and_page() -> None:
    text = "one two three four. five six seven eight."
    sections = (Section(0, 20, "A", 1), Section(20, 41, "B", 2))
    chunks = chunk(Document(text, sections=sections), tokens=16)
    assert [(piece.text, piece.heading, piece.page) for piece in chunks] == [
        ("one two three four.", "A", 1),
        ("five six seven eight.", "B", 2),
    ]


def test_a_chunk_knows_the_pages_that_begin_in_it() -> None:
    text = "Title.\n\none two three four five six. seven eight nine ten eleven twelve."
    sections = (Section(0, 6, page=1), Section(8, 36, page=3), Section(36, len(text), page=4))
    (whole,) = chunk(Document(text, sections=sections), tokens=100)
    assert (whole.page, whole.page_breaks) == (1, ((8, 3), (36, 4)))
    long = Document(f"{text} {text[8:]}", sections=(sections[0], Section(8, 2 * len(text) - 7, page=3)))
    parts = chunk(long, tokens=24)
    assert [(part.page, part.page_breaks) for part in parts] == [(1, ((8, 3),)), (3, ())]


def test_a_chunk_of_small_sections_knows_where_each_heading_begins() -> None:
    text = "Crops\n\nOats\n\nSown in May.\n\nRye\n\nSown in June. Cut in July, when it is dry."
    rye = text.index("Rye")
    sections = (Section(0, 7, "Crops"), Section(7, rye, "Crops > Oats"), Section(rye, len(text), "Crops > Rye"))
    (whole,) = chunk(Document(text, sections=sections), tokens=60)
    assert (whole.heading, whole.heading_breaks) == ("Crops > Oats", ((rye, "Crops > Rye"),))


def test_a_tiny_section_joins_the_one_nested_in_it_and_takes_its_heading() -> None:
    text = "Crops\n\nSoybean\n\nIt is sown in June."
    sections = (Section(0, 7, "Crops"), Section(7, 35, "Crops > Soybean"))
    (only,) = chunk(Document(text, sections=sections), tokens=40)
    assert (only.text, only.heading) == (text, "Crops > Soybean")


def test_a_tiny_last_section_joins_its_predecessor() -> None:
    text = "one two three four five six seven\n\nend"
    sections = (Section(0, 35, "A"), Section(35, 38, "B"))
    (only,) = chunk(Document(text, sections=sections), tokens=40)
    assert (only.text, only.heading) == (text, "A")


def test_text_before_the_first_section_has_no_heading() -> None:
    chunks = chunk(Document("before it\n\ninside it", sections=(Section(11, 20, "A"),)), tokens=8)
    assert [(piece.text, piece.heading) for piece in chunks] == [("before it", ""), ("inside it", "A")]


def test_chunks_of_no_tokens_are_refused() -> None:
    with pytest.raises(InvalidSettings, match="expected at least 1"):
        chunk(Document("x"), tokens=0)


@pytest.mark.parametrize(
    "unit",
    [
        "Plain words, and more. ",
        "\U0001f1e9\U0001f1ea",
        "ำ",
        "\u0600",
        FAMILY,
        "这是一个中文句子，",
        "a.",
        " \n",
        "e\u0301",
        "ภาษาไทย",
    ],
    ids=ascii,
)
def test_time_grows_no_faster_than_the_text(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    begin = time.process_time()
    chunk(Document(text))
    assert time.process_time() - begin < 10


def test_megabytes_are_cut_in_seconds() -> None:
    text = "The crop is sown in June, weeded twice, and harvested in autumn. It needs 55 kg/ha.\n" * 20_000
    begin = time.process_time()
    chunks = chunk(Document(text))
    assert time.process_time() - begin < 10
    assert sum(piece.tokens for piece in chunks) == count_tokens(text)


def test_a_term_is_never_cut_from_its_definition() -> None:
    entries = [
        f"setting_{number} (integer)\n\nSets how many of number {number} are kept in memory by the server. "
        f"The default of this one is {number}. It is read when the server starts, and not again."
        for number in range(40)
    ]
    chunks = chunk(Document("\n\n".join(entries)), tokens=70)
    assert len(chunks) > 10
    assert [piece.text for piece in chunks if piece.text.endswith("(integer)")] == []


def test_what_ends_in_a_colon_stays_with_the_paragraph_that_it_introduces() -> None:
    prose = "The server reads this file once, when it starts, and never again after that. " * 3
    syntax = "keep = yes, or no where nothing is to be kept at all. " * 5
    chunks = chunk(Document(f"{prose}\n\nSyntax:\n\n{syntax}"), tokens=60)
    assert [piece.text.split("\n")[0] for piece in chunks][1:2] == ["Syntax:"]


def test_short_items_of_a_list_introduce_nothing() -> None:
    text = "\n\n".join(["a whole sentence stands here, before a list of names."] * 3 + ["MEDIUM", "RC4", "SEED", "LOW"])
    first, *rest = chunk(Document(text), tokens=35)
    assert rest and first.text.endswith(("MEDIUM", "RC4", "SEED", "names."))


def test_the_context_of_a_text_is_the_line_that_introduces_it_and_the_paragraph_before() -> None:
    entries = "wal_level (enum)\n\nHow much is written.\n\nThe default is replica.\n\nsync (boolean)\n\nWaits for it."
    before = context_before(entries, entries.index("The default"))
    assert before == "wal_level (enum)\n\nHow much is written."
    long = f"sync (boolean)\n\n{'Every commit waits for the disk. ' * 40}\n\nHere."
    before = context_before(long, long.index("Here"))
    assert before.startswith("sync (boolean)\n\n…\n\n… Every commit") and len(before) < 450
    assert context_before("No line before. Here.", 0) == ""


def test_what_says_something_with_a_value_has_more_than_its_bare_sentence() -> None:
    text = "workers (integer)\n\nSets the number. The default is three.\n\nnap (integer)\n\nSets the pause. It is one."
    at = text.index("three")
    assert [text[slice(*place)] for place in statements_around(text, at, at + 5)] == [
        "Sets the number. The default is three.",
        "workers (integer)\n\nSets the number. The default is three.",
    ]
    long = f"{'All of this is said before. ' * 30}The default is four. It is read at start."
    at = long.index("four")
    assert [long[slice(*place)] for place in statements_around(long, at, at + 4)] == ["The default is four."]
    assert statements_around("three", 0, 5) == [(0, 5)]


def test_a_chunk_of_a_manual_page_begins_with_an_entry_and_not_with_the_end_of_one() -> None:
    names = [f"{word}_enable" for word in ("anon", "ascii", "async", "chown", "chroot", "deny", "dual", "force")]
    entries = [
        f"       {name}\n              If set, {name} takes effect.\n\n              Default: NO\n" for name in names
    ]
    pieces = chunk(Document("OPTIONS\n       Each is set alone.\n\n" + "\n".join(entries)), tokens=40)
    assert len(pieces) > 2
    assert [piece.text.split()[0] for piece in pieces[1:]] == [
        n for n in names if any(p.text.startswith(n) for p in pieces)
    ]
    assert all(piece.text.endswith("Default: NO") for piece in pieces[1:])


def test_a_short_section_lends_its_heading_to_the_first_chunk_although_another_is_nested_in_it() -> None:
    text = "Version 4\n\nReleased in May.\n\nGates\n\nGates are shut at night, and opened at six by the keeper.\n"
    at = text.index("Gates")
    sections = (Section(0, at, "Version 4"), Section(at, len(text), "Version 4 > Gates"))
    (only,) = chunk(Document(text, sections=sections), tokens=100)
    assert (only.heading, only.heading_breaks) == ("Version 4", ((at, "Version 4 > Gates"),))
