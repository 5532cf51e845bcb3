"""Read the values of a shape's components, as the components' stored queries take them.

Source: SHACL (W3C Recommendation 20 July 2017), section 4.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term, plain
from kgrag.shacl.compiled_shapes import LISTS, Constraint, Target
from kgrag.shacl.regular_expressions import needs_backtracking
from kgrag.shacl.shapes_graph import SH, Node, ShapesGraph
from kgrag.vocab import XSD

__all__ = ["COMPONENTS", "is_kept_as_integer", "is_of", "typed", "values"]

COMPONENTS = (
    "class",
    "closed",
    "datatype",
    "disjoint",
    "equals",
    "hasValue",
    "in",
    "languageIn",
    "lessThan",
    "lessThanOrEquals",
    "maxCount",
    "maxExclusive",
    "maxInclusive",
    "maxLength",
    "minCount",
    "minExclusive",
    "minInclusive",
    "minLength",
    "nodeKind",
    "pattern",
    "singleLine",
    "uniqueLang",
)
"""Components with a stored query of their own."""

_NEED_A_PATH = frozenset({"lessThan", "lessThanOrEquals", "maxCount", "minCount", "uniqueLang"})
_SWITCHES = frozenset({"closed", "singleLine", "uniqueLang"})
_NODE_KINDS = frozenset(
    SH + kind for kind in ("BlankNode", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRI", "IRIOrLiteral", "Literal")
)
_ONE_VALUE = frozenset(
    {
        *("datatype", "maxCount", "maxExclusive", "maxInclusive", "maxLength", "minCount"),
        *("minExclusive", "minInclusive", "minLength", "nodeKind"),
    }
)
"""Components that SHACL allows one value of in a shape, of those without lists."""
_SINGLE = frozenset({"class", "datatype", "hasValue"})
"""Components with one value, for which the store may have several terms."""
# Datatypes that SPARQL can cast a string to, which distinguishes well-formed literals.
_CASTABLE = frozenset(
    {
        XSD.prefix + "boolean",
        XSD.prefix + "date",
        XSD.prefix + "dateTime",
        XSD.prefix + "dayTimeDuration",
        XSD.prefix + "duration",
        XSD.prefix + "time",
        XSD.prefix + "yearMonthDuration",
    }
)
_DIGITS = "^[+-]?[0-9]+$"
# The form of numbers that the store cannot keep by their value; a double it always can.
_LEXICAL = {"decimal": r"^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)$", "integer": _DIGITS, "double": "a^", "float": "a^"}
_YEAR, _MONTH, _DAY = "-?([1-9][0-9]{3,}|0[0-9]{3})", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_ZONE = "(Z|[+-](0[0-9]|1[0-4]):[0-5][0-9])"
_BYTE_DIGIT = r"[A-Za-z0-9+/]\s*"
# And that of other datatypes that SPARQL cannot cast to.
_LEXICAL |= {
    "base64Binary": rf"^\s*({_BYTE_DIGIT}{_BYTE_DIGIT}({_BYTE_DIGIT}{_BYTE_DIGIT}|{_BYTE_DIGIT}=\s*|=\s*=\s*))*$",
    "dateTimeStamp": f"^{_YEAR}-{_MONTH}-{_DAY}T([01][0-9]|2[0-4]):[0-5][0-9]:[0-5][0-9]([.][0-9]+)?{_ZONE}$",
    "gDay": f"^---{_DAY}{_ZONE}?$",
    "gMonth": f"^--{_MONTH}{_ZONE}?$",
    "gMonthDay": f"^--{_MONTH}-{_DAY}{_ZONE}?$",
    "gYear": f"^{_YEAR}{_ZONE}?$",
    "gYearMonth": f"^{_YEAR}-{_MONTH}{_ZONE}?$",
    "hexBinary": "^([0-9a-fA-F]{2})*$",
    "language": "^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$",
}
MAX_STORED_INTEGER = 2**63 - 1
# What the store keeps as xsd:integer, with the least and the largest value.
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    **{name: (-(2**bits), 2**bits - 1) for name, bits in (("byte", 7), ("short", 15), ("int", 31), ("long", 63))},
    **{f"unsigned{name}": (0, 2**bits - 1) for name, bits in (("Byte", 8), ("Short", 16), ("Int", 32), ("Long", 64))},
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
}
_KINDS: dict[str, tuple[type, ...]] = {
    "IRI": (ox.NamedNode,),
    "literal": (ox.Literal,),
    "term": (ox.NamedNode, ox.Literal),
    "integer": (),
}


def is_kept_as_integer(datatype: ox.NamedNode) -> bool:
    """Return whether a store has xsd:integer for literals of a datatype: xsd:int and the like."""
    namespace, _, name = datatype.value.partition("#")
    return namespace == "http://www.w3.org/2001/XMLSchema" and name in _INTEGERS


def values(graph: ShapesGraph, node: Node, component: str) -> Iterator[dict[str, Any]]:
    """Yield what the component's query is bound with, once for each value of the component.

    Raises:
        InvalidRDF: the component has a value that SHACL does not allow.
    """
    name = SH + component
    if component in _NEED_A_PATH and graph.objects(node, name) and not graph.objects(node, SH + "path"):
        raise graph.error(node, name, "needs a sh:path in the same shape")
    if component in _SWITCHES:
        if graph.true(node, name):
            if component == "closed":
                ignored = graph.items(node, SH + "ignoredProperties")
                children = graph.objects(node, SH + "property")
                paths = [path for child in children for path in graph.objects(child, SH + "path")]
                allowed = {term for term in (*paths, *ignored) if isinstance(term, ox.NamedNode)}
                yield {"wanted": sorted(allowed, key=str)}
            else:
                yield {}
        return
    if component == "uniqueMembers" and graph.objects(node, name):  # even a false one wants lists
        yield {"unique": graph.true(node, name)}
        return
    in_query = {} if component in LISTS else queries.describe(Constraint("", component, Target()).query).parameters
    declared = in_query.get("wanted", "integer")
    if declared.endswith(" list") and component not in _SINGLE:
        if graph.objects(node, name):
            kind = declared.removesuffix(" list")
            yield {"wanted": [typed(graph, node, name, term, kind) for term in graph.items(node, name)]}
        return
    for term in _terms(graph, node, component):
        wanted = typed(graph, node, name, term, declared.removesuffix(" list"))
        if component == "nodeKind" and plain(wanted) not in _NODE_KINDS:
            raise graph.error(node, name, f"has {term}, which is no node kind that is covered")
        yield {"wanted": wanted} | _more(graph, node, term, component)


def _terms(graph: ShapesGraph, node: Node, component: str) -> list[Term]:
    """Return the values of a component, of which some may have one only."""
    if component in _ONE_VALUE:
        graph.single(node, SH + component)
    return graph.objects(node, SH + component)


def _more(graph: ShapesGraph, node: Node, term: Term, component: str) -> dict[str, Any]:
    """Return the further parameters of some components' queries."""
    if component == "pattern":
        flags = plain(graph.single(node, SH + "flags"))
        _check_pattern(graph, node, plain(term), flags)
        return {"flags": ox.Literal(flags)}
    if component == "datatype":
        return _of_datatype(term)
    return {}


def _check_pattern(graph: ShapesGraph, node: Node, wanted: str, flags: str) -> None:
    """Refuse flags that XPath does not know, and a regular expression that no store can run.

    Whether the store can read it otherwise is asked when it is run.

    Raises:
        InvalidRDF: it has such a flag.
        NotCovered: it looks around or refers back.
    """
    if set(flags) - set("smixq"):
        raise graph.error(node, SH + "flags", f'has "{flags}", and the flags of XPath are s, m, i, x and q')
    if "q" not in flags and needs_backtracking(wanted):
        raise graph.beyond(node, SH + "pattern", f'has "{wanted}", which looks around or refers back')


def _of_datatype(term: Term) -> dict[str, Any]:
    name = plain(term).removeprefix(XSD.prefix)
    least, most = _INTEGERS.get(name, (None, None))
    form = _LEXICAL.get(name) or (_DIGITS if name in _INTEGERS else None)
    long = most is not None and most > MAX_STORED_INTEGER
    return {
        "stored": XSD.integer if name in _INTEGERS else term,
        "cast": [term] if plain(term) in _CASTABLE else [],
        "lexical": [] if form is None else [ox.Literal(form)],
        "least": [] if least is None else [least],
        "most": [] if most is None or long else [most],
        "longest": [ox.Literal(str(most))] if long else [],
    }


def is_of(literal: ox.Literal, datatype: ox.NamedNode) -> bool:
    """Return whether a literal is of a datatype and within its range; the store has checked that it is well-formed."""
    least, most = _INTEGERS.get(datatype.value.removeprefix(XSD.prefix), (None, None))
    if literal.datatype != datatype:
        return False
    return (least is None or int(literal.value) >= least) and (most is None or int(literal.value) <= most)


def _is_count(term: ox.Literal) -> bool:
    whole = term.datatype.value.removeprefix(XSD.prefix) in {"integer", *_INTEGERS}
    return whole and re.fullmatch(r"\+?\d{1,18}", term.value) is not None


def typed(graph: ShapesGraph, node: Node, name: str, term: Term, wanted: str) -> Any:
    """Return a term in the type that a query's parameter declares (``IRI``, ``literal``, ``term`` or ``integer``).

    Raises:
        InvalidRDF: the term is of another type.
    """
    if wanted == "integer" and isinstance(term, ox.Literal) and _is_count(term):
        return int(term.value)
    if not isinstance(term, _KINDS[wanted]):
        raise graph.error(node, name, f"has the value {term}, and one {wanted} was expected")
    return term
