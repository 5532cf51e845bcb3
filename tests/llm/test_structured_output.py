"""What can and what must not be read out of a language model's reply."""

import contextlib
import json
import time
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import ReplyCut, ReplyUnusable
from kgrag.llm import structured_output
from kgrag.model import Completion

CROP = {
    "type": "object",
    "properties": {"crop": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["crop"],
    "additionalProperties": False,
}
TREE = {"$ref": "#/$defs/node", "$defs": {"node": {"type": "array", "items": {"$ref": "#/$defs/node"}}}}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def without_surrogates(value: object) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in json.dumps(value, ensure_ascii=False))


@given(json_values.filter(without_surrogates), st.sampled_from([None, 0, 2]), st.booleans())
def test_strict_json_is_read_as_it_stands(value, indent, escaped):
    assert structured_output.parse_json(json.dumps(value, indent=indent, ensure_ascii=escaped)) == value


@given(st.dictionaries(st.text(min_size=1), json_values, min_size=1, max_size=3).filter(without_surrogates))
def test_an_object_in_prose_is_found_whatever_it_holds(value):
    assert structured_output.parse_json(f"Of course!\n{json.dumps(value)}\nTell me if you want more.") == value


@given(st.text())
def test_any_text_gives_a_value_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        json.dumps(structured_output.parse_json(text), allow_nan=False).encode()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('```json\n{"crop": "soybean"}\n```', {"crop": "soybean"}),
        ('Here:\n~~~\n["a", "b"]\n~~~\nDone.', ["a", "b"]),
        ('```\nnot json\n```\n```json\n{"a": 1}\n```', {"a": 1}),
        ('As [1] says: {"crop": "soybean"}.', {"crop": "soybean"}),
        ('<think>maybe {"crop": "wheat", "days": 90}?</think>{"crop": "soybean"}', {"crop": "soybean"}),
        ('maybe {"crop": "wheat", "days": 90}?\n</think>\n\n{"crop": "soybean"}', {"crop": "soybean"}),
        ('It is {"crop": "</think> and more"}.', {"crop": "</think> and more"}),
        ('Use { to open an object. {"a": {"b": "}"}} is one.', {"a": {"b": "}"}}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ("  null ", None),
    ],
)
def test_json_is_found_wherever_a_model_puts_it(text, value):
    assert structured_output.parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"crop": "soybean", "days": 87,}', {"crop": "soybean", "days": 87}),
        ("{'crop': 'soybean'}", {"crop": "soybean"}),
        ('{crop: "soybean"}', {"crop": "soybean"}),
        ('{"crop": "soybean", // a legume\n "days": 87}', {"crop": "soybean", "days": 87}),
        ('{"crop": "soybean", "soil": {"ph": 6.5}', {"crop": "soybean", "soil": {"ph": 6.5}}),
        ('{"ok": True, "none": None}', {"ok": True, "none": None}),
    ],
)
def test_common_slips_are_mended(text, value):
    assert structured_output.parse_json(text) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("Soybean ripens in 87 days.", "no JSON object or array"),
        ("The set {soybean} and [see the note] are prose.", "no JSON object or array"),
        ("crop: soybean\ndays: 87", "no JSON object or array"),
        ("[" * 100_000, "nested deeper than 200|no JSON"),
        ("[" * 201 + "]" * 201, "nested deeper than 200"),
        ('{"a":' * 300 + "1" + "}" * 300, "nested deeper than 200"),
        ('{"days": NaN}', "finite"),
        ('{"days": -Infinity}', "finite"),
        ('{"days": 1e999}', "finite"),
        ('Here: {"days": NaN,}', "no JSON object or array"),
    ],
)
def test_what_cannot_be_read_says_why(text, why):
    with pytest.raises(ValueError, match=why):
        structured_output.parse_json(text)


def test_the_deepest_that_is_allowed_is_read():
    assert structured_output.parse_json("[" * 200 + "]" * 200)


@pytest.mark.parametrize(
    "part", ["[", '"\\"', '{"a', "{ x", '["', "```\n", "{'", "{/*", "[[1,", "\n", "<think>", "</think> "]
)
def test_a_model_that_repeats_itself_is_given_up_soon(part):
    begun = time.process_time()
    with pytest.raises(ValueError, match="reply"):
        structured_output.parse_json(f"x {part * 50_000}")
    assert time.process_time() - begun < 20


def test_a_conforming_value_has_no_problem():
    assert structured_output.problem({"crop": "soybean", "days": 87}, CROP) == ""


def test_a_problem_names_place_and_fault():
    assert structured_output.problem({"crop": 87}, CROP) == "at $.crop: 87 is not of type 'string'"


def test_a_problem_lists_three_violations_and_counts_the_rest():
    schema = {"type": "array", "items": {"type": "integer"}}
    said = structured_output.problem(["a", "b", "c", "d", "e"], schema)
    assert said.count("is not of type 'integer'") == 3
    assert said.endswith("; and 2 more")


def test_a_long_value_is_cut_in_a_problem():
    assert len(structured_output.problem("x" * 10_000, {"type": "integer"})) < 300


def test_a_broken_schema_is_the_callers_error():
    with pytest.raises(ValueError, match="no JSON Schema"):
        structured_output.problem({}, {"type": "nonsense"})


def test_a_schema_is_never_fetched_from_elsewhere():
    with pytest.raises(ValueError, match="does not contain"):
        structured_output.problem({}, {"$ref": "http://127.0.0.1:9/schema.json"})


def test_a_deep_value_under_a_recursive_schema_is_a_problem_or_passes_but_never_overflows():
    value = structured_output.parse_json("[" * 200 + "]" * 200)
    assert structured_output.problem(value, TREE) in {"", "at $: nested too deep to be checked"}


def test_a_reply_that_conforms_gives_its_data():
    assert structured_output.reply('{"crop": "soybean"}', CROP) == ({"crop": "soybean"}, "")


def test_of_several_values_in_a_reply_the_one_that_conforms_is_taken():
    text = 'The schema {"type": "object", "properties": {}} asks for {"crop": "soybean"}.'
    assert structured_output.reply(text, CROP) == ({"crop": "soybean"}, "")


def test_a_reply_off_its_schema_gives_no_data():
    data, problem = structured_output.reply('{"days": 87}', CROP)
    assert data is None
    assert problem == "at $: 'crop' is a required property"


def test_prose_instead_of_json_is_a_problem_that_quotes_it():
    assert "I do not know" in structured_output.reply("I do not know.", CROP)[1]


# --- completions


WHOLE = Completion('{"crop": "rye"}', data={"crop": "rye"})
CUT = replace(WHOLE, finish="length")
OFF = Completion("Crops: [1,]", problem="at $: [1] is not of type 'object'")


@pytest.mark.parametrize(
    "read", [structured_output.text_of, structured_output.json_of, partial(structured_output.json_of, checked=False)]
)
def test_a_reply_that_was_cut_is_refused_by_name_whatever_can_be_read_from_it(read):
    with pytest.raises(ReplyCut, match="cut at the limit of its tokens"):
        read(CUT)
    with pytest.raises(ReplyCut, match="after 7 tokens"):
        read(replace(CUT, data=None, problem="the reply was cut after 7 tokens"))


def test_a_whole_reply_is_read_as_text_and_as_json():
    assert structured_output.text_of(WHOLE) == '{"crop": "rye"}'
    assert structured_output.json_of(WHOLE) == structured_output.json_of(WHOLE, checked=False) == {"crop": "rye"}


def test_a_reply_off_its_schema_is_read_only_by_who_looks_for_other_forms():
    assert structured_output.json_of(OFF, checked=False) == [1]
    with pytest.raises(ReplyUnusable, match="not of type 'object'"):
        structured_output.json_of(OFF)
    with pytest.raises(ReplyUnusable, match="withheld"):
        structured_output.text_of(Completion("", problem="withheld", finish="content_filter"))


def test_a_text_without_json_is_refused_with_what_was_found_first():
    with pytest.raises(ReplyUnusable, match="the reply is empty"):
        structured_output.json_of(Completion(""), checked=False)
