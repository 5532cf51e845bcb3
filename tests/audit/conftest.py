"""Fixtures of the audit's tests: an audit of some Turtle in one call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgrag.audit import Audit, AuditOptions
from kgrag.knowledge_base.audit_runs import audit_files

HEAD = """
@prefix aud: <https://w3id.org/kgrag/audit#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix ex: <https://example.org/o#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
"""
ONTOLOGY = HEAD + "<https://example.org/o> a owl:Ontology .\n"
FLAWED = ONTOLOGY + 'ex:Barley a owl:Class ; rdfs:label "barley"@en .\nex:Rye a owl:Class .\nex:Oat a owl:Class .\n'

CHECK = (
    HEAD
    + """
aud:OWN-01 a aud:Check ;
  dcterms:identifier "OWN-01" ; rdfs:label "Class without a note"@en ; aud:severity sh:Warning ;
  aud:rationale "Notes help."@en ; aud:mend "Write one."@en ; aud:shape aud:OWN-01-shape ;
  aud:violating "<https://example.org/o#Oat> a <http://www.w3.org/2002/07/owl#Class> ." ;
  aud:conforming "<https://example.org/o> a <http://www.w3.org/2002/07/owl#Ontology> ." .
aud:OWN-01-shape a sh:NodeShape ; sh:targetClass aud:LiveClass ;
  sh:property [ sh:path skos:note ; sh:minCount 1 ; sh:message "{$this} has no note." ] .
"""
)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file into the test's own folder and give its path."""

    def go(text: str | bytes, name: str = "o.ttl") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return go


@pytest.fixture
def audited(write: Callable[..., Path]) -> Callable[..., Audit]:
    """Audit some Turtle; keywords are the fields of ``AuditOptions``."""

    def go(text: str, **options: Any) -> Audit:
        return audit_files([write(text)], AuditOptions(**options))

    return go
