"""Words that several reports share."""

from __future__ import annotations

import re
from collections.abc import Callable

from kgrag.audit.findings import Audit

__all__ = ["WELL_KNOWN", "headline", "printable", "shortened", "title"]

_CONTROL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WELL_KNOWN = {
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs:",
    "http://www.w3.org/2001/XMLSchema#": "xsd:",
    "http://www.w3.org/2002/07/owl#": "owl:",
    "http://www.w3.org/2004/02/skos/core#": "skos:",
    "http://www.w3.org/ns/prov#": "prov:",
    "http://www.w3.org/ns/shacl#": "sh:",
}


def title(audit: Audit, check: str) -> str:
    """Give what a check is called; shapes of a user's own have no more than their name."""
    return audit.checks[check].label if check in audit.checks else ""


def printable(text: str) -> str:
    """Put a mark in place of control characters, which no terminal, page or XML document should meet."""
    return _CONTROL.sub("\ufffd", text)


def shortened(audit: Audit) -> Callable[[str], str]:
    """Give a function that writes IRIs in a text shorter: own terms by ``:``, well-known ones by their prefix."""
    prefixes = {**WELL_KNOWN, **dict.fromkeys(audit.namespaces, ":")}
    longest = sorted(prefixes, key=len, reverse=True)
    found = re.compile("(" + "|".join(re.escape(each) for each in longest) + r")(?=[\w%.-])")
    return lambda text: found.sub(lambda match: prefixes[match[1]], text)


def headline(audit: Audit) -> str:
    """Give the counts in one line."""
    names = {"Violation": "violation", "Warning": "warning", "Info": "info"}
    told = [
        f"{count} {name}{'s' if count != 1 and severity != 'Info' else ''}"
        for severity, name in names.items()
        for count in [audit.counts[severity]]
    ]
    told += [f"{audit.counts['suppressed']} suppressed"] if audit.counts["suppressed"] else []
    told += [f"{audit.counts['not_decided']} not decided"] if audit.counts["not_decided"] else []
    return ", ".join(told)
