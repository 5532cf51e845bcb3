"""Facts that follow from ontologies and instances, in a graph of their own, and the stated facts that support them.

``infer`` writes them, so that SPARQL answers through hierarchies and, for entities that are the same (owl:sameAs),
under each of their names. The paper does without; the graph can be dropped (`kgrag reason --drop`) and is made anew by
building again. No text states an inferred fact, so ``support`` finds what to cite for it: the chunks of stated facts
that join the same two ends, with the property and the axiom that it follows by.

Graph written: one inference graph. Queries read: ``inference/*``, ``poly_rag/layers``, ``schema/ontologies``,
``templates/support``, ``templates/axioms``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import NotBuilt
from kgrag.index.ontology_prefixes import ontologies
from kgrag.methods.poly_rag.aliases import shared
from kgrag.methods.poly_rag.layer_drafts import METHOD
from kgrag.model import Term
from kgrag.ports import TripleStore, Workbench
from kgrag.querying.text_to_sparql.row_evidence import labels
from kgrag.reasoning.inference import inference_draft, materialise
from kgrag.vocab import KG, local_name, words_of

__all__ = [
    "Support",
    "infer",
    "support",
]


def infer(store: TripleStore, bench: Workbench, *, profile: str = "rdfs") -> int:
    """Publish the facts that follow and return their number; inferring again from the same graphs changes nothing.

    Args:
        store: contains ontologies and instances.
        bench: where the rules are run.
        profile: "rdfs" (subclass, subproperty, domain, range) or "owl-rl" (also inverse, transitive and others).

    Raises:
        NotBuilt: no ontology is loaded.
    """
    catalogue = store.names.catalogue
    schemas = list(dict.fromkeys(graph for graph, _, _ in ontologies(store)))
    if not schemas:
        raise NotBuilt("poly_rag has no ontology to infer from. Run `kgrag load ONTOLOGY` first.")
    layers = store.select(queries.bind("poly_rag/layers", catalogue=catalogue)).values()
    instances = [graph for graph, kind, layer, _ in layers if layer == "ontology" and kind == KG.AssertionGraph.value]
    sources = [ox.NamedNode(iri) for iri in dict.fromkeys([*schemas, *instances])]
    stated = list(store.triples(*sources))
    copies = shared(stated)
    inferred = materialise(bench, [*stated, *copies], profile=profile)
    inferred = replace(inferred, triples=tuple(sorted({*inferred.triples, *copies}, key=str)))
    draft = replace(
        inference_draft(inferred, sources, profile=profile, store=store),
        iri=store.names.layer_graph("inferred"),
        method=METHOD,
        described=[(KG.parameters, ox.Literal(f"profile={profile}"))],
    )
    store.publish([draft])
    return len(inferred.triples)


@dataclass(frozen=True, slots=True)
class Support:
    """The chunks whose facts an inferred value follows from, and the reason in words."""

    chunks: tuple[str, ...]
    reason: str


def support(
    values: Sequence[Term], things: Sequence[ox.NamedNode], properties: Sequence[ox.NamedNode], store: TripleStore
) -> Mapping[Term, Support]:
    """Return, for each value that follows from stated facts, those facts' chunks and why it follows.

    Args:
        values: the values of rows without a chunk.
        things: the entities of the question, with their aliases.
        properties: the properties of the question.
        store: contains facts, inferences and texts.
    """
    if not values or not things:
        return {}
    catalogue = store.names.catalogue
    bound = queries.bind("templates/support", catalogue=catalogue, things=list(things), values=list(values))
    chunks: dict[Term, list[str]] = defaultdict(list)
    stated: dict[Term, dict[ox.NamedNode, None]] = defaultdict(dict)
    for value, prop, source in store.select(bound):
        if value is not None and isinstance(prop, ox.NamedNode) and isinstance(source, ox.NamedNode):
            chunks[value].append(source.value)
            stated[value][prop] = None
    reasons = _reasons(list(dict.fromkeys(prop for props in stated.values() for prop in props)), properties, store)
    return {
        value: Support(tuple(dict.fromkeys(sources)), "; ".join(reasons[prop.value] for prop in stated[value]))
        for value, sources in chunks.items()
    }


def _reasons(stated: Sequence[ox.NamedNode], asked: Sequence[ox.NamedNode], store: TripleStore) -> dict[str, str]:
    """Return, for each stated property, how the property that was asked for follows from it, in words."""
    known_labels = labels([[*stated, *asked]], store)

    def name(iri: str) -> str:
        return known_labels.get(iri) or words_of(local_name(iri))

    reasons = {prop.value: f"stated by '{name(prop.value)}'" for prop in stated}
    for iri in {prop.value for prop in asked} & reasons.keys():
        reasons[iri] = f"stated by '{name(iri)}' over a step or another name"
    bound = queries.bind("templates/axioms", catalogue=store.names.catalogue, stated=list(stated), asked=list(asked))
    for prop, axiom, followed, ontology in store.select(bound).values() if stated and asked else ():
        said = f"'{name(prop)}' {local_name(axiom)} '{name(followed)}' in <{ontology}>"
        reasons[prop] = f"stated by '{name(prop)}'; {said}"
    return reasons
