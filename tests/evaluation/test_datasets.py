import gzip
import json
from pathlib import Path

import pytest

from kgrag.errors import InputError, UnknownName
from kgrag.evaluation import read_dataset


def _lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record) + "\n" for record in records)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_a_multihop_folder_has_passages_and_the_numbers_of_those_that_carry_the_answer(tmp_path):
    _lines(tmp_path / "corpus.jsonl.gz", {"idx": 7, "title": "Loam", "text": "Loam drains."})
    _lines(
        tmp_path / "questions.jsonl",
        {"id": "q", "question": "What drains?", "answer": "Loam", "answers": ["loam soil"], "supporting": [7]},
    )
    dataset = read_dataset(tmp_path)
    (document,), (question,) = dataset.documents(), dataset.questions
    assert (document.title, document.text, document.id) == ("Loam", "Loam drains.", "7")
    assert question.answers == ("Loam", "loam soil")
    assert question.relevant == {"7"}


def test_mapped_data_has_gold_facts_and_the_pairs_that_answer(tmp_path):
    (tmp_path / "mapped").mkdir()
    fact = {"Crop name": "Rye", "Crop yield": 3}
    _lines(
        tmp_path / "questions.jsonl",
        {
            "id": "q",
            "question": "Yield?",
            "ground_truths": ["3"],
            "gold_facts": [fact],
            "answer_nodes": [["Crop yield", 3]],
        },
    )
    dataset = read_dataset(tmp_path)
    assert dataset.mapped == tmp_path / "mapped"
    assert list(dataset.documents()) == []
    assert dataset.scored[0].gold_facts == (frozenset({("Crop name", "Rye"), ("Crop yield", "3")}),)
    assert dataset.scored[0].answer_nodes == {("Crop yield", "3")}


def test_questions_that_cannot_be_scored_are_left_out_and_counted_by_reason(tmp_path):
    path = _lines(
        tmp_path / "q.jsonl",
        {"question": "One?", "supporting": [1], "left_out": ""},
        {"question": "Two?", "supporting": [1], "left_out": "gold is partial"},
        {"question": "Three?"},
    )
    dataset = read_dataset(path)
    assert [question.text for question in dataset.scored] == ["One?"]
    assert dataset.left_out == {"gold is partial": 1, "no gold": 1}


def test_plain_questions_are_named_by_their_line_and_need_no_corpus(tmp_path):
    dataset = read_dataset(_lines(tmp_path / "mine.jsonl", {"question": "Why?", "answers": ["so", "thus"]}))
    assert (dataset.name, dataset.corpus, dataset.mapped) == ("mine", None, None)
    assert (dataset.questions[0].id, dataset.questions[0].answers) == ("1", ("so", "thus"))


def test_a_folder_without_questions_is_refused_with_what_it_holds(tmp_path):
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UnknownName, match=r"needs questions.jsonl, and has notes.txt\. Write a set"):
        read_dataset(tmp_path)
    with pytest.raises(UnknownName, match="no such folder"):
        read_dataset(tmp_path / "absent")


@pytest.mark.parametrize("line", ["{", "[1]", '{"id": 1}', '{"question": " "}', '"text"', "\xff"])
def test_a_line_that_is_no_question_is_refused_with_its_place(tmp_path, line):
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "Fine?"}\n' + line + "\n", encoding="latin-1")
    with pytest.raises(InputError, match=r"q.jsonl"):
        read_dataset(path)


def test_a_repeated_id_is_refused(tmp_path):
    record = {"id": "x", "question": "Twice?"}
    with pytest.raises(InputError, match="'x' occurs more than once"):
        read_dataset(_lines(tmp_path / "q.jsonl", record, record))


def test_a_passage_without_text_is_refused_with_its_place(tmp_path):
    _lines(tmp_path / "corpus.jsonl", {"idx": 0, "title": "Empty"})
    _lines(tmp_path / "questions.jsonl", {"question": "?", "supporting": [0]})
    with pytest.raises(InputError, match=r"corpus.jsonl, line 1: no text"):
        list(read_dataset(tmp_path).documents())


def test_a_document_may_say_what_it_cites_and_where_its_sections_are(tmp_path):
    sections = [{"heading": "1 Aim", "start": 0, "end": 7}, {"heading": "2 Trial", "start": 9, "end": 17}]
    _lines(tmp_path / "corpus.jsonl", {"id": "A", "text": "We sow.\n\nIt grew.", "cites": ["B"], "sections": sections})
    _lines(tmp_path / "questions.jsonl", {"question": "?", "supporting": ["A"], "excluded": ["B"]})
    dataset = read_dataset(tmp_path)
    (document,) = dataset.documents()
    assert document.cites == ("B",)
    assert [(part.heading, document.text[part.start : part.end]) for part in document.sections] == [
        ("1 Aim", "We sow."),
        ("2 Trial", "It grew."),
    ]
    assert dataset.questions[0].excluded == {"B"}


@pytest.mark.parametrize("sections", [["Aim"], [{"heading": "Aim"}], 3])
def test_sections_of_another_form_are_refused_with_their_place(tmp_path, sections):
    _lines(tmp_path / "corpus.jsonl", {"text": "We sow.", "sections": sections})
    _lines(tmp_path / "questions.jsonl", {"question": "?"})
    with pytest.raises(InputError, match=r"corpus.jsonl, line 1: 'sections' must be a list of objects"):
        list(read_dataset(tmp_path).documents())


@pytest.mark.parametrize("gold", [{"gold_facts": ["soil"]}, {"answer_nodes": [["one"]]}, {"answer_nodes": 4}])
def test_gold_of_another_form_is_refused_with_its_place(tmp_path, gold):
    path = _lines(tmp_path / "q.jsonl", {"question": "Soil?", **gold})
    with pytest.raises(InputError, match=r"q.jsonl, line 1: 'gold_facts' must be a list of objects"):
        read_dataset(path)
