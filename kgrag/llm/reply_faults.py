"""Judges replies before they are kept: refusals, preambles, and texts that are not about what was asked.

A reply that conforms to its schema, or that needs none, can still be no reply: "I'm sorry, but I can't help", or "Sure!
Here is the rewritten paragraph:". Kept, it would be the paragraph for good. What a prompt expects is declared in its
header, line by line:

=====================================  =========================================================================
``expect prose``                       a text that is not empty
``expect length 0.4-2.5 of text``      so many times as many words as an input
``expect words 0.5 of title, text``    share of the reply's words that stand in inputs, at least
``expect names 0.5 of text``           share of the names of an input that the reply keeps, at least
=====================================  =========================================================================

Refusals are faults of every prompt with such lines, and words about the reply at its begin or end of those that ask for
plain text. Words that an input has may begin and end its reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import regex

from kgrag import prompting
from kgrag.errors import UnknownName
from kgrag.late_patterns import late_regex
from kgrag.llm.structured_output import without_thoughts
from kgrag.llm.text_marks import strings
from kgrag.model import Completion, Prompt
from kgrag.text.sentences import content_words

__all__ = ["fault", "judged"]

_REFUSAL = late_regex(
    r"""\s*["'*]*(?:i['’]?m\s+(?:so\s+|very\s+)?(?:sorry|afraid|unable)|i\s+am\s+(?:sorry|unable|not\s+able)|sorry\b
    |(?:my\s+)?apologies\b|i\s+(?:apologi[sz]e|regret|must\s+decline)|i\s+(?:cannot|can['’]?t|won['’]?t)\b|as\s+an?\s+(?:ai|language\s+model|large)\b
    |unfortunately,?\s+i\b|i\s+(?:do\s+not|don['’]t)\s+(?:have|see)\b|please\s+(?:provide|share|send)\b
    |it\s+(?:seems|looks\s+like|appears)\s+(?:that\s+)?(?:you|no\s+text|there\s+is\s+no)
    |es\s+tut\s+mir\s+leid|leider\s+kann\s+ich|lo\s+siento|je\s+suis\s+désolé|désolé\b|mi\s+dispiace
    |(?:n/?a|none|no\s+(?:text|summary|content))[.\s]*\Z)""",
    flags=regex.IGNORECASE | regex.VERBOSE,
)
_PREAMBLE = late_regex(
    r"""\s*["'*#]*(?:(?:sure|certainly|of\s+course|absolutely|okay|ok|great|got\s+it|no\s+problem|understood)\s*[!,.:]
    |here\s+you\s+go\b
    |(?:here(?:['’]s|\s+is|\s+are)|below\s+is|the\s+following\s+is|i(?:['’]ve|\s+have))\b[^\n.:]{0,120}
     \b(?:rewritten|rewrite|paragraph|summary|summari[sz]ed|version|text|facts?|response|passages?)\b[^\n.:]{0,80}:
    |i(?:['’]ve|\s+have)\s+(?:rewritten|revised|summari[sz]ed)\b
    |(?:the\s+|this\s+)?(?:(?:rewritten|revised|summari[sz]ed)\s+)?(?:paragraph|passage|text|version|summary)
     (?:\s+is\s+as\s+follows|\s+(?:has\s+been|was)\s+(?:rewritten|revised|summari[sz]ed)[^\n:]{0,80})?["'*\s]*(?:[:\n]))""",
    flags=regex.IGNORECASE | regex.VERBOSE,
)
_CLOSING = late_regex(
    r"""(?:(?:please\s+)?let\s+me\s+know\b|(?:please\s+)?feel\s+free\s+to\b|(?:i\s+)?hope\s+(?:this|that)\s+helps\b
    |\(?note:\s+(?:i|the\s+(?:above|rewritten))\b)[^\n]{0,200}\Z""",
    flags=regex.IGNORECASE | regex.VERBOSE,
)
_EXPECTED = late_regex(
    r"^expect\s+(?P<what>prose|length|words|names)(?:\s+(?P<least>[\d.]+)(?:-(?P<most>[\d.]+))?\s+of\s+(?P<inputs>.+))?$"
)
_NAME = late_regex(r"(?<=[\p{L}\p{N},;(]\s\(?)\p{Lu}[\p{L}\p{M}]{2,}")
_MIN_WORDS = 8
"""Words from which a share of them means anything."""
_MIN_NAMES = 2


@dataclass(frozen=True, slots=True)
class _Expectation:
    what: str
    least: float
    most: float
    inputs: tuple[str, ...]


def judged(prompt: Prompt, completion: Completion) -> Completion:
    """Return a completion with the fault of its reply as its problem, where it has one and no other problem."""
    if completion.problem or completion.finish != "stop":
        return completion
    found = fault(prompt, completion)
    return replace(completion, problem=found, data=None) if found else completion


def fault(prompt: Prompt, completion: Completion) -> str:
    """Return why a reply is none to its prompt; "" where it may be one."""
    expected = _expected(prompt.name)
    if not expected:
        return ""
    texts = list(strings(completion.data)) if completion.data is not None else [without_thoughts(completion.text)]
    reply = " ".join(texts)
    source = " ".join(strings(prompt.variables))
    opening = _REFUSAL.match(reply) or (_PREAMBLE.match(reply) if completion.data is None else None)
    if opening and opening[0].strip().casefold() not in source.casefold():
        kind = "refuses" if _REFUSAL.match(reply) else "begins with words about itself"
        return f"the reply {kind}: {reply.strip()[:80]!r}"
    closing = _CLOSING.search(reply.strip()) if completion.data is None else None
    if closing and closing[0].casefold() not in source.casefold():
        return f"the reply ends with words about itself: {closing[0][:80]!r}"
    return next(filter(None, (_departure(one, reply, prompt.variables) for one in expected)), "")


def _departure(expected: _Expectation, reply: str, variables: Mapping[str, object]) -> str:
    """Return how a reply departs from one expectation; "" where it does not, or is too short to tell."""
    source = " ".join(strings([variables.get(name, "") for name in expected.inputs]))
    of = " and ".join(expected.inputs)
    words, known = content_words(reply), content_words(source)
    problem = ""
    if expected.what == "prose" and not words:
        problem = "the reply is empty"
    elif expected.what == "length" and len(known) >= _MIN_WORDS:
        if not expected.least * len(known) <= len(words) <= expected.most * len(known):
            problem = f"the reply has {len(words)} words to {len(known)} of {of}"
    elif expected.what == "words" and len(words) >= _MIN_WORDS:
        share = sum(word in frozenset(known) for word in words) / len(words)
        problem = f"{1 - share:.0%} of the words of the reply are not in {of}" if share < expected.least else ""
    elif expected.what == "names":
        names = frozenset(name.casefold() for name in _NAME.findall(source))
        kept = [name for name in names if name in reply.casefold()]
        if len(names) >= _MIN_NAMES and len(kept) < expected.least * len(names):
            problem = f"the reply has {len(kept)} of the {len(names)} names of {of}"
    return problem


@cache
def _expected(name: str) -> tuple[_Expectation, ...]:
    """Return what the header of a prompt expects of its replies; () for a prompt that is not a file."""
    try:
        return tuple(_read(prompting.header(name)))
    except UnknownName:
        return ()


def _read(header: str) -> Iterator[_Expectation]:
    for line in header.splitlines():
        if match := _EXPECTED.match(line.strip()):
            least, most = float(match["least"] or 0), float(match["most"] or "inf")
            inputs = tuple(one.strip() for one in (match["inputs"] or "").split(",") if one.strip())
            yield _Expectation(match["what"], least, most, inputs)
