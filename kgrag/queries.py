"""Stored SPARQL: find, bind and describe ``queries/**/*.rq`` and ``*.ru``.

A file is one question. Its comment header declares what it takes and returns::

    # Hyperedges that contain any of the given hypernodes
    #
    # Source  OG-RAG section 4.2.2
    # param nodes: IRI list     the relevant hypernodes
    # returns ?edge ?node       one row a pair
    # reads   every hyperedge graph

A parameter's type is ``IRI``, ``literal``, ``term``, ``integer`` or ``number``, each also as ``... list``. Values are
RDF terms, numbers and booleans only: a bare ``str`` is refused, so text can never become syntax. What several questions
share is a ``.part`` file, taken in by ``{% include "shacl/focus.part" %}`` together with the parameters it declares.
Queries and parts of a plug-in are named with its prefix, ``hippo:walk``.

>>> print(bind("catalogue/kinds", catalogue=ox.NamedNode("urn:c")).splitlines()[-1])
ORDER BY ?kind
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import jinja2
import jinja2.meta
import pyoxigraph as ox

from kgrag.errors import QueryParameterError
from kgrag.resources import closest, declarations, find, listing

__all__ = ["OrderedText", "Query", "bind", "bind_file", "describe", "names"]

_SUFFIXES = (".rq", ".ru")
_TYPES: dict[str, tuple[type, ...]] = {
    "IRI": (ox.NamedNode,),
    "literal": (ox.Literal,),
    "term": (ox.NamedNode, ox.Literal),
    "integer": (int,),
    "number": (int, float),
    "quad": (ox.Quad,),
}
_MAX_KEPT, _MAX_KEPT_CHARACTERS = 2048, 6_000
_FILLED: dict[tuple[str, ...], str] = {}
"""What came of short queries and values: every publication asks some 150 of them with the same values."""


class OrderedText(str):
    """SPARQL in which every sort is safe: ``kgrag.sparql.total_orders`` saw to it, or it is a stored query of kgrag.

    What is made of it by joining strings is an ordinary text again. ``name`` is that of a stored query, else "".
    """

    __slots__ = ("name",)

    def __new__(cls, text: str, name: str = "") -> Self:
        """Return a text of which the caller knows that every sort in it is safe."""
        made = super().__new__(cls, text)
        made.name = name
        return made

    name: str


@dataclass(frozen=True, slots=True)
class Query:
    """A stored query: its name, title, whole header, declared parameters (name -> type) and text."""

    name: str
    title: str
    header: str
    parameters: dict[str, str]
    text: str
    writes: bool


def names() -> list[str]:
    """Return the name of every stored query, sorted."""
    return listing("queries", _SUFFIXES)


@cache
def describe(name: str) -> Query:
    """Return a stored query with its header.

    Raises:
        UnknownName: there is no such query.
        QueryParameterError: its header and its body disagree.
    """
    return _read(find("queries", name, _SUFFIXES), name)


def bind(name: str, /, **values: Any) -> str:
    """Fill a stored query with RDF terms, numbers and booleans (or sequences of them, where it declares a list).

    Raises:
        UnknownName: there is no such query.
        QueryParameterError: a value is missing, unknown, or not of the declared type.
    """
    text = _fill(describe(name), values)
    return text if ":" in name else OrderedText(text, name)  # a plug-in's queries may sort anything


def bind_file(path: Path, /, **values: Any) -> str:
    """Fill a query file of the user's own, under the same rules as ``bind``."""
    return _fill(_read(path, path.stem), values)


@cache
def _read(path: Path, name: str) -> Query:
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = _leading_comments(lines)
    header = "\n".join(line.removeprefix("#").strip() for line in head)
    parts = _parts(text)
    body = "\n".join([*lines[len(head) :], *parts])
    query = Query(
        name=name,
        title=header.split("\n", 1)[0].strip(),
        header=header,
        parameters=declarations(header, "param") | declarations(body, "# param"),
        text=text,
        writes=path.suffix == ".ru",
    )
    _agree(query, frozenset().union(*(_named_in(each)[1] for each in (text, *parts))))
    return query


def _parts(text: str) -> list[str]:
    """Return the texts of the files that a template includes, each once, those of included files as well."""
    found: dict[str, str] = {}
    waiting = [text]
    while waiting:
        for name in sorted(_named_in(waiting.pop())[0] - found.keys()):
            found[name] = _part(name)
            waiting.append(found[name])
    return list(found.values())


@cache
def _named_in(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the files that a template includes, and the parameters that it uses; each text is parsed once."""
    parsed = _environment().parse(text)
    included = frozenset(str(name) for name in jinja2.meta.find_referenced_templates(parsed))
    return included, frozenset(jinja2.meta.find_undeclared_variables(parsed))


@cache
def _part(name: str) -> str:
    return find("queries", name, ("",)).read_text(encoding="utf-8")


def _leading_comments(lines: Sequence[str]) -> list[str]:
    head = []
    for line in lines:
        if not line.startswith("#"):
            break
        head.append(line)
    return head


def _agree(query: Query, used: frozenset[str]) -> None:
    where = f"queries/{query.name}"
    needed = ("writes",) if query.writes else ("returns", "reads")
    for word in needed:
        if not re.search(rf"^{word}\b", query.header, flags=re.MULTILINE):
            raise QueryParameterError(f"{where}: the header has no '{word}' line. Add '# {word}  …'.")
    for name, kind in query.parameters.items():
        if kind.removesuffix(" list") not in _TYPES:
            raise QueryParameterError(f"{where}: parameter '{name}' has type '{kind}'. Use one of {', '.join(_TYPES)}.")
    if undeclared := used - query.parameters.keys():
        raise QueryParameterError(f"{where}: uses {sorted(undeclared)} without a 'param' line. Declare it.")
    if unused := query.parameters.keys() - used:
        raise QueryParameterError(f"{where}: declares {sorted(unused)} and does not use it. Delete the 'param' line.")


def _fill(query: Query, values: dict[str, Any]) -> str:
    where = f"queries/{query.name}"
    if missing := query.parameters.keys() - values.keys():
        raise QueryParameterError(f"{where}: no value for {sorted(missing)}. It takes {query.parameters}.")
    if unknown := values.keys() - query.parameters.keys():
        hint = closest(min(unknown), query.parameters)
        raise QueryParameterError(f"{where}: has no parameter {sorted(unknown)}. {hint}")
    for name, kind in query.parameters.items():
        _check(values[name], kind, f"{where}: parameter '{name}'")
    key = query.text, *(_term(values[name]) for name in query.parameters)
    if sum(map(len, key)) > _MAX_KEPT_CHARACTERS:
        return _template(query.text).render(values)
    if key not in _FILLED:
        if len(_FILLED) >= _MAX_KEPT:
            _FILLED.clear()
        _FILLED[key] = _template(query.text).render(values)
    return _FILLED[key]


def _check(value: Any, kind: str, where: str) -> None:
    single = kind.removesuffix(" list")
    if single != kind:
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise QueryParameterError(f"{where}: {value!r} is no sequence, and '{kind}' was declared. Pass a list.")
        for item in value:
            _check(item, single, where)
    elif isinstance(value, str):
        raise QueryParameterError(
            f"{where}: {value[:80]!r} is a str, not an RDF term. "
            "Wrap text as Literal(...) and identifiers as NamedNode(...)."
        )
    elif not isinstance(value, _TYPES[single]) or isinstance(value, bool):
        raise QueryParameterError(f"{where}: {value!r} is a {type(value).__name__}, and '{kind}' was declared.")


def _term(value: Any) -> str:
    """Write one value as SPARQL; jinja2 calls this for every expression it prints."""
    if isinstance(value, ox.NamedNode | ox.Literal):
        return str(value)
    if isinstance(value, ox.Quad):
        subject, predicate, object_ = map(_term, value.triple)
        return f"GRAPH {_term(value.graph_name)} {{ {subject} {predicate} {object_} }}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return repr(value)
    if isinstance(value, list | tuple):
        return " ".join(_term(item) for item in value)
    raise QueryParameterError(
        f"{value!r} is a {type(value).__name__}, not an RDF term, a quad, a finite number or a boolean."
    )


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(  # noqa: S701 - SPARQL, not HTML; only terms are ever printed
        loader=jinja2.FunctionLoader(_part),
        auto_reload=False,
        finalize=_term,
        undefined=jinja2.StrictUndefined,
        comment_start_string="\x00{#",
        comment_end_string="#}\x00",
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _template(text: str) -> jinja2.Template:
    return _environment().from_string(text)
