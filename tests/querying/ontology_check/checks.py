"""What the tests of query checks share: a small insurance ontology after the paper's, and short ways to ask."""

from typing import Any

import pyoxigraph as ox

from kgrag.model import GraphDraft
from kgrag.querying.ontology_check import Check, OntologyIndex, Options, build_index, check
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import KG

PREFIXES = """
@prefix : <http://example.org/insurance#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
INSURANCE = """
:Policy a owl:Class . :Claim a owl:Class . :PolicyCoverageDetail a owl:Class . :Party a owl:Class .
:Agent a owl:Class ; rdfs:subClassOf :Party ; owl:disjointWith :Policy .
:Broker a owl:Class ; rdfs:subClassOf :Agent . :Holder a owl:Class ; rdfs:subClassOf :Party .
:soldByAgent a owl:ObjectProperty ; rdfs:domain :Policy ; rdfs:range :Agent .
:against a owl:ObjectProperty ; rdfs:domain :Claim ; rdfs:range :PolicyCoverageDetail .
:hasPolicy a owl:ObjectProperty ; rdfs:domain :PolicyCoverageDetail ; rdfs:range :Policy .
:policyNumber a owl:DatatypeProperty ; rdfs:domain :Policy ; rdfs:range xsd:string .
:agentId a owl:DatatypeProperty ; rdfs:domain :Agent .
:opened a owl:DatatypeProperty ; rdfs:domain :Claim ; rdfs:range xsd:dateTime .
:reviewedBy a owl:ObjectProperty ; rdfs:domain [ a owl:Class ; owl:unionOf ( :Policy :Claim ) ] ; rdfs:range :Agent .
:knows a owl:ObjectProperty .
:premium a owl:DatatypeProperty ; rdfs:domain :Policy ; rdfs:range xsd:decimal .
:rating a owl:DatatypeProperty , owl:DeprecatedProperty ; rdfs:range xsd:integer .
:wording a owl:DatatypeProperty ; rdfs:range [ a rdfs:Datatype ; owl:unionOf ( xsd:string rdf:langString ) ] .
:OldClaim a owl:Class ; rdfs:subClassOf :Claim ; owl:deprecated true ; dcterms:isReplacedBy :Claim .
"""
DATA = """
:p1 a :Policy ; :policyNumber "7" ; :soldByAgent :b1 . :b1 a :Broker ; :agentId "b1" ; :policyNumber "odd" .
:c1 a :Claim ; :against :d1 . :d1 a :PolicyCoverageDetail ; :hasPolicy :p1 .
"""
BEFORE = "PREFIX : <http://example.org/insurance#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def triples(turtle: str) -> list[ox.Triple]:
    """Parse Turtle with the prefixes of the tests."""
    return [quad.triple for quad in ox.parse(input=PREFIXES + turtle, format=ox.RdfFormat.TURTLE)]


def index(turtle: str = INSURANCE) -> OntologyIndex:
    """Index an ontology in Turtle."""
    return build_index(triples(turtle))


def store(turtle: str = DATA) -> OxigraphStore:
    """A store in memory with data in Turtle."""
    opened = OxigraphStore.open(None)
    opened.publish([GraphDraft(ox.NamedNode("urn:t:data"), KG.DataGraph, triples(turtle), mode="replace")])
    return opened


KNOWN = index()


def checked(query: str, about: OntologyIndex = KNOWN, *, data: OxigraphStore | None = None, **options: Any) -> Check:
    """Check a query; a query without a prologue gets the prefixes of the tests."""
    text = query if query.lstrip().startswith(("PREFIX", "#")) else BEFORE + query
    return check(text, about, open_scratch=OxigraphScratch, data=data, options=Options(**options))


def rules(query: str, about: OntologyIndex = KNOWN, **options: Any) -> list[str]:
    """Give the rules that fire, sorted, without the two about what is selected."""
    found = checked(query, about, **options).findings
    return sorted(finding.rule for finding in found if not finding.rule.endswith("-output"))
