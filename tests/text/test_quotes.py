"""Quotes found in stored text, at exact offsets."""

import re
import unicodedata

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kgrag.text.quotes import locate, places


def found(quote: str, text: str) -> str | None:
    place = locate(quote, text)
    return None if place is None else text[slice(*place)]


@pytest.mark.parametrize(
    ("quote", "text", "expected"),
    [
        ("brown pods", "Harvest brown pods.", "brown pods"),
        ("brown pods", "Harvest brown\n  pods.", "brown\n  pods"),
        ("“brown” pods", 'Harvest "brown" pods.', '"brown" pods'),
        ("the farmer's field", "It is the farmer’s field.", "the farmer’s field"),
        ("85-90% of pods", "When 85–90% of pods turn", "85–90% of pods"),
        ("BROWN PODS", "Harvest brown pods.", "brown pods"),
        ("brown pods.", "Harvest brown pods, then dry.", "brown pods"),
        ('"brown pods"', "Harvest brown pods, then dry.", "brown pods"),
        ("office", "The oﬃce opens.", "oﬃce"),
        ("café", "Le cafe\u0301 ouvre.", "cafe\u0301"),
        ("cafe\u0301", "Le café ouvre.", "café"),
        ("co\u00adoperate", "We cooperate.", "cooperate"),
        ("زرع القمح", "قال: زرع\u00a0القمح في الشتاء", "زرع\u00a0القمح"),
        ("👩‍🌾 sows 🌱", "The 👩‍🌾  sows\n🌱 now", "👩‍🌾  sows\n🌱"),
        ("Straße", "Die STRASSE ist lang.", "STRASSE"),
    ],
)
def test_a_quote_is_found_although_it_was_respelled(quote, text, expected):
    assert found(quote, text) == expected


@pytest.mark.parametrize("quote", ["green pods", "", "  ", "...", "“”", "brown  x", "\u200b"])
def test_what_does_not_stand_in_the_text_is_not_found(quote):
    assert locate(quote, "Harvest when brown pods … “ rattle.") is None


def test_part_of_a_character_is_no_match():
    assert locate("1", "Take ½ of it") is None
    assert locate("cafe x", "café x") is None


def test_a_place_between_words_is_taken_before_one_inside_a_word():
    assert locate("art", "party art") == (6, 9)
    assert locate("art", "party") == (1, 4)


@pytest.mark.parametrize(
    ("quote", "text", "expected"),
    [
        ("5 kg", "55 kg", []),
        ("5 kg", "3.5 kg, 5 kg", [(8, 12)]),
        ("2 and 3", "1, 2 and 3", [(3, 10)]),
        ("art", "party art, ART", [(6, 9)]),
        ("cat", "Concatenate: Cat", [(13, 16)]),
        ("S", "Soybean", []),
        ("서울", "서울에서", [(0, 2)]),
    ],
)
def test_a_place_inside_a_word_or_number_is_none(quote, text, expected):
    assert places(quote, text) == expected


_TEXTS = st.text(
    alphabet=st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from("ab 1\n\t \u00a0“”‘’–—éﬁ½شלא大豆😀\u200d👩🌾\u0301ßΣς'\"-"),
    ),
    min_size=1,
    max_size=80,
)


@given(_TEXTS, st.data())
def test_any_part_of_a_text_is_found_where_it_stands_however_it_is_spaced(text, data):
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    part = text[start:end]
    respaced = re.sub(r"\s+", lambda _: data.draw(st.sampled_from([" ", "\n", "  ", "\u00a0", "\t\n"])), part)
    assume(any(unicodedata.category(character)[0] in "LNSM" for character in part))
    place = locate(respaced, text)
    assert place is not None
    assert "".join(text[slice(*place)].split()) == "".join(part.split()) or _folded(text[slice(*place)]) == _folded(
        part
    )


def _folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = (character for character in plain if unicodedata.category(character) != "Cf" and not character.isspace())
    return re.sub("[^\\w]", "", "".join(kept))
