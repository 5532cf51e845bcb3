"""XML literals of RDF/XML, made well-formed where the engine's parser declares a namespace twice.

For ``rdf:parseType="Literal"`` the parser writes into each outermost element the declarations of the elements around
it behind its own, also those of the same prefix: ``<b xmlns="urn:a" xmlns="urn:a">``, which no XML parser reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeVar
from xml.parsers import expat

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.vocab import RDF

__all__ = ["is_well_formed", "with_well_formed_xml"]

_Statement = TypeVar("_Statement", ox.Triple, ox.Quad)
_XML_LITERAL = ox.NamedNode(f"{RDF.prefix}XMLLiteral")
_MARKUP = late_re(
    r"""<!--.*?--> | <!\[CDATA\[.*?\]\]> | <\?.*?\?>
      | <(?P<name>[^\s<>/!?]+)(?P<attributes>(?:\s+[^\s=<>/]+\s*=\s*(?:"[^"]*"|'[^']*'))*)(?P<end>\s*/?>)""",
    flags=re.VERBOSE | re.DOTALL,
)
_ATTRIBUTE = late_re(r"""\s+(?P<name>[^\s=<>/]+)\s*=\s*(?:"[^"]*"|'[^']*')""")


def with_well_formed_xml(statements: Iterable[_Statement]) -> Iterator[_Statement]:
    """Yield triples or quads with each namespace of their XML literals declared once in an element: the first time.

    >>> broken = ox.Literal('<b xmlns="urn:a" xmlns="urn:b"/>', datatype=ox.NamedNode(RDF.prefix + "XMLLiteral"))
    >>> triples = [ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), broken)]
    >>> [triple.object.value for triple in with_well_formed_xml(triples)]
    ['<b xmlns="urn:a"/>']
    """
    for statement in statements:
        subject, predicate, value = statement.subject, statement.predicate, statement.object
        if not isinstance(value, ox.Literal) or value.datatype != _XML_LITERAL or is_well_formed(value.value):
            yield statement
            continue
        mended = ox.Literal(_MARKUP.sub(_declared_once, value.value), datatype=_XML_LITERAL)
        if isinstance(statement, ox.Quad):
            yield ox.Quad(subject, predicate, mended, statement.graph_name)
        else:
            yield ox.Triple(subject, predicate, mended)


def is_well_formed(text: str) -> bool:
    """Return whether a text is the content of an XML element, prefixes declared or not."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<x>{text}</x>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError:
        return False
    return True


def _declared_once(match: re.Match[str]) -> str:
    if match["name"] is None:  # a comment, CDATA or an instruction
        return match[0]
    kept = {attribute["name"]: attribute[0] for attribute in reversed([*_ATTRIBUTE.finditer(match["attributes"])])}
    return f"<{match['name']}{''.join(reversed(kept.values()))}{match['end']}"
