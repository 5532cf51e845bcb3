"""Ontologies to OWL editors and back: what the OWL API (as Protégé has it) saves is the graph that was exported."""

import os
import shutil
import subprocess
from pathlib import Path

import owlready2
import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

HERMIT = Path(owlready2.__file__).parent / "hermit"
EXPRESSIONS = """@prefix : <http://example.org/mill#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/mill> a owl:Ontology ; rdfs:label "Mills"@en , "Mühlen"@de ; owl:versionInfo "1" .
:Building a owl:Class . :Stone a owl:Class .
:Mill a owl:Class ; rdfs:subClassOf :Building ,
    [ a owl:Restriction ; owl:onProperty :has ; owl:someValuesFrom :Stone ] ,
    [ a owl:Restriction ; owl:onProperty :has ; owl:onClass :Stone ; owl:maxQualifiedCardinality "2"^^xsd:nonNegativeInteger ] ;
  owl:disjointWith :Stone .
:Kind a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:unionOf ( :Mill [ a owl:Class ; owl:complementOf :Stone ] ) ] .
:has a owl:ObjectProperty ; rdfs:domain :Building ; rdfs:range :Stone ; owl:inverseOf :of .
:of a owl:ObjectProperty , owl:FunctionalProperty .
:chain a owl:ObjectProperty ; owl:propertyChainAxiom ( :has :of ) .
:height a owl:DatatypeProperty ; rdfs:range xsd:decimal .
:note a owl:AnnotationProperty .
:ostrel a owl:NamedIndividual , :Mill ; :height "12.50"^^xsd:decimal ; :has :one ; :note "old <& new>" .
:one a owl:NamedIndividual , :Stone .
[] a owl:Axiom ; owl:annotatedSource :Mill ; owl:annotatedProperty rdfs:subClassOf ; owl:annotatedTarget :Building ; rdfs:comment "why" .
"""


def canonical(triples: list[ox.Triple]) -> ox.Dataset:
    dataset = ox.Dataset(ox.Quad(*triple) for triple in triples)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


@pytest.mark.parametrize("name", ["crops.ttl", "expressions.ttl"])
def test_what_the_owl_api_saves_is_the_graph_that_was_exported(name: str, tmp_path: Path) -> None:
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    source = folder("ontologies") / name
    if name == "expressions.ttl":
        source = tmp_path / name
        source.write_text(EXPRESSIONS, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        iri = kb.load(source).published[0]  # a lexical graph may come behind it
        kb.export_graphs(tmp_path / "exported.owl", iri)
        command = [
            "java",
            "-Xshare:auto",
            "-XX:TieredStopAtLevel=1",
            "-cp",
            f"{HERMIT}{os.pathsep}{HERMIT / 'HermiT.jar'}",
        ]
        saved = tmp_path / "saved.owl"
        subprocess.run([*command, "Save", tmp_path / "exported.owl", "rdf", saved], check=True, capture_output=True)
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as editor:
            again = editor.load(saved).published[0]
            assert again == iri
            assert canonical(editor.graph(again)) == canonical(kb.graph(iri))
