"""What follows from ontologies and instances, in a graph of its own, so that SPARQL answers through hierarchies.

Of things that are the same (owl:sameAs), what is stated of one name is inferred of the others as well.
PolyRAG does without it; the layer can be dropped (`kgrag reason --drop`) and is made anew by building again. Graph
written: one inference graph. Queries read: ``inference/*``, ``poly_rag/layers``, ``schema/ontologies``.

Where rows come from that no text states but that follow: the facts behind them, and the axiom that joins the two.

A row of an inference graph can't be cited as it stands. It is cited by the chunks of what it follows from, found as
facts that join the same two ends, and says by which property and axiom. Queries read: ``templates/support``,
``templates/axioms``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import NotBuilt
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
    """Publish what follows, and give how many triples that are; again over the same graphs changes nothing.

    Args:
        store: holds ontologies and instances.
        bench: where the rules are run.
        profile: "rdfs" (subclass, subproperty, domain, range) or "owl-rl" (inverse, transitive … as well).

    Raises:
        NotBuilt: no ontology is loaded.
    """
    catalogue = store.names.catalogue
    rows = store.select(queries.bind("schema/ontologies", catalogue=catalogue)).values()
    schemas = list(dict.fromkeys(row[0] for row in rows))
    if not schemas:
        raise NotBuilt("poly_rag has no ontology that anything follows from. Run `kgrag load ONTOLOGY` first.")
    layers = store.select(queries.bind("poly_rag/layers", catalogue=catalogue)).values()
    instances = [graph for graph, kind, layer, _ in layers if layer == "ontology" and kind == KG.AssertionGraph.value]
    sources = [ox.NamedNode(iri) for iri in dict.fromkeys([*schemas, *instances])]
    stated = [triple for graph in sources for triple in store.triples(graph)]
    alike = shared(stated)
    followed = materialise(bench, [*stated, *alike], profile=profile)
    found = replace(followed, triples=tuple(sorted({*followed.triples, *alike}, key=str)))
    draft = inference_draft(found, sources, profile=profile, store=store)
    mine = replace(
        draft,
        iri=store.names.layer_graph("inferred"),
        method=METHOD,
        described=[(KG.parameters, ox.Literal(f"profile={profile}"))],
    )
    store.publish([mine])
    return len(found.triples)


@dataclass(frozen=True, slots=True)
class Support:
    """What an inferred value follows from: chunks that state it, and the reason in words."""

    chunks: tuple[str, ...]
    reason: str


def support(
    values: Sequence[Term], things: Sequence[ox.NamedNode], properties: Sequence[ox.NamedNode], store: TripleStore
) -> Mapping[Term, Support]:
    """Give, for each value that follows from stated facts, those facts' chunks and why it follows.

    Args:
        values: the values of rows without a chunk.
        things: what was asked about, under each of its names.
        properties: the properties that were asked for.
        store: holds facts, inferences and texts.
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
    joined = _axioms(list(dict.fromkeys(prop for found in stated.values() for prop in found)), properties, store)
    return {
        value: Support(tuple(dict.fromkeys(found)), "; ".join(joined[prop.value] for prop in stated[value]))
        for value, found in chunks.items()
    }


def _axioms(stated: Sequence[ox.NamedNode], asked: Sequence[ox.NamedNode], store: TripleStore) -> dict[str, str]:
    """Give, for each stated property, the words that say how what was asked for follows from it."""
    named = labels([[*stated, *asked]], store)
    wanted = {prop.value for prop in asked}
    reasons = {prop.value: f"stated by '{_name(prop.value, named)}'" for prop in stated}
    reasons |= {iri: f"stated by '{_name(iri, named)}' over a step or another name" for iri in wanted & reasons.keys()}
    bound = queries.bind("templates/axioms", catalogue=store.names.catalogue, stated=list(stated), asked=list(asked))
    for one, axiom, other, ontology in store.select(bound).values() if stated and asked else ():
        said = f"'{_name(one, named)}' {local_name(axiom)} '{_name(other, named)}' in <{ontology}>"
        reasons[one] = f"stated by '{_name(one, named)}'; {said}"
    return reasons


def _name(iri: str, named: Mapping[str, str]) -> str:
    return named.get(iri) or words_of(local_name(iri))
