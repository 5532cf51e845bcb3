"""Hints from the data profile: which classes things really have, and which properties they have instead."""

from __future__ import annotations

from collections.abc import Mapping

import pyoxigraph as ox

from kgrag.querying.data_profile import UNTYPED, DataProfile
from kgrag.querying.ontology_check.check_findings import TermNames
from kgrag.sparql.syntax import Pattern, Query
from kgrag.vocab import RDF

__all__ = ["class_hint", "property_hint"]

_MAX_LISTED = 4


def class_hint(query: Query, typing: Pattern, profile: DataProfile) -> str:
    """Return which classes the subject of a type pattern has in the data, by its other patterns; "" where none say."""
    found: list[Mapping[str, int]] = []
    by = []
    for pattern in query.patterns:
        if not isinstance(pattern.predicate, ox.NamedNode) or pattern.predicate == RDF.type:
            continue
        used = profile.properties.get(pattern.predicate.value)
        if used is None:
            continue
        for end, classes in ((pattern.subject, used.domains), (pattern.object, used.ranges)):
            if end == typing.subject and classes:
                found.append(classes)
                by.append(pattern.predicate)
    if not by:
        return ""
    names = TermNames(query.prefixes, {}, {})
    common = {name: found[0][name] for name in found[0] if all(name in classes for classes in found)}
    counts = common or {name: count for classes in found for name, count in classes.items()}
    listed = _listed(counts, names)
    leads = ", ".join(dict.fromkeys(names.constant(each) for each in by))
    subject = query.text[typing.places[0].start : typing.places[0].end]
    subject = f"`{subject}`" if subject[:1] in "?$" else "the thing"
    if not listed:
        return f"By {leads}, {subject} has no class in the data: leave the type out."
    untyped = " or no class" if counts.get(UNTYPED) else ""
    return f"By {leads}, {subject} is a {listed}{untyped} in the data: write that, or leave the type out."


def property_hint(query: Query, name: str, class_name: str, profile: DataProfile) -> str:
    """Return what has a property in the data, and what things of a class have instead."""
    names, used = TermNames(query.prefixes, {}, {}), profile.properties.get(name)
    having = "" if used is None else _listed(used.domains, names)
    own = {each.iri: each.domains[class_name] for each in profile.properties_of(class_name)}
    parts = []
    if used is None:
        parts.append("Nothing in the data has it.")
    elif having:
        parts.append(f"In the data it is a property of {having}.")
    elif used.domains.get(UNTYPED):
        parts.append("In the data it is a property of things without a class.")
    if own:
        listed = _listed(own, names, limit=2 * _MAX_LISTED)
        parts.append(f"Properties of {names.iri(class_name)} in the data: {listed}.")
    return " ".join(parts)


def _listed(counts: Mapping[str, int], names: TermNames, *, limit: int = _MAX_LISTED) -> str:
    ordered = sorted((name for name in counts if name), key=lambda name: (-counts[name], name))
    shown = [names.iri(name) for name in ordered[:limit]]
    return ", ".join([*shown, *(["…"] if len(ordered) > limit else [])])
