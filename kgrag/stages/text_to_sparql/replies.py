r"""Finds the query in what a model wrote: fenced, after a chain of thought, or in the middle of prose.

>>> query_in("Sure!\n```sparql\nASK { ?s ?p ?o }\n```\nHope this helps.")
'ASK { ?s ?p ?o }'
>>> query_in("I cannot answer that.")
''
"""

from __future__ import annotations

import re

__all__ = ["query_in"]

_THOUGHT = re.compile(r"\A.*</think>", flags=re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1|\Z)", flags=re.DOTALL | re.MULTILINE)
_FORM = (
    r"(?:PREFIX\s+[\w.-]*:\s*<|BASE\s*<|SELECT\b|ASK\b|CONSTRUCT\b|DESCRIBE\b|INSERT\b|DELETE\b|LOAD\b|CLEAR\b|DROP\b)"
)
_START = re.compile(rf"^[ \t]*{_FORM}", flags=re.MULTILINE | re.IGNORECASE)
_WITHIN = re.compile(
    r"(?:PREFIX\s+[\w.-]*:\s*<|\bSELECT\s+(?:DISTINCT\s+|REDUCED\s+)?[?$(*]|\bASK\s*\{|\bCONSTRUCT\s*\{)",
    flags=re.IGNORECASE,
)
_TAIL = re.compile(r"\s*(?:(?:GROUP|ORDER)\s+BY|HAVING|LIMIT|OFFSET|VALUES)\b[^\n]*", flags=re.IGNORECASE)
_LONGEST = 100_000


def query_in(text: str) -> str:
    """Give the query of a reply, "" when there is none; whether it is SPARQL is for the reader to say.

    The last fenced block that begins like SPARQL wins, since models first quote what they were given.
    """
    said = _THOUGHT.sub("", text)[:_LONGEST].strip()
    fenced = [block.strip() for _, block in _FENCE.findall(said)]
    for block in reversed(fenced):
        if _START.search(block) and "{" in block:
            return _from_start(block)
    bare = re.sub(r"^[ \t]*(`{3,}|~{3,})\w*[ \t]*$", "", said, flags=re.MULTILINE)
    start = _START.search(bare) or _WITHIN.search(bare)
    return "" if start is None or "{" not in bare else _without_prose(bare[start.start() :].strip())


def _from_start(block: str) -> str:
    """Drop what stands before the query in its block, comments apart: they are part of it."""
    start = _START.search(block)
    return block[start.start() :].strip() if start else block


def _without_prose(text: str) -> str:
    """Cut off the prose after the last closing bracket and the modifiers that follow it."""
    end = text.rfind("}") + 1
    if not end:
        return text
    while tail := _TAIL.match(text, end):
        end = tail.end()
    return text[:end].strip()
