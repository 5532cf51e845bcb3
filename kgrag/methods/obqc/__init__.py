"""OBQC: a question answered by a SPARQL query that the ontology checked, repaired or refused."""

from kgrag.methods.obqc.method import Obqc

__all__ = ["Obqc"]
