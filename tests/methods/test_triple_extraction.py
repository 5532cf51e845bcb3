"""Triples and instances out of paragraphs, in one reply for both layers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kgrag import KnowledgeBase
from kgrag.llm.extractive import ExtractiveModel
from kgrag.mapping import Concept, Ontology, Property
from kgrag.methods.poly_rag.layer_drafts import Fact
from kgrag.methods.poly_rag.triple_extraction import Asked, Paragraph, ParagraphFacts, Request, answered, extract
from kgrag.model import Completion, Document, Prompt
from kgrag.ports import LanguageModel
from kgrag.testing import HashEmbedder, ScriptedModel

AURON = Paragraph("urn:c1", "Auron", "Auron was created by Ann Lee and Bo Oak. He lives in Bath.", "urn:d1")
BATH = Paragraph("urn:c2", "Auron", "Bath is a city.", "urn:d1")
ONTOLOGY = Ontology(
    {"urn:Comic": Concept("urn:Comic", "Comic"), "urn:Star": Concept("urn:Star", "Star")},
    {
        "urn:creator": Property("urn:creator", "creator", domains=("urn:Comic",)),
        "urn:mass": Property("urn:mass", "mass", domains=("urn:Star",)),
    },
)


def thing(name: str, label: str, value: str, number: int = 1, kind: str = "Comic") -> dict[str, Any]:
    return {"paragraph": number, "name": name, "class": kind, "attributes": [{"attribute": label, "value": value}]}


def triple(subject: str, relation: str, value: str, number: int = 1) -> dict[str, Any]:
    return {"paragraph": number, "subject": subject, "relation": relation, "object": value}


def asked(model: LanguageModel, *requests: Request, ontology: Ontology = ONTOLOGY) -> dict[str, ParagraphFacts]:
    replies = answered(requests, ontology, model=model, embedder=HashEmbedder())
    return {chunk: facts for _, _, found, _ in replies for chunk, facts in found.items()}


def test_one_reply_states_instances_and_triples_of_several_paragraphs() -> None:
    said = {
        "things": [thing("Auron", "Creator", "Ann Lee")],
        "triples": [triple("Auron", "lives in", "Bath"), triple("Bath", "is a", "city", 2)],
    }
    model = ScriptedModel({"poly_rag/facts": json.dumps(said)})
    found = asked(model, Request((AURON, BATH)))
    assert len(model.prompts) == 1
    assert found["urn:c1"].instances == [Fact("Auron", "creator", "Ann Lee", concept="urn:Comic")]
    assert found["urn:c1"].triples == [Fact("Auron", "lives in", "Bath")]
    assert found["urn:c2"] == ParagraphFacts([], [Fact("Bath", "is a", "city")])


def test_the_rules_and_the_whole_ontology_come_before_anything_of_the_text() -> None:
    model = ScriptedModel(lambda _: '{"things": [], "triples": []}')
    asked(model, Request((AURON,)), Request((BATH,)))
    first, second = (prompt.text for prompt in model.prompts)
    assert first[: first.index("=== ")] == second[: second.index("=== ")]
    assert "creator" in first[: first.index("=== ")]


def test_the_title_and_the_paragraph_before_are_shown_for_the_names_of_things() -> None:
    model = ScriptedModel(lambda _: '{"things": [], "triples": []}')
    asked(model, Request((BATH,), before=AURON.text))
    shown = model.prompts[0].text
    assert "title\nAuron\n" in shown
    assert shown.index(AURON.text) < shown.index(BATH.text)
    assert '"the crop"' in shown


def test_attributes_that_no_class_has_and_unknown_paragraphs_are_left_out() -> None:
    said = {
        "things": [thing("Auron", "enemy", "Bo Oak"), thing("Auron", "creator", "Bo Oak", 7)],
        "triples": [triple("Auron", "met", "Bo Oak", 7)],
    }
    assert asked(ScriptedModel({"poly_rag/facts": json.dumps(said)}), Request((AURON,))) == {"urn:c1": ParagraphFacts()}


def test_an_attribute_of_a_class_that_no_ontology_defines_is_asked_for_as_one_of_every_class() -> None:
    said = {"things": [thing("Auron", "creator", "Ann Lee", kind="Thing")], "triples": []}
    model = ScriptedModel({"poly_rag/facts": json.dumps(said)})
    found = asked(model, Request((AURON,)), ontology=Ontology({}, ONTOLOGY.properties))
    assert found["urn:c1"].instances == [Fact("Auron", "creator", "Ann Lee")]


def test_a_reply_that_is_cut_is_asked_for_in_halves_and_then_layer_by_layer() -> None:
    def reply(prompt: Prompt) -> str | Completion:
        if len(prompt.variables["paragraphs"]) > 1 or (prompt.variables["triples"] and prompt.variables["ontology"]):
            return Completion('{"things": [', finish="length")
        text = prompt.variables["paragraphs"][0]["text"]
        said = {"things": [thing("Auron", "creator", "Ann Lee")], "triples": []} if prompt.variables["ontology"] else {}
        return json.dumps({"things": [], "triples": [triple(text.split()[0], "is", "there")], **said})

    model = ScriptedModel(reply)
    replies = list(answered([Request((AURON, BATH))], ONTOLOGY, model=model, embedder=HashEmbedder()))
    assert len(model.prompts) == 7
    assert all(problem == "" for *_, problem in replies)
    triples = [fact.subject for request, _, found, _ in replies for one in found.values() for fact in one.triples]
    assert triples == ["Auron", "Bath"]


def test_a_paragraph_that_a_reply_about_several_leaves_out_is_asked_about_by_itself() -> None:
    def reply(prompt: Prompt) -> str:
        first = prompt.variables["paragraphs"][0]["text"]
        if first == BATH.text:
            assert prompt.variables["before"] == AURON.text
            return "no idea"
        return json.dumps({"things": [], "triples": [triple("Auron", "lives in", "Bath")]})

    model = ScriptedModel(reply)
    replies = list(answered([Request((AURON, BATH))], ONTOLOGY, model=model, embedder=HashEmbedder()))
    assert [len(prompt.variables["paragraphs"]) for prompt in model.prompts] == [2, 1]
    assert [(request.paragraphs, set(found), bool(problem)) for request, _, found, problem in replies] == [
        ((AURON,), {"urn:c1"}, False),
        ((BATH,), set(), True),
    ]


def test_an_empty_entry_states_nothing_and_is_not_asked_again() -> None:
    said = {"things": [{"paragraph": 1, "name": "", "class": "", "attributes": []}], "triples": [triple("", "", "", 2)]}
    model = ScriptedModel({"poly_rag/facts": json.dumps(said)})
    assert asked(model, Request((AURON, BATH))) == {"urn:c1": ParagraphFacts(), "urn:c2": ParagraphFacts()}
    assert len(model.prompts) == 1


def test_a_cut_reply_that_cannot_be_halved_is_a_problem_and_no_facts() -> None:
    model = ScriptedModel(lambda _: Completion('{"things": [', finish="length"))
    ((*_, found, problem),) = answered(
        [Request((BATH,), triples=False)], ONTOLOGY, model=model, embedder=HashEmbedder()
    )
    assert (found, "cut" in problem) == ({}, True)


def test_the_extractive_model_joins_names_by_the_words_between_them() -> None:
    taken = asked(ExtractiveModel(), Request((AURON,)))["urn:c1"].triples
    assert Fact("Auron", "was created by", "Ann Lee") in taken
    assert Fact("Auron", "was created by", "Bo Oak") in taken
    assert Fact("Auron", "lives in", "Bath") in taken


def test_an_active_verb_is_turned_into_the_attribute_of_its_object() -> None:
    paragraph = Paragraph("urn:c", "", "Ann Lee created Auron.")
    taken = asked(ExtractiveModel(), Request((paragraph,)))["urn:c"]
    assert taken.instances == [Fact("Auron", "creator", "Ann Lee", concept="urn:Comic")]


def test_what_came_is_published_while_the_model_is_at_further_requests() -> None:
    said = list[str]()

    class Slow(ScriptedModel):
        def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
            said.append(f"{len(prompts)} asked")
            for index, completion in super().as_completed(prompts):
                yield index, completion
                said.append(f"reply {index} taken")

    model = Slow(lambda _: '{"things": [], "triples": []}')
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.add_many(Document(f"Auron {number} lives in Bath.", id=str(number)) for number in range(20))
        ports = {"store": kb.store, "model": model, "embedder": kb.embedder}
        extract(**ports, wanted=Asked(), progress=lambda _, done, all_of_them: said.append(f"{done} of {all_of_them}"))
    assert [line for line in said if "taken" not in line] == ["20 asked", "16 of 20", "20 of 20"]
    assert said.index("16 of 20") < said.index("reply 16 taken")
