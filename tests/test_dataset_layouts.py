"""The published sets are read in their own layouts, as the general format that kgrag eval reads."""

import gzip
import json
from pathlib import Path

import pytest

from benchmarks import dataset_layouts
from benchmarks.dataset_layouts import read
from kgrag.errors import InputError
from kgrag.evaluation import read_dataset


def _lines(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record) + "\n" for record in records)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_claims_are_judged_by_the_abstracts_they_cite(tmp_path):
    folder = tmp_path / "scifact"
    _lines(folder / "corpus.jsonl.gz", {"id": 41, "title": "Mulch", "sentences": ["Mulch cools.", "Less weeding."]})
    _lines(folder / "claims.jsonl", {"id": 3, "claim": "Mulch cools soil.", "cited": [41], "evidence": []})
    dataset = read(folder)
    assert [document.text for document in dataset.documents()] == ["Mulch cools. Less weeding."]
    assert (dataset.scored[0].text, dataset.scored[0].relevant) == ("Mulch cools soil.", {"41"})


def test_a_question_that_is_a_papers_title_is_answered_by_its_abstract(tmp_path):
    folder = tmp_path / "pubmedqa"
    _lines(
        folder / "corpus.jsonl",
        {"pmid": "15", "chunks": [{"label": "AIM", "text": "To weigh."}, {"label": "END", "text": "Heavy."}]},
    )
    _lines(folder / "questions.jsonl", {"pmid": "15", "question": "Is it heavy?", "answer": "yes"})
    dataset = read(folder)
    assert [document.text for document in dataset.documents()] == ["To weigh.\n\nHeavy."]
    assert (dataset.scored[0].id, dataset.scored[0].relevant) == ("15", {"15"})


def test_facts_carry_their_source_in_the_title(tmp_path):
    folder = tmp_path / "multihoprag_facts"
    _lines(folder / "facts.jsonl", {"idx": 0, "fact": "Rain fell.", "title": "Weather", "source": "The Herald"})
    _lines(
        folder / "questions.jsonl",
        {"id": "a", "question": "Did it rain?", "answer": "yes", "evidence": [0]},
        {"id": "b", "question": "Did it snow?", "answer": "Insufficient information.", "evidence": []},
    )
    dataset = read(folder)
    assert [document.title for document in dataset.documents()] == ["Weather (The Herald)"]
    assert [question.id for question in dataset.scored] == ["a"]
    assert dataset.left_out == {"no gold": 1}


def test_gold_facts_of_another_flattening_give_way_to_gold_files(tmp_path):
    folder = tmp_path / "news"
    record = {"question": "Who?", "gold_facts": [{"a": "b"}], "gold_files": ["story_1.jsonld"]}
    _lines(folder / "questions.jsonl", record)
    (question,) = read(folder).questions
    assert (question.gold_facts, question.relevant) == ((), {"story_1.jsonld"})


def test_answer_nodes_of_another_flattening_count_by_value_where_the_data_has_it(tmp_path):
    folder = tmp_path / "news"
    story = {"@graph": [{"title": "Rain", "has_events": {"Event": [{"place": "Hill"}]}}]}
    _lines(folder / "mapped" / "story_1.jsonld", story)
    nodes = [["asset place", "Hill"], ["asset theme", "weather"]]
    _lines(folder / "questions.jsonl", {"question": "Where?", "gold_files": ["story_1.jsonld"], "answer_nodes": nodes})
    (question,) = read(folder).questions
    assert question.answer_nodes == {("", "Hill")}


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
    dataset = read(data / folder)
    counts = (sum(1 for _ in dataset.documents()), len(dataset.scored), dataset.left_out)
    assert counts == COUNTS[folder]


def test_a_citing_sentence_is_asked_without_its_own_paper_and_its_gold_sentences_stand_in_the_text(tmp_path):
    folder = tmp_path / "scisumm"
    _lines(
        folder / "papers.jsonl.gz",
        {
            "id": "A",
            "title": "Beans",
            "sections": [["1 Aim", 0], ["2 Trial", 2]],
            "sentences": [[1, "We sow."], [2, "We weed."], [3, "It grew."]],
        },
        {"id": "B", "title": "", "sections": [], "sentences": [[0, "As A did, we sow."]]},
    )
    (folder / "citations.tsv.gz").write_bytes(gzip.compress(b"citing\tcited\tsentences\nB\tA\t2\nB\tZ\t1\n"))
    _lines(
        folder / "queries.jsonl",
        {"id": "q", "cited": "A", "citing": "B", "text": "As A did, we sow.", "gold_sids": [3]},
    )
    dataset = read(folder)
    beans, citing = dataset.documents()
    assert (beans.text, citing.cites) == ("We sow. We weed.\n\nIt grew.", ("A", "Z"))
    assert [(section.heading, beans.text[section.start : section.end]) for section in beans.sections] == [
        ("1 Aim", "We sow. We weed."),
        ("2 Trial", "It grew."),
    ]
    (question,) = dataset.scored
    assert (question.relevant, question.excluded) == ({"A"}, {"B"})
    ((start, end),) = dataset_layouts.scisumm_gold_spans(folder)["q"]
    assert beans.text[start:end] == "It grew."


def test_a_table_of_citations_without_columns_is_refused(tmp_path):
    folder = tmp_path / "scisumm"
    _lines(folder / "papers.jsonl", {"id": "A", "sentences": [[1, "We sow."]]})
    (folder / "citations.tsv").write_text("citing cited\n", encoding="utf-8")
    _lines(folder / "queries.jsonl", {"id": "q", "cited": "A", "text": "Sow?"})
    with pytest.raises(InputError, match="Expected the columns citing and cited"):
        list(read(folder).documents())


def test_partial_gold_is_left_out_and_aliases_are_right_answers_too(tmp_path):
    folder = tmp_path / "2wiki_6119"
    _lines(folder / "corpus.jsonl.gz", {"idx": 7, "title": "Loam", "text": "Loam drains."})
    _lines(
        folder / "questions.jsonl",
        {"id": "a", "question": "What drains?", "answer": "Loam", "answer_aliases": ["loam soil"], "supporting": [7]},
        {"id": "b", "question": "Two?", "supporting": [7], "gold": "partial"},
    )
    dataset = read(folder)
    assert dataset.scored[0].answers == ("Loam", "loam soil")
    assert dataset.left_out == {"gold is partial": 1}


def test_a_folder_of_another_name_is_read_as_it_is(tmp_path):
    _lines(tmp_path / "mine" / "questions.jsonl", {"question": "Why?", "answer": "so"})
    assert dataset_layouts.general_folder(tmp_path / "mine") == tmp_path / "mine"


def test_a_set_is_written_in_the_general_format_by_hand(tmp_path):
    folder = tmp_path / "my claims"
    _lines(folder / "corpus.jsonl", {"id": 41, "title": "Mulch", "sentences": ["Mulch cools."]})
    _lines(folder / "claims.jsonl", {"id": 3, "claim": "Mulch cools soil.", "cited": [41]})
    dataset_layouts.write_general("scifact", folder, tmp_path / "written")
    dataset = read_dataset(tmp_path / "written")
    assert [document.id for document in dataset.documents()] == ["41"]
    assert dataset.scored[0].relevant == {"41"}
