"""Reads replies of language models: refuses those that were cut, finds their JSON, and checks it against a schema.

Whatever uses a ``Completion`` reads it by ``text_of`` or ``json_of``, so that one place decides what is a whole reply.

No server is trusted to honour the schema that it was sent (some ignore it silently), so every reply is read and checked
here, whichever model it comes from. Text is read strictly first, then from fenced blocks, then from the largest object
or array within prose, and only then mended; nothing is made up from text that has no brackets.

>>> reply('Sure: {"crop": "soybean",}', {"type": "object", "required": ["crop"]})
({'crop': 'soybean'}, '')
>>> reply('{"crop": 1}', {"type": "object", "properties": {"crop": {"type": "string"}}})
(None, "at $.crop: 1 is not of type 'string'")
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from kgrag.errors import ReplyCut, ReplyUnusable
from kgrag.late_patterns import late_re
from kgrag.model import Completion

__all__ = [
    "MAX_DEPTH",
    "NO_END",
    "json_of",
    "lacks_end",
    "parse_json",
    "problem",
    "reply",
    "text_of",
    "with_data",
    "without_thoughts",
]

MAX_DEPTH = 200
"""The deepest nesting of objects and arrays that is read, since reading and checking recurse."""

_FENCE = late_re(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1", flags=re.DOTALL | re.MULTILINE)
_MARK = late_re(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', flags=re.DOTALL)
_OPENING = late_re(r"""\{\s*(?:[}"'/]|\w+\s*:)|\[\s*(?:[\]"'{\[\d/-]|true|false|null)""")
_NOT_FINITE = late_re(r"[:,\[]\s*-?(?:NaN|Infinity)\b")
_THOUGHT = late_re(r"\A<think>.*?</think>|\A.*(?:\n[ \t]*</think>|</think>[ \t]*\n)", flags=re.DOTALL)
_SURROGATE = late_re("[\ud800-\udfff]")
_CLOSES = {"{": "}", "[": "]"}
NO_END = "the reply ends before its JSON does"
"""The problem of a reply that is cut, whatever its service says."""


_MAX_MENDED_STRETCHES = 3
_MAX_MENDED_CHARACTERS = 20_000  # the time of json_repair grows too fast beyond
_MAX_VIOLATIONS_SHOWN = 3
_MAX_CHARACTERS_SHOWN = 160


def text_of(completion: Completion) -> str:
    """Return the text of a reply that is whole, without the reasoning before it.

    Raises:
        ReplyCut: it was cut.
        ReplyUnusable: it was withheld, is empty, or is not what its prompt's schema asks for.
    """
    _refuse_cut(completion)
    if completion.problem:
        raise ReplyUnusable(completion.problem)
    text = without_thoughts(completion.text)
    if completion.text and not text.strip():
        raise ReplyUnusable("the reply has reasoning, and nothing behind it")
    return text


def json_of(completion: Completion, *, checked: bool = True) -> Any:
    """Return the JSON of a reply that is whole.

    Args:
        completion: the reply to a prompt with a schema.
        checked: take only JSON that conforms to that schema; False: any JSON in the text, for a caller that accepts
            more forms than one.

    Raises:
        ReplyCut: it was cut.
        ReplyUnusable: it has no such JSON; the message has the problem.
    """
    _refuse_cut(completion)
    if completion.data is not None and not completion.problem:
        return completion.data
    if checked:
        raise ReplyUnusable(completion.problem or "the reply has no JSON that was checked against a schema")
    if lacks_end(completion.text):
        raise ReplyCut(NO_END)
    try:
        return parse_json(completion.text)
    except ValueError as error:
        raise ReplyUnusable(completion.problem or str(error)) from None


def _refuse_cut(completion: Completion) -> None:
    if completion.finish == "length":
        raise ReplyCut(completion.problem or "the reply was cut at the limit of its tokens")


def reply(text: str, schema: Mapping[str, Any]) -> tuple[Any, str]:
    """Read a reply and check it.

    Of several JSON values in the text, the first that conforms is taken; one without its end is not.

    Returns:
        The JSON and "", or None and the problem in words.

    Raises:
        ValueError: ``schema`` is itself no JSON Schema.
    """
    if lacks_end(text):
        return None, NO_END
    first_problem = ""
    try:
        for data in _readings(text):
            found = problem(data, schema)
            if not found:
                return data, ""
            first_problem = first_problem or found
    except UnreadableReplyError as error:
        first_problem = first_problem or str(error)
    return None, first_problem


def without_thoughts(text: str) -> str:
    """Return a text without what a model wrote as reasoning before it; "" where there is nothing else.

    >>> [without_thoughts(text) for text in ("<think>A crop?</think>Soybean.", "<think>A crop? Let me", "Soybean.")]
    ['Soybean.', '', 'Soybean.']
    """
    answer = _THOUGHT.sub("", text.strip(), count=1) if "</think>" in text else text
    return "" if answer.lstrip().startswith("<think>") else answer


def with_data(completion: Completion, schema: Mapping[str, Any]) -> Completion:
    """Return a reply with its JSON, or with what is wrong with it; one whose JSON has no end was cut.

    Raises:
        ValueError: ``schema`` is itself no JSON Schema.
    """
    data, found = reply(completion.text, schema)
    return replace(completion, data=data, problem=found, finish="length" if found == NO_END else completion.finish)


def lacks_end(text: str) -> bool:
    """Return whether the JSON of a reply begins and does not end: it was cut, whatever the service says, or forgotten.

    Brackets that are closed in the wrong order are a fault of form, and none of this kind.

    >>> lacks_end('{"crops": ["soybean", "mai'), lacks_end('{"crops": ["soybean"]'), lacks_end('{"crops": ["soybean"}')
    (True, True, False)
    """
    stripped = text.strip()
    if _is_json(stripped):
        return False
    stretches = list(_stretches(_THOUGHT.sub("", stripped, count=1)))
    return bool(stretches) and _is_open(stretches[-1]) and not any(map(_is_json, stretches))


def parse_json(text: str) -> Any:
    r"""Return the JSON value of a text, read as leniently as can be done without making anything up.

    Strict JSON; else the first fenced block that is an object or array; else the largest stretch of the text that is
    one; else the same places mended by ``json_repair`` (trailing commas, single quotes, comments, a missing end).

    Args:
        text: a model's reply; reasoning that ends in ``</think>`` is skipped.

    Raises:
        ValueError: the text is empty, has no object or array, is nested deeper than ``MAX_DEPTH``, or has a number
            that is not finite.

    >>> parse_json('The crops are:\n```json\n["soybean", "maize"]\n```\nAnything else?')
    ['soybean', 'maize']
    """
    return next(_readings(text))


def problem(data: Any, schema: Mapping[str, Any]) -> str:
    """Return how ``data`` departs from a JSON Schema (Draft 2020-12).

    Returns:
        "" when it conforms, else at most three violations, the most relevant first, each with its place as a JSON path.

    Raises:
        ValueError: ``schema`` is itself no JSON Schema, or refers to one that it does not contain.
    """
    from jsonschema.exceptions import best_match, relevance
    from referencing.exceptions import Unresolvable

    try:
        errors = list(_validator(json.dumps(schema, sort_keys=True)).iter_errors(data))
    except Unresolvable as error:
        raise ValueError(
            f"the schema of the reply refers to {error}, which it does not contain. Put it in $defs."
        ) from None
    except RecursionError:
        return "at $: nested too deep to be checked"
    if not errors:
        return ""
    first = best_match(errors)
    top = first
    while top.parent is not None:
        top = top.parent
    rest = sorted((error for error in errors if error is not top), key=relevance, reverse=True)
    lines = list(dict.fromkeys(f"at {error.json_path}: {_shortened(error.message)}" for error in [first, *rest]))
    more = f"; and {len(lines) - _MAX_VIOLATIONS_SHOWN} more" if len(lines) > _MAX_VIOLATIONS_SHOWN else ""
    return "; ".join(lines[:_MAX_VIOLATIONS_SHOWN]) + more


def _shortened(message: str) -> str:
    """Return a message with its middle left out where it is long: its end names what was expected."""
    half = _MAX_CHARACTERS_SHOWN // 2
    return message if len(message) <= _MAX_CHARACTERS_SHOWN else f"{message[:half]} … {message[-half:]}"


class UnreadableReplyError(ValueError):
    """No JSON can be read from a reply."""


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    loaded = json.loads(schema)
    try:
        Draft202012Validator.check_schema(loaded)
    except SchemaError as error:
        raise ValueError(f"the schema of the reply is no JSON Schema: at {error.json_path}: {error.message}.") from None
    return Draft202012Validator(loaded, registry=Registry())


def _readings(text: str) -> Iterator[Any]:
    """Yield every way to read a text, the most faithful first; at least one, or an UnreadableReplyError."""
    stripped = text.strip().removeprefix("\ufeff")
    if not stripped:
        raise UnreadableReplyError("the reply is empty; JSON was expected")
    whole = _strict(stripped)
    if whole:
        yield whole[0]
        return
    answer = _THOUGHT.sub("", stripped, count=1)
    fenced = [match[2].strip() for match in _FENCE.finditer(answer)]
    candidates = [*fenced, *sorted(_stretches(answer), key=len, reverse=True)]
    strict = [value for candidate in candidates for value in _strict(candidate) if isinstance(value, dict | list)]
    yield from strict or _mended(candidates, stripped)


def _strict(text: str) -> list[Any]:
    """Return [the value], or [] for a text that is not strict JSON; refuse NaN and Infinity, which Python reads."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return []
    return [_sound(value)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except RecursionError:
        return True  # and too deep to be read
    except ValueError:
        return False
    return True


def _sound(value: Any, depth: int = 1) -> Any:
    """Return the value with lone surrogates replaced; refuse a nesting too deep and numbers that are not finite."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableReplyError(f"the reply has the number {value}; a finite number or null was expected")
    if not isinstance(value, dict | list):
        return value
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, list):
        return [_sound(item, depth + 1) for item in value]
    return {_sound(key): _sound(item, depth + 1) for key, item in value.items()}


def _too_deep() -> UnreadableReplyError:
    return UnreadableReplyError(
        f"the reply is nested deeper than {MAX_DEPTH} objects and arrays; a flatter one was expected"
    )


def _stretches(text: str) -> Iterator[str]:
    """Yield the outermost stretches that begin like an object or array; the last one may lack its end."""
    start = _OPENING.search(text)
    while start:
        end = _closing(text, start.start())
        yield text[start.start() : end]
        start = _OPENING.search(text, end)


def _closing(text: str, start: int) -> int:
    """Return the offset behind the bracket that closes the one at ``start``, or the end of the text."""
    awaited: list[str] = []
    for mark in _MARK.finditer(text, start):
        if mark[0] in _CLOSES:
            awaited.append(_CLOSES[mark[0]])
        elif mark[0] == awaited[-1]:
            awaited.pop()
            if not awaited:
                return mark.end()
    return len(text)


def _is_open(stretch: str) -> bool:
    """Return whether a stretch ends within what it opens, with no bracket before that closes another."""
    awaited: list[str] = []
    for mark in _MARK.finditer(stretch):
        if mark[0] in _CLOSES:
            awaited.append(_CLOSES[mark[0]])
        elif mark[0][0] == '"':
            continue
        elif not awaited or mark[0] != awaited.pop():
            return False
    return bool(awaited)


def _mended(candidates: list[str], text: str) -> Iterator[Any]:
    """Yield the values that ``json_repair`` makes of the first candidates."""
    import json_repair

    yielded = False
    for candidate in candidates[:_MAX_MENDED_STRETCHES]:
        if len(candidate) > _MAX_MENDED_CHARACTERS or not _OPENING.match(candidate) or _NOT_FINITE.search(candidate):
            continue
        try:
            value = _sound(json_repair.loads(candidate, skip_json_loads=True))
        except (RecursionError, ValueError):
            continue
        if isinstance(value, dict | list) and value:
            yielded = True
            yield value
    if not yielded:
        shown = text if len(text) <= _MAX_CHARACTERS_SHOWN else f"{text[:_MAX_CHARACTERS_SHOWN]} …"
        raise UnreadableReplyError(f"the reply has no JSON object or array: {shown!r}")
