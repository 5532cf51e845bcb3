"""IRIs as people read them in reports: a prefixed name, and the label where the name alone says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from kgrag.late_patterns import late_re

__all__ = ["WELL_KNOWN", "iris_in", "name_writer"]

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
"""Namespace -> the prefix that reports write."""
MAX_LABEL_CHARACTERS = 60
_IRI = late_re(r"(?<!\w)[A-Za-z][\w+.-]*:[^\s<>\"'`|,]*[^\s<>\"'`|,.;:!?)\]}]")
_OBO = late_re(r"http://purl\.obolibrary\.org/obo/([A-Za-z]\w*?)_(?=\d|Root|UNION)")
_LOCAL_NAME = late_re(r"(?![^#]*\.(?:owl|rdf|ttl)$)[\w%][\w%.~/-]*")  # a file is named in full


def iris_in(texts: Iterable[str]) -> set[str]:
    """Return the IRIs that some texts mention."""
    return {match[0] for text in texts for match in _IRI.finditer(text)}


def name_writer(
    own: Iterable[str], declared: Mapping[str, str], labels: Mapping[str, str]
) -> tuple[Callable[[str], str], tuple[str, ...]]:
    """Return a function that writes the IRIs in a text shorter, and the namespaces whose terms it writes as ``:name``.

    Terms of OBO ontologies are written as these do (``RO:0002202``). The label of a term follows in parentheses
    where it says more than the name.

    Args:
        own: the target's own namespaces.
        declared: prefix -> namespace of what the target's file declares; well-known ones go before it.
        labels: IRI -> label.
    """
    prefixes = {namespace: f"{prefix}:" for prefix, namespace in sorted(declared.items()) if prefix and namespace}
    named = tuple(name for name in dict.fromkeys(own) if not _OBO.match(f"{name}0"))
    if len(named) > 1:  # one name in two namespaces is to be told apart
        named = tuple(name for name in named if name not in prefixes)
    prefixes = {**prefixes, **WELL_KNOWN, **dict.fromkeys(named, ":")}
    longest = sorted(prefixes, key=len, reverse=True)

    def written(match: re.Match[str]) -> str:
        iri = match[0]
        name = _curie(iri, prefixes, longest)
        label = " ".join(labels.get(iri, "").split())
        if not label or _letters(label) == _letters(re.split(r"[:/#]", name)[-1]):
            return name
        shown = label if len(label) <= MAX_LABEL_CHARACTERS else f"{label[: MAX_LABEL_CHARACTERS - 1]}…"
        return f"{name} ({shown})"

    return lambda text: _IRI.sub(written, text), named


def _curie(iri: str, prefixes: Mapping[str, str], longest: Iterable[str]) -> str:
    if obo := _OBO.match(iri):
        return f"{obo[1]}:{iri[obo.end() :]}"
    for namespace in longest:
        if iri.startswith(namespace) and _LOCAL_NAME.fullmatch(iri, len(namespace)):
            return prefixes[namespace] + iri[len(namespace) :]
    return iri


def _letters(text: str) -> str:
    """Return what a name and a label have in common.

    >>> _letters("sownIn") == _letters("sown in") == _letters("Sown_In")
    True
    """
    return re.sub(r"[\W_]", "", text).casefold()
