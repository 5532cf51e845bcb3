"""Families of datatypes: values of one family can be compared, and a range of one accepts a value of another."""

from __future__ import annotations

from kgrag.vocab import RDF, RDFS, XSD

__all__ = ["ANY_LITERAL", "family"]

ANY_LITERAL = "any"

_NAMES = {
    "number": "decimal double float integer int long short byte nonNegativeInteger positiveInteger nonPositiveInteger "
    "negativeInteger unsignedInt unsignedLong unsignedShort unsignedByte",
    "text": "string normalizedString token language Name NCName NMTOKEN",
    "boolean": "boolean",
    "time": "date dateTime dateTimeStamp",
    "clock": "time",
    "year": "gYear gYearMonth",
    "month": "gMonth gMonthDay gDay",
    "duration": "duration dayTimeDuration yearMonthDuration",
    "address": "anyURI",
    "bytes": "base64Binary hexBinary",
}
_SCHEMA = {
    "number": "Number Integer Float",
    "text": "Text CssSelectorType PronounceableText URL XPathType",
    "boolean": "Boolean",
    "time": "Date DateTime",
    "clock": "Time",
}
_FAMILIES: dict[str, str] = {
    RDFS.Literal.value: ANY_LITERAL,
    RDF.langString.value: "text",
    f"{RDF.prefix}PlainLiteral": "text",
    f"{RDF.prefix}HTML": "text",
    f"{RDF.prefix}XMLLiteral": "text",
    "http://www.w3.org/2002/07/owl#real": "number",
    "http://www.w3.org/2002/07/owl#rational": "number",
}
_FAMILIES |= {f"{XSD.prefix}{name}": kind for kind, names in _NAMES.items() for name in names.split()}
_FAMILIES |= {
    f"{scheme}://schema.org/{name}": kind
    for scheme in ("http", "https")
    for kind, names in _SCHEMA.items()
    for name in names.split()
}


def family(datatype: str) -> str:
    """Give the family of a datatype, "any" for ``rdfs:Literal``, "" for what is no datatype known by its name.

    >>> family("http://www.w3.org/2001/XMLSchema#int"), family("http://example.org/Crop")
    ('number', '')
    """
    return _FAMILIES.get(datatype, "")
