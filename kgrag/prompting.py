"""Prompts as files: ``prompts/<method>/<name>.j2``, found and rendered into a ``Prompt``.

A plug-in's prompts are named with its prefix, ``hippo:triples``. A file begins with a jinja2 comment that names the
paper's section and declares ``input name: type`` lines and an ``output`` line; ``like og_rag/map`` says that inputs and
output are those of that prompt, so that the extractive model can do it. A JSON Schema of the reply is in
``<name>.schema.json``, or is an argument of ``render``.
Values are printed as they are and never interpreted: a document that contains ``{{ }}`` stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import jinja2.meta

from kgrag.errors import QueryParameterError
from kgrag.model import Prompt
from kgrag.resources import declarations, find, listing

__all__ = ["header", "names", "render"]

_SUFFIX = ".j2"


def names() -> list[str]:
    """Return the name of every prompt, sorted."""
    return listing("prompts", (_SUFFIX,))


def header(name: str) -> str:
    """Return the comment at the head of a prompt file.

    Raises:
        UnknownName: there is no such prompt.
    """
    text = find("prompts", name, (_SUFFIX,)).read_text(encoding="utf-8")
    found = re.match(r"\{#(.*?)#\}", text, flags=re.DOTALL)
    return "\n".join(line.strip() for line in found[1].strip().splitlines()) if found else ""


def render(name: str, /, *, schema: Mapping[str, Any] | None = None, **variables: Any) -> Prompt:
    """Render a prompt.

    Args:
        name: the prompt's file, ``og_rag/map``.
        schema: JSON Schema of the reply; default: the ``.schema.json`` file of the prompt, else none (free text).
        variables: one value for each declared input.

    Raises:
        UnknownName: there is no such prompt.
        QueryParameterError: inputs and declarations disagree; the message names the file.
    """
    path = find("prompts", name, (_SUFFIX,))
    declared = _declared(name)
    if declared.keys() != variables.keys():
        wrong = sorted(declared.keys() ^ variables.keys())
        raise QueryParameterError(f"prompts/{name}: takes {sorted(declared)}; missing or unknown: {wrong}.")
    text = _template(path).render(variables).strip()
    alike = re.search(r"^like\s+(\S+)", header(name), flags=re.MULTILINE)
    return Prompt(
        name=name,
        text=text,
        variables=dict(variables),
        schema=schema if schema is not None else _schema(path),
        like=alike[1] if alike else "",
    )


@cache
def _declared(name: str) -> dict[str, str]:
    declared = declarations(header(name), "input")
    text = find("prompts", name, (_SUFFIX,)).read_text(encoding="utf-8")
    used = jinja2.meta.find_undeclared_variables(_environment().parse(text))
    if used != declared.keys():
        wrong = sorted(used ^ declared.keys())
        raise QueryParameterError(f"prompts/{name}: 'input' lines and body disagree on {wrong}.")
    return declared


@cache
def _schema(path: Path) -> Mapping[str, Any] | None:
    file = path.with_name(f"{path.stem}.schema.json")
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701


@cache
def _template(path: Path) -> jinja2.Template:
    return _environment().from_string(path.read_text(encoding="utf-8"))
