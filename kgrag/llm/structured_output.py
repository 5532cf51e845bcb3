"""Reads what a language model wrote: refuses a reply that was cut, finds its JSON, says how that departs from a schema.

Whatever uses a ``Completion`` reads it by ``text_of`` or ``json_of``, so that one place decides what is a whole reply.

No server is trusted to honour the schema it was sent (some ignore it without a word), so every reply is read and
checked here, whichever model it comes from. Text is read strictly first, then from fenced blocks, then from the largest
object or array within prose, and only then mended; nothing is made up from text that has no brackets.

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
from functools import lru_cache
from typing import Any

from kgrag.errors import ReplyCut, ReplyUnusable
from kgrag.model import Completion

__all__ = ["DEEPEST", "json_of", "parse_json", "problem", "reply", "text_of"]

DEEPEST = 200
"""How many objects and arrays may stand inside each other."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)^[ \t]*\1", flags=re.DOTALL | re.MULTILINE)
_MARK = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', flags=re.DOTALL)
_OPENING = re.compile(r"""\{\s*(?:[}"'/]|\w+\s*:)|\[\s*(?:[\]"'{\[\d/-]|true|false|null)""")
_NOT_FINITE = re.compile(r"[:,\[]\s*-?(?:NaN|Infinity)\b")
_THOUGHT = re.compile(r"\A<think>.*?</think>|\A.*(?:\n[ \t]*</think>|</think>[ \t]*\n)", flags=re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_CLOSES = {"{": "}", "[": "]"}
_MENDED = 3
_MENDABLE = 20_000
_VIOLATIONS = 3
_SHOWN = 160


def text_of(completion: Completion) -> str:
    """Give the text of a reply that is whole.

    Raises:
        ReplyCut: it was cut.
        ReplyUnusable: it was withheld, is empty, or is not what its prompt's schema asks for.
    """
    _refuse_cut(completion)
    if completion.problem:
        raise ReplyUnusable(completion.problem)
    return completion.text


def json_of(completion: Completion, *, checked: bool = True) -> Any:
    """Give the JSON of a reply that is whole.

    Args:
        completion: the reply to a prompt with a schema.
        checked: take only what conforms to that schema; False: any JSON that the text holds, for a caller that looks
            for more forms than one.

    Raises:
        ReplyCut: it was cut.
        ReplyUnusable: it holds no such JSON; the message says what is wrong.
    """
    _refuse_cut(completion)
    if completion.data is not None and not completion.problem:
        return completion.data
    if checked:
        raise ReplyUnusable(completion.problem or "the reply holds no JSON that was checked against a schema")
    try:
        return parse_json(completion.text)
    except ValueError as error:
        raise ReplyUnusable(completion.problem or str(error)) from None


def _refuse_cut(completion: Completion) -> None:
    if completion.finish == "length":
        raise ReplyCut(completion.problem or "the reply was cut at the limit of its tokens")


def reply(text: str, schema: Mapping[str, Any]) -> tuple[Any, str]:
    """Read a reply and check it.

    Of several JSON values in the text, the first that conforms is taken.

    Returns:
        The JSON and "", or None and what is wrong with it in words.

    Raises:
        ValueError: ``schema`` is itself no JSON Schema.
    """
    wrong = ""
    try:
        for data in _readings(text):
            found = problem(data, schema)
            if not found:
                return data, ""
            wrong = wrong or found
    except UnreadableReplyError as error:
        wrong = wrong or str(error)
    return None, wrong


def parse_json(text: str) -> Any:
    r"""Give the JSON value that a text holds, read as leniently as can be done without making anything up.

    Strict JSON; else the first fenced block that is an object or array; else the largest stretch of the text that is
    one; else the same places mended by ``json_repair`` (trailing commas, single quotes, comments, a missing end).

    Args:
        text: what a model wrote; a thought that ends in ``</think>`` is passed over.

    Raises:
        ValueError: the text is empty, holds no object or array, is nested deeper than ``DEEPEST``, or holds a number
            that is not finite.

    >>> parse_json('The crops are:\n```json\n["soybean", "maize"]\n```\nAnything else?')
    ['soybean', 'maize']
    """
    return next(_readings(text))


def problem(data: Any, schema: Mapping[str, Any]) -> str:
    """Say how ``data`` departs from a JSON Schema (Draft 2020-12).

    Returns:
        "" when it conforms, else at most three violations, the most telling first, each with its place as a JSON path.

    Raises:
        ValueError: ``schema`` is itself no JSON Schema, or refers to one that it does not hold.
    """
    from jsonschema.exceptions import best_match, relevance
    from referencing.exceptions import Unresolvable

    try:
        errors = list(_validator(json.dumps(schema, sort_keys=True)).iter_errors(data))
    except Unresolvable as error:
        raise ValueError(
            f"the schema of the reply refers to {error}, which it does not hold. Put it in $defs."
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
    said = list(dict.fromkeys(_sentence(error) for error in [first, *rest]))
    more = f"; and {len(said) - _VIOLATIONS} more" if len(said) > _VIOLATIONS else ""
    return "; ".join(said[:_VIOLATIONS]) + more


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


def _sentence(error: Any) -> str:
    message = error.message
    if len(message) > _SHOWN:
        message = f"{message[: _SHOWN // 2]} … {message[-_SHOWN // 2 :]}"
    return f"at {error.json_path}: {message}"


def _readings(text: str) -> Iterator[Any]:
    """Yield every way to read a text, the most faithful first; at least one, or an UnreadableReplyError."""
    stripped = text.strip().removeprefix("\ufeff")
    if not stripped:
        raise UnreadableReplyError("the reply is empty; JSON was expected")
    whole = _strict(stripped)
    if whole:
        yield whole[0]
        return
    candidates = _candidates(_THOUGHT.sub("", stripped, count=1))
    strict = [value for candidate in candidates for value in _strict(candidate) if isinstance(value, dict | list)]
    yield from strict or _mended(candidates, stripped)


def _strict(text: str) -> list[Any]:
    """Give [the value], or [] when the text is not strict JSON (NaN and Infinity, which Python reads, are refused)."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        return []
    return [_sound(value)]


def _sound(value: Any, depth: int = 1) -> Any:
    """Give the value with stray surrogates replaced; refuse what is too deep or not finite."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if _SURROGATE.search(value) else value
    if isinstance(value, float) and not math.isfinite(value):
        raise UnreadableReplyError(f"the reply holds the number {value}; a finite number or null was expected")
    if not isinstance(value, dict | list):
        return value
    if depth > DEEPEST:
        raise _too_deep()
    if isinstance(value, list):
        return [_sound(item, depth + 1) for item in value]
    return {_sound(key): _sound(item, depth + 1) for key, item in value.items()}


def _too_deep() -> UnreadableReplyError:
    return UnreadableReplyError(
        f"the reply is nested deeper than {DEEPEST} objects and arrays; a flatter one was expected"
    )


def _candidates(text: str) -> list[str]:
    """Give the places where JSON may stand: fenced blocks in order, then bracketed stretches, largest first."""
    fenced = [match[2].strip() for match in _FENCE.finditer(text)]
    stretches = sorted(_stretches(text), key=len, reverse=True)
    return [*fenced, *stretches]


def _stretches(text: str) -> Iterator[str]:
    """Yield the outermost stretches that begin like an object or array; the last one may lack its end."""
    start = _OPENING.search(text)
    while start:
        end = _closing(text, start.start())
        yield text[start.start() : end]
        start = _OPENING.search(text, end)


def _closing(text: str, start: int) -> int:
    """Give the offset behind the bracket that closes the one at ``start``, or the end of the text."""
    awaited: list[str] = []
    for mark in _MARK.finditer(text, start):
        if mark[0] in _CLOSES:
            awaited.append(_CLOSES[mark[0]])
        elif mark[0] == awaited[-1]:
            awaited.pop()
            if not awaited:
                return mark.end()
    return len(text)


def _mended(candidates: list[str], text: str) -> Iterator[Any]:
    """Yield what ``json_repair`` makes of the largest candidates; its time grows too fast for very long ones."""
    import json_repair

    found = 0
    for candidate in candidates[:_MENDED]:
        if len(candidate) > _MENDABLE or not _OPENING.match(candidate) or _NOT_FINITE.search(candidate):
            continue
        try:
            value = _sound(json_repair.loads(candidate, skip_json_loads=True))
        except (RecursionError, ValueError):
            continue
        if isinstance(value, dict | list) and value:
            found += 1
            yield value
    if not found:
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"
        raise UnreadableReplyError(f"the reply holds no JSON object or array: {shown!r}")
