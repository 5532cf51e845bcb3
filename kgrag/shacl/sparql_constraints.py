"""SPARQL constraints: their text, and whether it may be run once for all focus nodes.

SHACL section 5 defines a SPARQL constraint with ``$this`` bound beforehand, one focus node after the other. Running it
once with ``$this`` free, and keeping the rows of focus nodes, has the same result where each use of ``$this`` has a
triple pattern within reach that binds it; anything else is not covered by this engine. A SELECT of ``?graph`` too is an
extension of ours, and is always run once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.shacl.shapes_graph import SH, PropertyPath, ShapesGraph, sparql_path
from kgrag.sparql.syntax import Scope, Variable
from kgrag.vocab import OWL, PREFIXES, RDF

if TYPE_CHECKING:
    from kgrag.sparql.tokens import Token

__all__ = ["asks_in_graphs", "over_union", "regular_expressions", "select_text"]

_THIS = Variable("this")
_WELL_KNOWN = {name: PREFIXES[name] for name in ("dcterms", "owl", "prov", "rdf", "rdfs", "skos", "xsd")} | {"sh": SH}
_REFUSED = late_re(
    r"(?<![:?$\w-])(MINUS|VALUES|SERVICE|FROM|LIMIT|OFFSET|LATERAL|AS\s*[?$]this)\b", flags=re.IGNORECASE
)
_CALLS_REGEX = late_re(r"(?i)\b(?:REGEX|REPLACE)\b")
_FLAGS_AT = {"REGEX": 2, "REPLACE": 3}
"""Which argument of a call has the flags, from 0."""
_OWN = late_re(r"[?$](shapesGraph|currentShape|failure)\b")
_PLAIN = frozenset({"exists", "graph", "group", "not exists", "optional", "union"})
_QUOTED = r"""\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<[^<>\s]*>|\#[^\n]*"""
_PATTERN_BEGINS = late_re(rf"{_QUOTED}|\bEXISTS\b[^{{]*\{{|(?P<begin>\bWHERE\b|\{{)", flags=re.IGNORECASE | re.DOTALL)


def regular_expressions(select: str) -> list[tuple[str, str]]:
    """Return the regular expressions that a SELECT writes out in REGEX and REPLACE, each with its flags ("" = none).

    One that it computes is not among them.
    """
    if not _CALLS_REGEX.search(select):
        return []
    from kgrag.sparql.tokens import tokens

    cut = list(tokens(select))
    found = []
    for name, bracket, place in zip(cut, cut[1:], range(2, len(cut)), strict=False):
        if name.kind != "word" or bracket.kind != "(" or name.text.upper() not in _FLAGS_AT:
            continue
        arguments = _arguments(cut[place:])
        at = _FLAGS_AT[name.text.upper()]
        expression = _string(arguments[1:2])
        if expression is not None:
            found.append((expression, _string(arguments[at : at + 1]) or ""))
    return found


def _arguments(cut: Sequence[Token]) -> list[list[Token]]:
    """Return the arguments of a call, behind whose opening bracket some tokens begin."""
    from kgrag.sparql.tokens import CLOSING, OPENING

    arguments: list[list[Token]] = [[]]
    depth = 1
    for token in cut:
        depth += (token.kind in OPENING) - (token.kind in CLOSING)
        if not depth:
            break
        if depth == 1 and token.kind == ",":
            arguments.append([])
        else:
            arguments[-1].append(token)
    return arguments


def _string(arguments: Sequence[Sequence[Token]]) -> str | None:
    """Return the text of an argument that is a string and no more."""
    from kgrag.sparql.tokens import unescaped

    if not arguments or [token.kind for token in arguments[0]] != ["string"]:
        return None
    text = arguments[0][0].text
    marks = 3 if text[:3] in ('"""', "'''") else 1
    return unescaped(text[marks:-marks])


def select_text(graph: ShapesGraph, node: Term, path: PropertyPath) -> str:
    """Return the text of a SPARQL constraint with its prefixes, and with its path in the place of ``$PATH``.

    Raises:
        InvalidRDF: there is no single SELECT with ``$this``.
        NotCovered: the engine cannot run it for all focus nodes at once.
    """
    from kgrag.sparql.tokens import tokens  # loading what reads SPARQL takes 0.1 s, and few shapes have any

    select = graph.single(node, SH + "select")
    text = plain(select)
    if select is None or not re.search(r"[$?]this\b", text):
        raise graph.error(node, SH + "select", "must be a SELECT that gives $this")
    if "$PATH" in text and not path:
        raise graph.error(node, SH + "select", "uses $PATH, and its shape has no sh:path")
    # by the gate's tokens: what looks like a string here may be none to the engine, with a call behind it
    if any(token.kind in ("word", "name") and "SERVICE" in token.text.upper() for token in tokens(text)):
        raise graph.error(node, SH + "select", "has SERVICE, which asks another server. SHACL does not allow it")
    prefixes = _prefixes(graph, node)
    lines = "".join(f"PREFIX {name}: {ox.NamedNode(space)}\n" for name, space in prefixes.items())
    whole = lines + text.replace("$PATH", sparql_path(path))
    if function := _declared_function(graph, text, prefixes):
        raise graph.beyond(node, SH + "select", f"calls <{function}>, a function of the shapes")
    try:
        reason = "" if asks_in_graphs(text) else _reason_against(whole)
    except InvalidSPARQL as error:
        raise graph.error(node, SH + "select", f"is no SPARQL that can be read: {error}") from error
    if reason:
        raise graph.beyond(node, SH + "select", f"{reason}, so that it cannot run for all focus nodes at once")
    return whole


def _declared_function(graph: ShapesGraph, text: str, prefixes: Mapping[str, str]) -> str:
    """Return the IRI of a function that the shapes declare and a text names; "" where it names none."""
    from kgrag.sparql.tokens import tokens

    function = ox.NamedNode(SH + "SPARQLFunction")
    declared = {plain(each) for each, its in graph.index.items() if function in its.get(RDF.type.value, ())}
    for token in tokens(text) if declared else ():
        prefix, _, local = token.text.partition(":")
        iri = token.text[1:-1] if token.kind == "iri" else prefixes.get(prefix, "") + local
        if token.kind in ("iri", "name") and iri in declared:
            return iri
    return ""


def _prefixes(graph: ShapesGraph, node: Term) -> dict[str, str]:
    """Return the prefixes that ``sh:prefixes`` leads to, through imports as well, and others.

    Published shapes use ``owl:`` without declaring it, since some engines know it, and Brick's the prefixes of their
    file, which some engines take.
    """
    declared: dict[str, str] = {}
    seen: set[Term] = set()
    waiting = list(graph.objects(node, SH + "prefixes"))
    while waiting:
        ontology = waiting.pop()
        if ontology in seen:
            continue
        seen.add(ontology)
        waiting += graph.objects(ontology, OWL.prefix + "imports")
        for prefix in graph.objects(ontology, SH + "declare"):
            name, namespace = (plain(graph.single(prefix, SH + part)) for part in ("prefix", "namespace"))
            if declared.setdefault(name, namespace) != namespace:
                raise graph.error(ontology, SH + "declare", f"has two namespaces for the prefix '{name}'")
    return {**_WELL_KNOWN, **graph.prefixes, **declared}


def _reason_against(text: str) -> str:
    """Return why a SELECT must be run for one focus node after the other; "" when it need not."""
    from kgrag.sparql.query_reader import read

    bare = re.sub(_QUOTED, " ", text, flags=re.DOTALL)
    if match := _REFUSED.search(bare) or _OWN.search(bare):
        return f"has {match[0]}"
    query = read(text)
    contexts = [pattern.context for pattern in query.patterns] + [use.context for use in query.uses]
    if unsupported := {scope.kind for context in contexts for scope in context} - _PLAIN:
        return f"has a {min(unsupported)}"
    sites = [pattern.context for pattern in query.patterns if _THIS in (pattern.subject, pattern.object)]
    if query.form != "SELECT" or not any(all(scope.kind == "graph" for scope in site) for site in sites):
        return "binds $this by no triple pattern of the outermost group"
    used_in = [condition.context for condition in query.filters if _THIS in condition.variables]
    used_in += [use.context for use in query.uses if use.variable == _THIS and use.clause in {"BIND", "FILTER"}]
    if any(_visible_group(context) not in sites for context in used_in):
        return "uses $this in a group where no triple pattern binds it"
    return ""


def _visible_group(context: tuple[Scope, ...]) -> tuple[Scope, ...]:
    """Return the innermost group whose variables are visible to an expression."""
    while context and context[-1].kind in {"exists", "not exists", "optional"}:
        context = context[:-1]
    return context


def asks_in_graphs(select: str) -> bool:
    """Return whether a SELECT selects the named graph of each row, as ``?graph``."""
    return re.search(r"[?$]graph\b", select) is not None


def over_union(select: str, graphs: Sequence[ox.NamedNode]) -> str:
    """Return a SELECT over the union of some graphs, which are also its named graphs."""
    matches = _PATTERN_BEGINS.finditer(select)  # those without "begin" are strings, comments and EXISTS patterns
    begin = next((match.start() for match in matches if match["begin"]), len(select))
    dataset = "".join(f"FROM {graph}\nFROM NAMED {graph}\n" for graph in graphs)
    return f"{select[:begin]}\n{dataset}{select[begin:]}"
