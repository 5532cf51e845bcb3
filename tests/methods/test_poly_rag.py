"""PolyRAG: layers from files, the descent from the top, and what each layer says when it has no answer."""

import json
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.errors import InputError, InvalidSettings, NotBuilt
from kgrag.ports import VectorIndex
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

SCHEMA = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix s: <https://example.org/staff#> .
<https://example.org/staff> a owl:Ontology .
s:Person a owl:Class ; rdfs:label "person"@en .
s:City a owl:Class ; rdfs:label "city"@en .
s:birthPlace a owl:ObjectProperty ; rdfs:label "birth place"@en ; rdfs:domain s:Person ; rdfs:range s:City .
s:award a owl:DatatypeProperty ; rdfs:label "award"@en ; rdfs:domain s:Person ; rdfs:range xsd:string .
s:age a owl:DatatypeProperty ; rdfs:label "age"@en ; rdfs:domain s:Person ; rdfs:range xsd:integer .
"""
INSTANCES = [
    ("Ann Lee", "birthPlace", "Bath"),
    ("Ann Lee", "award", "Turner Prize"),
    ("Ann Lee", "award", "Fields Medal"),
    ("Bo (singer)", "birthPlace", "Bath"),
    ("Ann Lee", "age", "41"),
]
TRIPLES = [("Bo (singer)", "employer", "Opera North"), ("Ann Lee", "employer", "Royal Society")]
TEXT = "Cy Oak was born in Leeds. Cy Oak teaches the violin at Chetham School."


def lines(path: Path, rows: Sequence[tuple[str, str, str]]) -> Path:
    path.write_text("\n".join(json.dumps(dict(zip(("sub", "rel", "obj"), row, strict=True))) for row in rows))
    return path


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    (tmp_path / "cy.txt").write_text(TEXT)
    return {
        "schema": tmp_path / "staff.ttl",
        "instances": lines(tmp_path / "instances.jsonl", INSTANCES),
        "triples": lines(tmp_path / "triples.jsonl", TRIPLES),
        "text": tmp_path / "cy.txt",
    }


def built(kb: KnowledgeBase, files: dict[str, Path]) -> KnowledgeBase:
    kb.ingest(files["text"])
    kb.build("poly_rag", schema=[files["schema"]], instances=files["instances"], triples=files["triples"])
    return kb


@pytest.fixture
def pyramid(kb: KnowledgeBase, files: dict[str, Path]) -> KnowledgeBase:
    return built(kb, files)


def ask(
    kb: KnowledgeBase, question: str, layers: str = "ontology+graph+text"
) -> tuple[list[str], str, tuple[str, ...]]:
    answer = kb.ask(question, method=f"poly_rag:layers={layers}", k=10)
    said = [value.text for value in answer.values] if answer.hits and answer.hits[0].kind != "passage" else None
    return said or list(answer.sentences), answer.hits[0].kind if answer.hits else "", answer.explain


# --- the descent ---------------------------------------------------------------------------------------------------


def test_an_attribute_that_instances_state_is_answered_by_the_ontology_layer(pyramid: KnowledgeBase) -> None:
    assert ask(pyramid, "What is the birth place of Ann Lee?")[:2] == (["Bath"], "row")


def test_a_relation_that_only_triples_state_is_answered_by_the_graph_layer(pyramid: KnowledgeBase) -> None:
    sentences, kind, explain = ask(pyramid, "What is the employer of Bo (singer)?")
    assert (sentences, kind) == (["Opera North"], "triple")
    assert explain[0].startswith("ontology: did not answer")


def test_what_only_text_states_is_answered_by_the_text_layer(pyramid: KnowledgeBase) -> None:
    sentences, kind, explain = ask(pyramid, "Where does Cy Oak teach the violin?")
    assert kind == "passage"
    assert "Chetham School" in sentences[0]
    assert [line.split(":")[0] for line in explain if not line.startswith(" ")][:3] == ["ontology", "graph", "text"]


def test_without_a_model_the_text_is_read_for_an_attribute_of_the_ontology(pyramid: KnowledgeBase) -> None:
    """Before, the best sentence was the answer, and no value was read in it."""
    answer = pyramid.ask("What is the birth place of Cy Oak?", method="poly_rag")
    assert (answer.sentences, [value.text for value in answer.values]) == (
        ("The birth place of Cy Oak is Leeds.",),
        ["Leeds"],
    )
    assert [one.quote for one in answer.citations] == ["Cy Oak was born in Leeds."]
    assert TEXT[answer.citations[0].start : answer.citations[0].end] == "Cy Oak was born in Leeds."
    assert any("read in text as birth place of Cy Oak: 1 values" in line for line in answer.explain)


def test_a_value_of_a_passage_beyond_those_that_are_returned_is_counted(
    kb: KnowledgeBase, files: dict[str, Path]
) -> None:
    built(kb, files)
    (other := files["text"].parent / "cy2.txt").write_text("Cy Oak was born in Hull.")
    kb.ingest(other)
    answer = kb.ask("What is the birth place of Cy Oak?", method="poly_rag", k=1)
    assert len(answer.values) == 1
    assert any("1 values, 1 more in passages beyond" in line for line in answer.explain)


def test_an_attribute_that_no_ontology_has_is_left_to_the_reader_of_passages(pyramid: KnowledgeBase) -> None:
    assert not any("read in text as" in line for line in ask(pyramid, "What is the violin of Cy Oak?")[2])


def test_every_answer_cites_a_place_in_a_stored_text(pyramid: KnowledgeBase) -> None:
    for question in ("What is the birth place of Ann Lee?", "What is the employer of Bo (singer)?"):
        answer = pyramid.ask(question, method="poly_rag")
        for value, citation in zip(answer.values, answer.citations, strict=True):
            assert value.text in citation.quote and len(citation.quote) > len(value.text)  # a bare value proves nothing


def test_a_layer_that_is_switched_off_is_not_asked(pyramid: KnowledgeBase) -> None:
    assert ask(pyramid, "What is the birth place of Ann Lee?", "graph")[1] == ""
    assert ask(pyramid, "What is the birth place of Ann Lee?", "graph+text")[1] == "passage"


@pytest.mark.parametrize("layers", ["graph,text", "ontology+ontology", "cellar", ""])
def test_layers_that_there_are_not_are_refused(kb: KnowledgeBase, layers: str) -> None:
    from kgrag.methods.poly_rag.method import PolyRag

    with pytest.raises(InvalidSettings, match="layers"):
        PolyRag(kb.store, kb.spaces, kb.embedder, kb.model, kb.runner, lambda: None, layers=layers)  # type: ignore[arg-type, return-value]


class CountingIndex:
    """A vector index that counts its searches."""

    def __init__(self, inner: VectorIndex, name: str, log: list[str]) -> None:
        self._inner, self._name, self._log = inner, name, log

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def __len__(self) -> int:
        return len(self._inner)

    def search(self, vector: object, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        self._log.append(self._name)
        return self._inner.search(vector, k, within)  # type: ignore[arg-type]


class CountingSpaces:
    """Vector spaces that note which of them is searched."""

    def __init__(self, inner: object) -> None:
        self._inner, self.searched = inner, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def space(self, name: str) -> CountingIndex:
        return CountingIndex(self._inner.space(name), name, self.searched)  # type: ignore[attr-defined]


def counting(pyramid: KnowledgeBase) -> tuple[object, CountingSpaces, ScriptedModel]:
    from dataclasses import replace

    model = ScriptedModel({})
    spaces = CountingSpaces(pyramid.spaces)
    method = replace(pyramid.method("poly_rag"), spaces=spaces, model=model)  # type: ignore[type-var]
    return method, spaces, model


def test_a_question_answered_at_the_top_searches_no_lower_layer_and_asks_no_model(pyramid: KnowledgeBase) -> None:
    method, spaces, model = counting(pyramid)
    assert method.answer("What is the birth place of Ann Lee?", 5).sentences == ("The birth place of Ann Lee is Bath.",)  # type: ignore[attr-defined]
    assert (spaces.searched, model.prompts) == ([], [])


def test_a_question_answered_by_triples_searches_no_text(files: dict[str, Path]) -> None:
    def judge(prompt: object) -> str:
        return json.dumps({"sufficient": True, "answers": [{"triple": 1, "text": "Opera North"}]})

    model = ScriptedModel({"obqc/ask": "I cannot say.", "obqc/repair": "no", "poly_rag/sufficient": judge})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        built(kb, files)
        model.prompts.clear()
        answer = kb.ask("Who employs the singer Bo (singer) of Opera North?", method="poly_rag")
    assert answer.sentences == ("The employer of Bo (singer) is Opera North.",)
    assert "answering/answer" not in {prompt.name for prompt in model.prompts}


def test_a_model_that_writes_sparql_is_asked_what_no_fixed_form_holds(files: dict[str, Path]) -> None:
    sparql = (
        "PREFIX s: <https://example.org/staff#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        'SELECT ?name WHERE { ?p rdfs:label "Ann Lee" ; s:birthPlace ?c . ?o s:birthPlace ?c ; rdfs:label ?name . '
        "FILTER(?o != ?p) }"
    )
    model = ScriptedModel({"obqc/ask": sparql})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        built(kb, files)
        answer = kb.ask("Who comes from the same town as Ann Lee?", method="poly_rag")
    assert answer.sentences == ("The birth place of Bo (singer) is Bath.",)
    assert answer.explain[0] == "ontology: answered"


# --- forms of questions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("What is Ann Lee's birth place?", ["Bath"]),
        ("What are the awards of Ann Lee?", ["Fields Medal", "Turner Prize"]),
        ("How many awards does Ann Lee have?", ["2"]),
        ("Which person has birth place Bath?", []),
        ("Who has the birth place Bath?", ["Ann Lee", "Bo (singer)"]),
        ("Is Bath the birth place of Ann Lee?", ["Yes"]),
        ("What is the age of Ann Lee?", ["41"]),
    ],
)
def test_questions_of_a_fixed_form_are_read_without_a_model(
    pyramid: KnowledgeBase, question: str, answers: list[str]
) -> None:
    assert sorted(ask(pyramid, question, "ontology")[0]) == answers


@pytest.mark.parametrize(
    "question",
    [
        "How many awards does Bo (singer) have?",
        "Is Leeds the birth place of Ann Lee?",
        "What is the award of Bo (singer)?",
    ],
)
def test_a_count_of_nothing_and_a_no_leave_the_question_to_the_layers_below(
    pyramid: KnowledgeBase, question: str
) -> None:
    assert ask(pyramid, question, "ontology")[0] == []


def test_a_question_with_a_word_more_is_not_read(pyramid: KnowledgeBase) -> None:
    assert ask(pyramid, "What is the birth place of the husband of Ann Lee?", "ontology")[0] == []


@pytest.mark.parametrize(
    ("reply", "known"),
    [
        ("ASK { ?s <https://example.org/staff#award> 'Nobel' }", False),
        ("SELECT (COUNT(?s) AS ?n) { ?s <https://example.org/staff#award> 'Nobel' }", False),
        ("SELECT (COUNT(?s) AS ?n) { ?s <https://example.org/staff#award> 'Turner Prize' }", True),
    ],
)
def test_a_false_ask_and_a_count_of_0_of_a_model_are_no_answers(
    files: dict[str, Path], reply: str, known: bool
) -> None:
    model = ScriptedModel({"obqc/ask": reply, "obqc/repair": reply})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        built(kb, files)
        hits = kb.retrieve("Did somebody get such a thing?", method="poly_rag:layers=ontology")
    assert bool(hits) is known


# --- what is loaded ------------------------------------------------------------------------------------------------


def test_both_layers_name_a_thing_by_the_same_iri(pyramid: KnowledgeBase) -> None:
    names = pyramid.store.names
    query = (
        "SELECT ?i WHERE { GRAPH ?a { ?i <https://example.org/staff#birthPlace> ?c } "
        "GRAPH ?t { ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#subject> ?i } }"
    )
    assert {row[0] for row in pyramid.store.select(query).values()} == {
        names.entity("ann lee").value,
        names.entity("bo (singer)").value,
    }


def test_values_that_are_none_go_to_quarantine_and_are_never_answered(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [("Ann Lee", "award", "A"), ("Ann Lee", "award", ")"), ("Ann Lee", "award", "Turner Prize")]
    report = kb.build("poly_rag", instances=lines(tmp_path / "noise.jsonl", rows))
    assert (report.counts["refused"], report.counts["instances"]) == (2, 1)
    assert ask(kb, "What is the award of Ann Lee?", "ontology")[0] == ["Turner Prize"]
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []


def test_instances_without_an_ontology_make_a_starter_schema(kb: KnowledgeBase, tmp_path: Path) -> None:
    report = kb.build("poly_rag", instances=lines(tmp_path / "instances.jsonl", INSTANCES))
    assert report.counts["minted_properties"] == 3
    assert ask(kb, "What is the birth place of Ann Lee?")[:2] == (["Bath"], "row")


def test_a_schema_without_instances_answers_nothing_and_raises_nothing(
    kb: KnowledgeBase, files: dict[str, Path]
) -> None:
    kb.build("poly_rag", schema=[files["schema"]])
    assert ask(kb, "What is the birth place of Ann Lee?")[:2] == ([], "")


def test_contradicting_values_are_both_given(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [("Ann Lee", "birth place", "Bath"), ("Ann Lee", "birth place", "Leeds")]
    kb.build("poly_rag", instances=lines(tmp_path / "i.jsonl", rows))
    assert sorted(ask(kb, "What is the birth place of Ann Lee?")[0]) == ["Bath", "Leeds"]


def test_two_thousand_values_give_a_short_answer_that_says_so(kb: KnowledgeBase, tmp_path: Path) -> None:
    rows = [("Ann Lee", "student", f"Student {number}") for number in range(2_000)]
    kb.build("poly_rag", instances=lines(tmp_path / "i.jsonl", rows))
    answer = kb.ask("Who is the student of Ann Lee?", method="poly_rag:layers=ontology", k=10)
    assert (len(answer.hits), len(answer.sentences)) == (10, 20)
    assert "1,980 more" in answer.text


def test_a_schema_of_two_thousand_classes_keeps_the_prompt_short(tmp_path: Path) -> None:
    head = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    body = "\n".join(
        f'<urn:c{n}> a owl:Class ; rdfs:label "class of things number {n}"@en ; rdfs:comment "{"words " * 30}"@en .'
        for n in range(2000)
    )
    (tmp_path / "large.ttl").write_text(f"{head}<urn:o> a owl:Ontology .\n{body}")
    model = ScriptedModel({"obqc/ask": "none", "obqc/repair": "none"})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        kb.build("poly_rag", schema=[tmp_path / "large.ttl"])
        kb.retrieve("Which things have the number 12?", method="poly_rag:layers=ontology")
    assert max(len(prompt.text) for prompt in model.prompts) < 20_000


def test_nothing_at_all_is_not_built(kb: KnowledgeBase) -> None:
    with pytest.raises(NotBuilt, match="--triples"):
        kb.build("poly_rag")


@pytest.mark.parametrize(
    ("line", "told"), [("no json", "no JSON"), ('{"sub": "A"}', "no triple"), ("[1]", "no triple")]
)
def test_a_line_that_is_no_triple_is_named(kb: KnowledgeBase, tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "bad.jsonl").write_text(f'{{"sub": "Ann", "rel": "is", "obj": "Bo"}}\n{line}\n')
    with pytest.raises(InputError, match=f"line 2: .*{told}"):
        kb.build("poly_rag", triples=tmp_path / "bad.jsonl")


def test_records_of_triples_are_no_text_layer(pyramid: KnowledgeBase) -> None:
    hits = pyramid.retrieve("Ann Lee employer Royal Society", method="poly_rag:layers=text", k=5)
    assert [hit.text for hit in hits] == [TEXT]


def test_layers_can_be_built_again_and_nothing_changes(pyramid: KnowledgeBase, files: dict[str, Path]) -> None:
    quads, revision = len(pyramid.store), pyramid.store.revision
    built(pyramid, files)
    assert (len(pyramid.store), pyramid.store.revision) == (quads, revision)


def test_the_graphs_of_a_pyramid_conform_to_their_shapes(pyramid: KnowledgeBase) -> None:
    assert shacl.validate(pyramid.store, shacl.graph_shapes()) == []
    assert [finding for finding in pyramid.doctor() if finding.fault] == []
