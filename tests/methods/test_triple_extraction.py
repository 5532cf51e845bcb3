"""Triples and instances out of paragraphs, step by step."""

import json

from kgrag.llm.extractive import ExtractiveModel
from kgrag.mapping import Concept, Ontology, Property
from kgrag.methods.poly_rag.triple_extraction import Paragraph, evidence, instances_of, triples_of
from kgrag.testing import HashEmbedder, ScriptedModel

AURON = Paragraph("urn:c1", "Auron", "Auron was created by Ann Lee and Bo Oak. He lives in Bath.")
ONTOLOGY = Ontology(
    {"urn:Comic": Concept("urn:Comic", "Comic"), "urn:Star": Concept("urn:Star", "Star")},
    {
        "urn:creator": Property("urn:creator", "creator", domains=("urn:Comic",)),
        "urn:mass": Property("urn:mass", "mass", domains=("urn:Star",)),
    },
)


def test_the_four_steps_are_asked_in_order_each_with_what_came_before() -> None:
    triple = {"subject": "Auron", "relation": "was created by", "object": "Ann Lee"}
    model = ScriptedModel(
        {
            "poly_rag/paraphrase": '{"statements": ["Auron was created by Ann Lee."]}',
            "poly_rag/entities": '{"entities": ["Auron", "Ann Lee"]}',
            "poly_rag/relations": json.dumps({"triples": [triple, triple]}),
            "poly_rag/disambiguate": json.dumps({"triples": [triple]}),
        }
    )
    (taken,) = triples_of([AURON], model=model)
    assert taken.triples == [("Auron", "was created by", "Ann Lee", "")]
    assert [prompt.name.split("/")[1] for prompt in model.prompts] == [
        "paraphrase",
        "entities",
        "relations",
        "disambiguate",
    ]
    assert model.prompts[-1].variables["triples"] == [triple, triple]
    assert taken.usage.completions == 4


def test_a_step_that_gives_nothing_ends_the_cascade_of_that_paragraph_alone() -> None:
    def paraphrase(prompt: object) -> str:
        return "no JSON" if "Auron" in prompt.text else '{"statements": ["Bath is a city."]}'  # type: ignore[attr-defined]

    model = ScriptedModel(
        {
            "poly_rag/paraphrase": paraphrase,
            "poly_rag/entities": '{"entities": ["Bath"]}',
            "poly_rag/relations": '{"triples": [{"subject": "Bath", "relation": "is a", "object": "city"}]}',
            "poly_rag/disambiguate": '{"triples": [{"subject": "Bath", "relation": "is a", "object": "city"}]}',
        }
    )
    first, second = triples_of([AURON, Paragraph("urn:c2", "Bath", "Bath is a city.")], model=model)
    assert (first.triples, second.triples) == ([], [("Bath", "is a", "city", "")])
    assert first.problems[0].startswith("poly_rag/paraphrase")
    assert len(model.prompts) == 5


def test_the_extractive_model_joins_names_by_the_words_between_them() -> None:
    (taken,) = triples_of([AURON], model=ExtractiveModel())
    assert ("Auron", "was created by", "Ann Lee", "") in taken.triples
    assert ("Auron", "was created by", "Bo Oak", "") in taken.triples
    assert ("Auron", "lives in", "Bath", "") in taken.triples


def test_only_attributes_with_evidence_in_the_paragraph_are_asked_for() -> None:
    (found,) = evidence([AURON], ONTOLOGY, embedder=HashEmbedder(1024))
    assert [(one.concept, [each.label for each in one.attributes]) for one in found] == [("urn:Comic", ["creator"])]


def test_a_paragraph_without_evidence_costs_nothing() -> None:
    model = ScriptedModel({})
    paragraph = Paragraph("urn:c", "", "It rained all day.")
    found = evidence([paragraph], ONTOLOGY, embedder=HashEmbedder())
    (taken,) = instances_of([paragraph], found, ONTOLOGY, model=model)
    assert (found, taken.triples, model.prompts) == ([[]], [], [])


def test_attributes_that_were_not_asked_for_are_left_out() -> None:
    said = [
        {"subject": "Auron", "attribute": "Creator", "value": "Ann Lee"},
        {"subject": "Auron", "attribute": "enemy", "value": "Bo Oak"},
    ]
    model = ScriptedModel({"poly_rag/instances": json.dumps({"instances": said})})
    found = evidence([AURON], ONTOLOGY, embedder=HashEmbedder())
    (taken,) = instances_of([AURON], found, ONTOLOGY, model=model)
    assert taken.triples == [("Auron", "creator", "Ann Lee", "urn:Comic")]


def test_an_active_verb_is_turned_into_the_attribute_of_its_object() -> None:
    paragraph = Paragraph("urn:c", "", "Ann Lee created Auron.")
    found = evidence([paragraph], ONTOLOGY, embedder=HashEmbedder())
    (taken,) = instances_of([paragraph], found, ONTOLOGY, model=ExtractiveModel())
    assert taken.triples == [("Auron", "creator", "Ann Lee", "urn:Comic")]
