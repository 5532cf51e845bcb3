"""What R2RML and RML mappings make of databases and files, as graphs to publish."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox

from kgrag.mapping.relational_mapping import mapped_file
from kgrag.model import GraphDraft
from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import KG, Names

__all__ = ["mapped_drafts"]


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
