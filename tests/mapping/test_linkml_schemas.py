"""LinkML schemas as ontologies and shapes; the real generators where an environment has them (``LINKML_PYTHON``)."""

import os
import sys
from pathlib import Path

import pytest

from kgrag import InputError, KnowledgeBase
from kgrag.errors import ServiceUnavailable
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

SCHEMA = """
id: https://example.org/mills
name: mills
prefixes: {mills: https://example.org/mills/, linkml: https://w3id.org/linkml/}
imports: [linkml:types]
default_prefix: mills
classes:
  Building:
    attributes:
      name: {identifier: true, range: string}
      built: {range: integer, required: true}
  Mill:
    is_a: Building
    attributes:
      stones: {range: integer, minimum_value: 1}
"""
ONTOLOGY = "@prefix owl: <http://www.w3.org/2002/07/owl#> . <https://example.org/mills.owl.ttl> a owl:Ontology ."
SHAPES = "@prefix sh: <http://www.w3.org/ns/shacl#> . <https://example.org/mills/Mill> a sh:NodeShape ."


@pytest.fixture
def pretended(tmp_path: Path) -> str:
    """A program that stands where an environment's Python would, and knows the names of two modules."""
    program = tmp_path / "python"
    program.write_text(
        f"""#!{sys.executable}
import sys, os
assert "KGRAG_API_KEY" not in os.environ
module, schema = sys.argv[3:5]
if "broken" in open(schema).read():
    sys.exit("ValueError: the schema is broken")
print({ONTOLOGY!r} if module.endswith("owlgen") else {SHAPES!r})
""",
        encoding="utf-8",
    )
    program.chmod(0o755)
    return str(program)


def test_a_schema_becomes_an_ontology_and_a_graph_of_shapes(
    pretended: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGRAG_API_KEY", "secret")
    (tmp_path / "mills.yaml").write_text(SCHEMA, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        done = kb.load_linkml(tmp_path / "mills.yaml", generator=pretended)
        assert set(done.published) == {"https://example.org/mills.owl.ttl", "https://example.org/mills/shapes"}
        assert (kb.stats()["graphs"]["OntologyGraph"], kb.stats()["graphs"]["DataGraph"]) == (1, 1)
        assert not kb.load_linkml(tmp_path / "mills.yaml", generator=pretended).published


@pytest.mark.parametrize(
    ("content", "python", "error", "said"),
    [
        ("broken", "", InputError, "LinkML cannot generate from this: ValueError: the schema is broken"),
        (None, "", InputError, "there is no such file"),
        (SCHEMA, "/no/such/python", ServiceUnavailable, "cannot be started"),
        (SCHEMA, sys.executable, ServiceUnavailable, "has no linkml. Make an environment"),
    ],
)
def test_what_cannot_be_generated_is_told(
    pretended: str, tmp_path: Path, content: str | None, python: str, error: type[Exception], said: str
) -> None:
    if content is not None:
        (tmp_path / "mills.yaml").write_text(content, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb, pytest.raises(error, match=said):
        kb.load_linkml(tmp_path / "mills.yaml", generator=python or pretended)


def test_the_generators_of_linkml_make_what_data_are_validated_by(tmp_path: Path) -> None:
    if "LINKML_PYTHON" not in os.environ:
        pytest.skip("LINKML_PYTHON names no Python with linkml")
    (tmp_path / "mills.yaml").write_text(SCHEMA, encoding="utf-8")
    data = """@prefix m: <https://example.org/mills/> .
    m:Ostrel a m:Mill ; m:name "Ostrel" ; m:built 1820 ; m:stones 2 . m:Low a m:Mill ; m:name "Low" ; m:built 1900 ; m:stones 0 ."""
    (tmp_path / "data.ttl").write_text(data, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.load_linkml(tmp_path / "mills.yaml", generator=os.environ["LINKML_PYTHON"])
        assert kb.query("ASK { <https://example.org/mills/Mill> rdfs:subClassOf <https://example.org/mills/Building> }")
        kb.export_graphs(tmp_path / "shapes.ttl", "https://example.org/mills/shapes")
        found = kb.validate(tmp_path / "data.ttl", shapes=[tmp_path / "shapes.ttl"])
        assert {finding.focus for finding in found.findings} == {"https://example.org/mills/Low"}
