"""What follows from ontologies and instances, in a graph of its own, so that SPARQL answers through hierarchies.

Of things that are the same (owl:sameAs), what is stated of one name is inferred of the others as well.
PolyRAG does without it; the layer can be dropped (`kgrag reason --drop`) and is made anew by building again. Graph
written: one inference graph. Queries read: ``inference/*``, ``poly_rag/layers``, ``schema/ontologies``.
"""

from __future__ import annotations

from dataclasses import replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import NotBuilt
from kgrag.methods.poly_rag.drafts import METHOD
from kgrag.ports import TripleStore, Workbench
from kgrag.stages.aliases import shared
from kgrag.stages.inference import inference_draft, materialise
from kgrag.vocab import KG

__all__ = ["infer"]


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
