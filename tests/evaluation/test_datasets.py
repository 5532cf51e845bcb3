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
        {"id": "q", "question": "What drains?", "answer": "Loam", "answer_aliases": ["loam soil"], "supporting": [7]},
    )
    dataset = read_dataset(tmp_path)
    (document,), (question,) = dataset.documents(), dataset.questions
    assert (document.title, document.text, document.identifier) == ("Loam", "Loam drains.", "7")
    assert question.answers == ("Loam", "loam soil")
    assert question.relevant == {"7"}


def test_claims_are_judged_by_the_abstracts_they_cite(tmp_path):
    _lines(tmp_path / "corpus.jsonl.gz", {"id": 41, "title": "Mulch", "sentences": ["Mulch cools.", "Less weeding."]})
    _lines(tmp_path / "claims.jsonl", {"id": 3, "claim": "Mulch cools soil.", "cited": [41], "evidence": []})
    dataset = read_dataset(tmp_path)
    assert [document.text for document in dataset.documents()] == ["Mulch cools. Less weeding."]
    assert (dataset.scored[0].text, dataset.scored[0].relevant) == ("Mulch cools soil.", {"41"})


def test_a_question_that_is_a_papers_title_is_answered_by_its_abstract(tmp_path):
    _lines(
        tmp_path / "corpus.jsonl",
        {"pmid": "15", "chunks": [{"label": "AIM", "text": "To weigh."}, {"label": "END", "text": "Heavy."}]},
    )
    _lines(tmp_path / "questions.jsonl", {"pmid": "15", "question": "Is it heavy?", "answer": "yes"})
    dataset = read_dataset(tmp_path)
    assert [document.text for document in dataset.documents()] == ["To weigh.\n\nHeavy."]
    assert (dataset.scored[0].id, dataset.scored[0].relevant) == ("15", {"15"})


def test_facts_carry_their_source_in_the_title(tmp_path):
    _lines(tmp_path / "facts.jsonl", {"idx": 0, "fact": "Rain fell.", "title": "Weather", "source": "The Herald"})
    _lines(
        tmp_path / "questions.jsonl",
        {"id": "a", "question": "Did it rain?", "answer": "yes", "evidence": [0]},
        {"id": "b", "question": "Did it snow?", "answer": "Insufficient information.", "evidence": []},
    )
    dataset = read_dataset(tmp_path)
    assert [document.title for document in dataset.documents()] == ["Weather (The Herald)"]
    assert [question.id for question in dataset.scored] == ["a"]
    assert dataset.left_out == {"no gold": 1}


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


def test_gold_facts_of_another_flattening_give_way_to_gold_files(tmp_path):
    record = {"question": "Who?", "gold_facts": [{"a": "b"}], "gold_files": ["story_1.jsonld"]}
    (question,) = read_dataset(_lines(tmp_path / "questions.jsonl", record)).questions
    assert (question.gold_facts, question.relevant) == ((), {"story_1.jsonld"})


def test_answer_nodes_of_another_flattening_count_by_value_where_the_data_has_it(tmp_path):
    story = {"@graph": [{"title": "Rain", "has_events": {"Event": [{"place": "Hill"}]}}]}
    _lines(tmp_path / "mapped" / "story_1.jsonld", story)
    nodes = [["asset place", "Hill"], ["asset theme", "weather"]]
    _lines(
        tmp_path / "questions.jsonl", {"question": "Where?", "gold_files": ["story_1.jsonld"], "answer_nodes": nodes}
    )
    (question,) = read_dataset(tmp_path).questions
    assert question.answer_nodes == {("", "Hill")}


def test_questions_with_partial_gold_are_left_out_and_counted(tmp_path):
    path = _lines(
        tmp_path / "q.jsonl",
        {"question": "One?", "supporting": [1], "gold": "exact"},
        {"question": "Two?", "supporting": [1], "gold": "partial"},
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
    with pytest.raises(
        UnknownName, match=r"needs questions.jsonl or claims.jsonl or queries.jsonl, and holds notes.txt"
    ):
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


COUNTS = {
    "multihop/2wiki_6119": (6119, 478, {"gold is partial": 19}),
    "multihop/hotpot_dev": (985, 100, {}),
    "multihoprag_facts": (438, 218, {"no gold": 32}),
    "scifact": (5183, 807, {}),
    "pubmedqa": (1000, 500, {}),
    "popqa": (1475, 500, {}),
    "ograg/soybean": (0, 203, {}),
    "ograg/news": (0, 114, {"no gold": 1}),
}


@pytest.mark.parametrize("folder", COUNTS)
def test_the_sets_that_kgrag_is_measured_on_are_recognised(data, folder):
    dataset = read_dataset(data / folder)
    found = (sum(1 for _ in dataset.documents()), len(dataset.scored), dataset.left_out)
    assert found == COUNTS[folder]


def test_a_citing_sentence_is_asked_without_its_own_paper_and_its_gold_sentences_stand_in_the_text(tmp_path):
    _lines(
        tmp_path / "papers.jsonl.gz",
        {
            "id": "A",
            "title": "Beans",
            "sections": [["1 Aim", 0], ["2 Trial", 2]],
            "sentences": [[1, "We sow."], [2, "We weed."], [3, "It grew."]],
        },
        {"id": "B", "title": "", "sections": [], "sentences": [[0, "As A did, we sow."]]},
    )
    (tmp_path / "citations.tsv.gz").write_bytes(gzip.compress(b"citing\tcited\tsentences\nB\tA\t2\nB\tZ\t1\n"))
    _lines(
        tmp_path / "queries.jsonl",
        {"id": "q", "cited": "A", "citing": "B", "text": "As A did, we sow.", "gold_sids": [3]},
    )
    dataset = read_dataset(tmp_path)
    beans, citing = dataset.documents()
    assert (beans.text, citing.cites) == ("We sow. We weed.\n\nIt grew.", ("A", "Z"))
    assert [(section.heading, beans.text[section.start : section.end]) for section in beans.sections] == [
        ("1 Aim", "We sow. We weed."),
        ("2 Trial", "It grew."),
    ]
    (question,) = dataset.scored
    assert (question.relevant, question.excluded, question.gold_sentences) == ({"A"}, {"B"}, {3})
    spans = dict(dataset.sentences())
    assert beans.text[slice(*spans["A"][3])] == "It grew."
    assert dataset.chunk_tokens == 180


def test_a_table_of_citations_without_columns_is_refused(tmp_path):
    _lines(tmp_path / "papers.jsonl", {"id": "A", "sentences": [[1, "We sow."]]})
    (tmp_path / "citations.tsv").write_text("citing cited\n", encoding="utf-8")
    _lines(tmp_path / "queries.jsonl", {"id": "q", "cited": "A", "text": "Sow?"})
    with pytest.raises(InputError, match="Expected the columns citing and cited"):
        list(read_dataset(tmp_path).documents())
