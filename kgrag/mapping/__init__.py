"""Text mapped onto an ontology: reading it, the contract for a model that writes it, and its statements as triples.

OG-RAG, sections 3 and 4.1 and appendix C.2. Mapped data are trees of objects in the manner of JSON-LD; published data
are no clean JSON-LD (their keys are not defined in their context), so they are read as a tree and keys are looked up
among the labels and local names of the loaded ontologies. Nothing is lost: terms that the ontologies lack are minted.
"""

from kgrag.mapping.assertions import Assertions, assertions
from kgrag.mapping.canonical_blocks import canonical
from kgrag.mapping.extraction_contract import Slice, Slices, contract, described, problem, slice_for
from kgrag.mapping.mapped_records import MappedData, MappedRecord, blocks_of, read_mapped
from kgrag.mapping.ontology_terms import Concept, Ontology, Property, read_ontology
from kgrag.mapping.triage import Choice, Triage, triage_of

__all__ = [
    "Assertions",
    "Choice",
    "Concept",
    "MappedData",
    "MappedRecord",
    "Ontology",
    "Property",
    "Slice",
    "Slices",
    "Triage",
    "assertions",
    "blocks_of",
    "canonical",
    "contract",
    "described",
    "problem",
    "read_mapped",
    "read_ontology",
    "slice_for",
    "triage_of",
]
