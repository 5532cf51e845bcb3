"""Metrics of an ontology: the counts of OntoMetrics, and those of OQuaRE, each with its formula.

Sources: OntoMetrics (Lantow 2016); OQuaRE (Duque-Ramos et al. 2011, Journal of Research and Practice in Information
Technology 43(2)). Only what is stated counts, between classes with an IRI. Written below: C classes, S subclass axioms
between named classes, P object and datatype properties, L leaves (classes without a subclass), R roots (without a
superclass).

Deviations: owl:Thing counts neither as a class nor as a superclass; depth is counted in edges from a root. Classes on a
cycle of rdfs:subClassOf, and those below one only, have no depth. Relations and attributes of a class are the
properties with it as domain, inherited ends included. Paths are counted exactly, however many there are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kgrag import queries
from kgrag.audit.audit_context import AuditTarget
from kgrag.vocab import AUDIT

__all__ = ["measure"]

_COUNTS = (
    "triples",
    "classes",
    "objectProperties",
    "dataProperties",
    "annotationProperties",
    "plainProperties",
    "datatypes",
    "individuals",
    "concepts",
    "ownTerms",
    "foreignTerms",
    "deprecatedTerms",
    "subClassAxioms",
    "subPropertyAxioms",
    "equivalentClassAxioms",
    "disjointClassAxioms",
    "inverseAxioms",
    "domainAxioms",
    "rangeAxioms",
    "restrictions",
    "imports",
    "classAssertions",
    "populatedClasses",
    "classAnnotations",
    "classAttributes",
    "classRelations",
)


def measure(target: AuditTarget) -> dict[str, float]:
    """Return metric -> value: counts, then OntoMetrics' ratios, the hierarchy, and OQuaRE's figures."""
    graphs = {"target": AUDIT.target, "context": AUDIT.context}
    count_of = {
        metric: int(count)
        for metric, count in target.bench.select(queries.bind("audit/metric_counts", **graphs)).values()
    }
    counts = {name: count_of.get(name, 0) for name in _COUNTS}
    hierarchy = _Hierarchy.of(target.bench.select(queries.bind("audit/metric_hierarchy", **graphs)).values())
    metrics: dict[str, float] = {
        **counts,
        **_ratios(counts, hierarchy),
        **hierarchy.figures(),
        **_oquare(counts, hierarchy),
    }
    return {name: round(value, 4) for name, value in metrics.items()}


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _ratios(counts: Mapping[str, int], hierarchy: _Hierarchy) -> dict[str, float]:
    """Return OntoMetrics' schema and knowledge base metrics.

    attributeRichness = attributes / C; inheritanceRichness = S / C; relationshipRichness = P / (P + S), P the object
    properties; axiomClassRatio = triples / C; equivalenceRatio = equivalent class axioms / C; inverseRelationsRatio =
    inverse axioms / object properties; classRelationRatio = C / (S + P); averagePopulation = individuals / C;
    classRichness = classes with an instance / C.
    """
    classes, subs = counts["classes"], hierarchy.edges
    relations = counts["objectProperties"]
    return {
        "attributeRichness": _ratio(counts["dataProperties"], classes),
        "inheritanceRichness": _ratio(subs, classes),
        "relationshipRichness": _ratio(relations, relations + subs),
        "axiomClassRatio": _ratio(counts["triples"], classes),
        "equivalenceRatio": _ratio(counts["equivalentClassAxioms"], classes),
        "inverseRelationsRatio": _ratio(counts["inverseAxioms"], relations),
        "classRelationRatio": _ratio(classes, subs + relations),
        "averagePopulation": _ratio(counts["individuals"], classes),
        "classRichness": _ratio(counts["populatedClasses"], classes),
    }


def _oquare(counts: Mapping[str, int], hierarchy: _Hierarchy) -> dict[str, float]:
    """Return OQuaRE's figures.

    ANOnto = annotations of classes / C. AROnto = attributes of classes / C. CBOnto = S / (C - R). CROnto = instances /
    C. DITOnto = longest path from a root to a leaf. INROnto = relations of classes / C. LCOMOnto = sum of the lengths
    of all paths from roots to leaves / number of these paths. NACOnto = superclasses of leaves / L. NOCOnto = S / (C -
    L). NOMOnto = P / C. RFCOnto = (P + S) / (C - R). RROnto = P / (P + S). TMOnto = classes with several superclasses /
    C. WMCOnto = (relations + attributes of classes + S) / C.
    """
    classes, subs = counts["classes"], hierarchy.edges
    roots, leaves = len(hierarchy.roots), len(hierarchy.leaves)
    properties = counts["objectProperties"] + counts["dataProperties"]
    relations, attributes = counts["classRelations"], counts["classAttributes"]
    paths, length = hierarchy.paths()
    return {
        "ANOnto": _ratio(counts["classAnnotations"], classes),
        "AROnto": _ratio(attributes, classes),
        "CBOnto": _ratio(subs, classes - roots),
        "CROnto": _ratio(counts["classAssertions"], classes),
        "DITOnto": max(hierarchy.depths.values(), default=0),
        "INROnto": _ratio(relations, classes),
        "LCOMOnto": length / paths if paths else 0.0,
        "NACOnto": _ratio(sum(len(hierarchy.above[leaf]) for leaf in hierarchy.leaves), leaves),
        "NOCOnto": _ratio(subs, classes - leaves),
        "NOMOnto": _ratio(properties, classes),
        "RFCOnto": _ratio(properties + subs, classes - roots),
        "RROnto": _ratio(properties, properties + subs),
        "TMOnto": _ratio(sum(len(above) > 1 for above in hierarchy.above.values()), classes),
        "WMCOnto": _ratio(relations + attributes + subs, classes),
    }


@dataclass(frozen=True, slots=True)
class _Hierarchy:
    """Named classes with what is stated to be above and below each; ``depths`` in edges from the farthest root."""

    above: Mapping[str, set[str]]
    below: Mapping[str, set[str]]
    depths: Mapping[str, int]
    order: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[tuple[str, ...]]) -> _Hierarchy:
        above: dict[str, set[str]] = defaultdict(set)
        below: dict[str, set[str]] = defaultdict(set)
        for lower, upper in rows:
            above[lower].update({upper} if upper else ())
            if upper:
                above.setdefault(upper, set())
                below[upper].add(lower)
        depths, order = _sorted(above, below)
        return cls(dict(above), dict(below), depths, tuple(order))

    @property
    def edges(self) -> int:
        """How many subclass axioms between named classes there are, S."""
        return sum(len(uppers) for uppers in self.above.values())

    @property
    def roots(self) -> list[str]:
        """The classes without a superclass, R."""
        return [name for name, above in self.above.items() if not above]

    @property
    def leaves(self) -> list[str]:
        """The classes without a subclass, L."""
        return [name for name in self.above if not self.below.get(name)]

    def figures(self) -> dict[str, float]:
        """Return OntoMetrics' graph metrics: root and leaf cardinality, depth, breadth, tangledness.

        Breadth is the count of classes at one depth, averageDepth the mean over classes, tangledness C / classes with
        several superclasses, 0 without any.
        """
        levels: dict[int, int] = defaultdict(int)
        for depth in self.depths.values():
            levels[depth] += 1
        tangled = sum(len(above) > 1 for above in self.above.values())
        return {
            "rootCardinality": len(self.roots),
            "leafCardinality": len(self.leaves),
            "maximalDepth": max(self.depths.values(), default=0),
            "averageDepth": _ratio(sum(self.depths.values()), len(self.depths)),
            "maximalBreadth": max(levels.values(), default=0),
            "averageBreadth": _ratio(len(self.depths), len(levels)),
            "tangledness": _ratio(len(self.above), tangled),
        }

    def paths(self) -> tuple[int, int]:
        """Return the number of paths from roots to leaves, and the sum of their lengths in edges."""
        counts: dict[str, int] = {}
        lengths: dict[str, int] = {}
        for name in self.order:
            uppers = [upper for upper in self.above[name] if upper in counts]
            counts[name] = sum(counts[upper] for upper in uppers) or 1
            lengths[name] = sum(lengths[upper] + counts[upper] for upper in uppers)
        ends = [name for name in self.leaves if name in counts]
        return sum(counts[name] for name in ends), sum(lengths[name] for name in ends)


def _sorted(above: Mapping[str, set[str]], below: Mapping[str, set[str]]) -> tuple[dict[str, int], list[str]]:
    """Return the depth of each class and an order from roots down, without what is on a cycle or below one."""
    waiting = {name: len(uppers) for name, uppers in above.items()}
    ready = sorted(name for name, count in waiting.items() if not count)
    depths = dict.fromkeys(ready, 0)
    order: list[str] = []
    while ready:
        name = ready.pop()
        order.append(name)
        for lower in sorted(below.get(name, ())):
            depths[lower] = max(depths.get(lower, 0), depths[name] + 1)
            waiting[lower] -= 1
            if not waiting[lower]:
                ready.append(lower)
    return {name: depths[name] for name in order}, order
