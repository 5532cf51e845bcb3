"""What other tools make of databases, files and schemas, as graphs to publish: R2RML and RML mappings, LinkML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

from kgrag.mapping.linkml_schemas import generated_files
from kgrag.mapping.relational_mapping import mapped_file
from kgrag.model import GraphDraft
from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import KG, Names

__all__ = ["linkml_drafts", "mapped_drafts"]


def mapped_drafts(
    mapping: Path, *, graph: ox.NamedNode | None, names: Names, database: str = "", mapper: str = ""
) -> list[GraphDraft]:
    """Return a draft for each graph that a mapping makes.

    Args:
        mapping: R2RML or RML in Turtle.
        graph: the IRI for triples that the mapping puts in no graph; None: one made of its text, so that mapping again
            replaces what was mapped before.
        names: the knowledge base's IRIs.
        database: its address, "" for files only.
        mapper: Python of an environment with morph-kgc.

    Raises:
        InputError: the mapping or the database is not sound.
        InvalidRDF: what was made is no RDF, a relative IRI for example.
        ServiceUnavailable: morph-kgc is not installed.
    """
    with mapped_file(mapping, database=database, mapper=mapper) as file:
        own = graph or names.loaded_graph(mapping.read_text(encoding="utf-8", errors="replace"))
        drafts = read_rdf(file, graph=own, names=names)
    return [replace(draft, described=[(KG.location, ox.Literal(str(mapping)))]) for draft in drafts]


def linkml_drafts(schema: Path, *, names: Names, generator: str = "") -> list[GraphDraft]:
    """Return the ontology of a LinkML schema, and its SHACL shapes as the graph ``SCHEMA/shapes``.

    LinkML calls the ontology like the schema, with ``.owl.ttl`` behind.

    Raises:
        InputError: the schema is not sound.
        InvalidRDF: what was generated is no RDF.
        ServiceUnavailable: linkml is not installed.
    """
    with generated_files(schema, generator=generator) as files:
        ontology = read_rdf(files["ontology"], names=names)
        schema_iri = ontology[0].iri.value.removesuffix(".owl.ttl").rstrip("#/")
        shapes_graph = ox.NamedNode(f"{schema_iri}/shapes")
        shapes = read_rdf(files["shapes"], graph=shapes_graph, names=names)
    # shapes speak of classes, and are no ontology for it
    drafts = [*ontology, *(replace(draft, kind=KG.DataGraph) for draft in shapes)]
    return [replace(draft, described=[(KG.location, ox.Literal(str(schema)))]) for draft in drafts]
