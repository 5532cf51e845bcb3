"""Rules: stored queries whose header states what a violation is called, how bad it is, and how it is reported.

A rule is one ``.rq`` file, ours in ``queries/obqc/`` or a user's own. Its header has ``id`` (the file's name),
``severity`` (error, warning, info or refused), ``Problem``, ``Repair`` and ``message``; the last two are jinja2
templates with single braces that the SELECT's variables fill. Further lines are optional: ``profiles`` (default),
``place`` (where the finding points: predicate, subject, object or term) and ``witness`` (a question of
``queries/obqc_data`` whose parameters are variables of the rule; when the answer is yes, the finding is only an info),
``about`` (a class such as Offer: the rule runs only where the graphs of the check have something of it).
A rule takes the graphs that it declares as parameters: ``query``, ``ontology``, ``data``; one that declares ``data``
runs only when there are data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
import jinja2.meta
import pyoxigraph as ox
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgrag.errors import InputError, InvalidSPARQL, QueryParameterError
from kgrag.model import Table
from kgrag.ports import Scratch
from kgrag.queries import bind_file, describe
from kgrag.querying.ontology_check.data_graph import DATA
from kgrag.querying.ontology_check.ontology_graph import ONTOLOGY
from kgrag.querying.ontology_check.query_graph import QUERY
from kgrag.resources import folder
from kgrag.sparql.gate import check_query
from kgrag.vocab import CHECK

__all__ = ["SEVERITIES", "Rule", "chosen", "own_rules", "read_rule", "shipped_rules", "violations"]

SEVERITIES = ("info", "warning", "error", "refused")
_GRAPHS = {"query": QUERY, "ontology": ONTOLOGY, "data": DATA}
_PLACES = ("predicate", "subject", "object", "term")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its header, the SPARQL with its graphs filled in, and whether it needs data."""

    id: str
    severity: str
    problem: str
    repair: jinja2.Template
    message: jinja2.Template
    sparql: str
    profiles: tuple[str, ...]
    place: str = "predicate"
    witness: str = ""
    needs_data: bool = False
    about: ox.NamedNode | None = None


@cache
def shipped_rules(profile: str) -> tuple[Rule, ...]:
    """Return the rules of ``queries/obqc/`` that belong to a profile, by name."""
    rules = (read_rule(path) for path in sorted((folder("queries") / "obqc").glob("*.rq")))
    return tuple(rule for rule in rules if profile in rule.profiles)


def own_rules(where: Path) -> tuple[Rule, ...]:
    """Return a user's own rules, by name; they belong to every profile.

    Raises:
        InputError: the folder is missing or holds no rule, or a header is not as it should be.
        InvalidSPARQL: a rule reaches the network.
    """
    paths = sorted(where.glob("*.rq")) if where.is_dir() else []
    if not paths:
        raise InputError(f"{where} holds no rule (*.rq). Name a folder of rules such as queries/obqc of kgrag.")
    return tuple(read_rule(path) for path in paths)


def read_rule(path: Path) -> Rule:
    """Read one rule.

    Raises:
        InputError: a line of its header is missing or has a value that it cannot have.
        InvalidSPARQL: it reaches the network.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}. A rule is a UTF-8 text file.") from None
    head = _header(text)
    _examine(path, head)
    declared = set(re.findall(r"^# param (\w+):", text, flags=re.MULTILINE))
    if not declared <= _GRAPHS.keys():
        raise QueryParameterError(
            f"{path}: a rule takes query, ontology and data, not {sorted(declared - _GRAPHS.keys())}."
        )
    sparql = bind_file(path, **{name: _GRAPHS[name] for name in declared})
    check_query(sparql)
    return Rule(
        id=head["id"],
        severity=head["severity"],
        problem=head["Problem"],
        repair=_template(head["Repair"], path, sparql),
        message=_template(head["message"], path, sparql),
        sparql=_compact(sparql),
        profiles=tuple(re.split(r"[,\s]+", head.get("profiles", "default"))),
        place=head.get("place", "predicate"),
        witness=head.get("witness", ""),
        needs_data="data" in declared,
        about=ox.NamedNode(CHECK.prefix + head["about"]) if head.get("about") else None,
    )


def _header(text: str) -> dict[str, str]:
    """Read ``# key   words`` lines of the leading comment; a line that starts with more blanks goes on."""
    found: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        words = line.removeprefix("#")
        if begun := re.match(r" (\w+)\s+(\S.*)", words):
            key = begun[1]
            found.setdefault(key, begun[2].strip())
        elif key and re.match(r"\s{2,}\S", words):
            found[key] += f" {words.strip()}"
    return found


def _examine(path: Path, head: Mapping[str, str]) -> None:
    for key in ("id", "severity", "Problem", "Repair", "message"):
        if not head.get(key):
            raise InputError(
                f"{path}: the header has no '{key}' line. Add '# {key}  …'; `kgrag queries obqc/domain` shows one."
            )
    for key, known, value in (
        ("id", (path.stem,), head["id"]),
        ("severity", SEVERITIES, head["severity"]),
        ("place", _PLACES, head.get("place", "predicate")),
    ):
        if value not in known:
            raise InputError(f"{path}: {key} is '{value}', expected {' or '.join(known)}.")
    if head.get("witness"):
        describe(f"obqc_data/{head['witness']}")


def _template(text: str, path: Path, sparql: str) -> jinja2.Template:
    try:
        names = jinja2.meta.find_undeclared_variables(_environment().parse(text))
    except jinja2.TemplateSyntaxError as error:
        raise InputError(
            f"{path}: message or Repair is no template ({error}). Write {{variable}} for a value."
        ) from None
    head = re.split(r"\bWHERE\b", _compact(sparql), maxsplit=1, flags=re.IGNORECASE)[0]
    unknown = names - set(re.findall(r"[?$](\w+)", head))
    if unknown:
        raise InputError(f"{path}: message or Repair uses {sorted(unknown)}, which the SELECT does not return.")
    return _environment().from_string(text)


@cache
def _environment() -> jinja2.Environment:
    return ImmutableSandboxedEnvironment(
        variable_start_string="{",
        variable_end_string="}",
        block_start_string="\x00%",
        block_end_string="%\x00",
        comment_start_string="\x00#",
        comment_end_string="#\x00",
        undefined=jinja2.StrictUndefined,
    )


def _compact(sparql: str) -> str:
    """Leave the comments out, which the engine would parse at every check."""
    return "\n".join(line for line in sparql.splitlines() if not line.startswith("#"))


def violations(scratch: Scratch, rule: Rule) -> Table:
    """Run a rule on the graphs of a check.

    Raises:
        InvalidSPARQL: the rule does not parse; the message names it.
    """
    try:
        return scratch.select(rule.sparql)
    except InvalidSPARQL as error:
        raise InvalidSPARQL(f"rule '{rule.id}': {error}") from error


def chosen(profile: str, where: Path | None) -> Sequence[Rule]:
    """Return the rules of a profile and a user's own."""
    return (*shipped_rules(profile), *(own_rules(where) if where else ()))
