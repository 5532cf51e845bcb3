"""Sentences with offsets, and content words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.text.sentences import content_words, split, words


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It rains. We wait.", ["It rains.", "We wait."]),
        ("Dr. Rao met Prof. J. K. Iyer. They left.", ["Dr. Rao met Prof. J. K. Iyer.", "They left."]),
        ("He moved to the U.S. He stayed.", ["He moved to the U.S.", "He stayed."]),
        ("He joined the U.S. Army. It was 1944.", ["He joined the U.S. Army.", "It was 1944."]),
        ("Use 3.5 kg, i.e. a bag. See Fig. 2.", ["Use 3.5 kg, i.e. a bag.", "See Fig. 2."]),
        ("He waited... and left. Gone…", ["He waited... and left.", "Gone…"]),
        ('She said "Go now." He went.', ['She said "Go now."', "He went."]),
        ("“Really?” asked Ann. Yes!", ["“Really?” asked Ann.", "Yes!"]),
        ("No. 5 is alive. No. It is not.", ["No. 5 is alive.", "No.", "It is not."]),
        ("Teutberga( died 11 November 875) was a queen.", ["Teutberga( died 11 November 875) was a queen."]),
        ("Ann (b. 1900) sang. Smith et al. (2004) wrote.", ["Ann (b. 1900) sang.", "Smith et al. (2004) wrote."]),
        ("这是一句。第二句！「好。」他说", ["这是一句。", "第二句！", "「好。」", "他说"]),
        ("هل نزرع الآن؟ نعم.", ["هل نزرع الآن؟", "نعم."]),
        ("यह बीज है। यह खेत है।", ["यह बीज है।", "यह खेत है।"]),
    ],
)
def test_a_sentence_ends_where_a_reader_ends_it(text, expected):
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Crop: Soybean\nSeed rate: 55 kg/ha", ["Crop: Soybean", "Seed rate: 55 kg/ha"]),
        ("- one\n- two\n1. three", ["- one", "- two", "1. three"]),
        ("| A | B |\n| 1 | 2 |", ["| A | B |", "| 1 | 2 |"]),
        ("# Growing soybean\nSoybean is sown in June.", ["# Growing soybean", "Soybean is sown in June."]),
        ("A heading\n\nSome text", ["A heading", "Some text"]),
        (
            "A line of prose that was wrapped by an editor at some\ncolumn goes on. Next.",
            ["A line of prose that was wrapped by an editor at some\ncolumn goes on.", "Next."],
        ),
    ],
)
def test_a_line_break_ends_a_sentence_only_where_the_next_line_is_something_new(text, expected):
    assert sentences(text) == expected


@given(st.text() | st.text(alphabet="aB1.?!。। \n\"'():;-|\t…\u0301😀", max_size=60))
def test_sentences_are_in_order_disjoint_trimmed_and_cover_everything_that_is_not_whitespace(text):
    covered = [False] * len(text)
    before = 0
    for start, end in split(text):
        assert before <= start < end
        assert text[start:end] == text[start:end].strip()
        covered[start:end] = [True] * (end - start)
        before = end
    assert all(seen or character.isspace() for seen, character in zip(covered, text, strict=True))


@pytest.mark.parametrize("text", ["." * 200_000 + "a", '."' * 100_000, "a:" * 100_000, "x|" * 100_000, "A.b." * 50_000])
def test_hostile_text_takes_no_more_than_linear_time(text):
    began = time.process_time()
    split(text)
    assert time.process_time() - began < 20


def test_codes_and_figures_stay_whole_words():
    assert words("Sow JS 20–69 at 1,200.5 kg; the farmer's Straße") == [
        *("sow", "js", "20-69", "at", "1,200.5", "kg", "the", "farmer", "strasse"),
    ]


def test_content_words_are_stemmed_and_without_stop_words():
    assert content_words("What are the recommended varieties?") == ["recommend", "varieti"]


def test_ideographs_are_words_of_their_own():
    assert words("大豆 2024") == ["大", "豆", "2024"]


@given(st.text())
def test_words_do_not_depend_on_case_or_compatibility_forms_of_ascii(text):
    assert all(word == word.casefold() for word in words(text))


@pytest.mark.parametrize(
    "sentences",
    [
        ("Das fällt auf den 2. September 1752 zurück.", "An diesem Datum begann es."),
        ("Im 19. Jahrhundert gab es z. B. Lochkarten, d. h. Karten mit Löchern.", "Sie waren aus Pappe."),
        ("Es gibt u. a. Programme für Debian.", "Sie sind frei."),
        ("Der Wert bzw. Name steht in Nr. 7.", "Danach kommt vgl. Abschnitt 3 nichts mehr."),
        ("Le fichier, p. ex. Lisez-moi, est lu par M. Dupont.", "Il est court."),
        ("Il dit « C'est fini. »", "Elle part le 1er mai 1990."),
        ("»Das ist alles.«", "Er ging."),
        ("Es gilt ab Version 3.", "Danach nicht mehr."),
    ],
)
def test_sentences_of_german_and_french_end_where_they_end(sentences):
    text = " ".join(sentences)
    assert tuple(text[start:end] for start, end in split(text)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Der Verein Westwerk e. V. hat die Räume gemietet.", "Er zahlt Miete."],
        ["Mieter ist der Westwerk e. V.", "Die Miete beträgt 5 EUR."],
        ["Das sind z. B. Büros, d. h. Räume, i. d. R. Säle.", "Sie sind z. Hd. Frau Meier gemeldet."],
        ["Gemäß Art. 5 Abs. 2 Satz 3 und gem. § 5 Abs. 1 Nr. 2 gilt Ziff. 4.", "Der Rest entfällt."],
        ["Frau Dr. med. Anna Rothe und Herr Dr. h. c. Otto Gut kamen.", "Dipl.-Ing. Max Bär kam nicht."],
        ["Die Frist endet am 31. 3. 2025.", "Sie begann am 1. 2. 2025."],
        ["Das Büro ist in der Hauptstr. 12, Tel. 0431 55, Mo. bis Fr. 8 Uhr.", "Es ist klein."],
        ["Der Käufer ist die Müller u. Co. OHG.", "Sie zahlt mind. 5 EUR und max. 9 EUR."],
        ["Voir p. ex. Paris, l'art. 12, al. 3 et chap. 4.", "C'est tout."],
        ["Il coûte env. 5 euros.", "M. Hugo Lambert paie la Sté Dupont, tél. 01 44."],
        ["See No. 4, para. 3 and cl. 5 in Bldg. 7.", "It is approx. 5 km away."],
        ["Vitamin C.", "Die Dosis ist 5 mg.", "Das ist Variante A.", "Sie gilt."],
        ["C'est l'option A.", "Elle est bonne."],
        ["Die Länge ist 5 m.", "Es sind 3 t.", "Holz ist schwer.", "Er kam um 5.", "Dann ging er."],
        ["Brot, Käse u. a.", "Das war es.", "Es geschah 200 v. Chr.", "Die Römer kamen."],
        ["They met at 9 a.m.", "It was plan B.", "The rest followed."],
    ],
    ids=lambda sentences: sentences[0],
)
def test_abbreviations_of_three_languages_end_no_sentence_and_real_ends_are_kept(sentences: list[str]) -> None:
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split(text)] == sentences


def test_order_lines_behind_a_numbered_abbreviation_are_sentences_of_their_own() -> None:
    lines = [
        "Pos. 1: 60 Flaschen zu 7,80 EUR",
        "Pos. 2: 36 Flaschen zu 9,40 EUR",
        "Nr. 3: 24 Flaschen Riesling zu 5 EUR",
    ]
    text = "\n".join(lines)
    assert [text[start:end] for start, end in split(text)] == lines
    assert len(split("In Pos. 3 steht Riesling.")) == 1


@pytest.mark.parametrize("label", ["Inventory no.", "Artikel-Nr.", "Art.-Nr.", "Réf. article"])
def test_a_row_whose_first_label_is_an_abbreviation_is_a_sentence_of_its_own(label: str) -> None:
    rows = [f"{label}: {code}; Item: {item}; Weight (kg): 85" for code, item in (("A1", "Ladder"), ("A2", "Hoist H2"))]
    text = "\n".join(rows)
    assert [text[start:end] for start, end in split(text)] == rows
