"""The scripted reader of the pyramid's benchmark: real HTTP on loopback, recorded and replayed; the upper bound it gives."""

from pathlib import Path

import pytest

from benchmarks.poly_rag_pyramid import CHOICES, measured
from benchmarks.poly_rag_reader import Reader, serving
from benchmarks.poly_rag_scores import Asked, answers_in, f1_of, scored
from kgrag import KnowledgeBase
from kgrag.errors import ServiceError
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.openai_chat import OpenAIModel
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.methods.test_poly_rag import INSTANCES, SCHEMA, TEXT, TRIPLES, lines

QUESTIONS = [
    Asked("What is the birth place of Ann Lee?", (frozenset({"bath"}),), "ontology", "Ann Lee", "birth place"),
    Asked("What is the employer of Ann Lee?", (frozenset({"royal society"}),), "graph", "Ann Lee", "employer"),
    Asked("What is the workplace of Cy Oak?", (frozenset({"chetham school"}),), "text", "Cy Oak", "workplace"),
]


def asked(folder: Path, url: str, file: Path, mode: str) -> dict[str, object]:
    """Build the pyramid of the method's tests and ask the questions of a reader behind a recording."""
    (folder / "staff.ttl").write_text(SCHEMA)
    (folder / "cy.txt").write_text(TEXT)
    inner = OpenAIModel("scripted", base_url=url, api_key="none")
    with CachedModel(inner, file, mode=mode) as model:  # type: ignore[arg-type]
        with KnowledgeBase(folder / "kb", embedder=HashEmbedder()) as kb:
            kb.ingest(folder / "cy.txt")
            kb.build(
                "poly_rag",
                schema=[folder / "staff.ttl"],
                instances=lines(folder / "i.jsonl", INSTANCES),
                triples=lines(folder / "t.jsonl", TRIPLES),
            )
        settings = Settings(completions="off")
        with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder(), model=model) as kb:
            return measured(kb, QUESTIONS, free=True)


def test_each_layer_answers_what_it_holds_and_a_replay_gives_the_same_without_the_service(tmp_path: Path) -> None:
    file = tmp_path / "said.sqlite"
    with serving(QUESTIONS) as url:
        report = asked(tmp_path, url, file, "record")
    assert report["confusion"] == {"graph -> graph": 1, "ontology -> ontology": 1, "text -> text": 1}
    assert list(report["table"]) == list(CHOICES)  # type: ignore[call-overload]
    assert report["table"]["ontology+graph+text"]["f1"] == 1.0  # type: ignore[index]
    replayed = asked(tmp_path, url, file, "replay")
    assert (replayed["confusion"], replayed["right"]) == (report["confusion"], report["right"])


def test_a_reader_that_is_always_wrong_gives_no_gold_answer(tmp_path: Path) -> None:
    with serving(QUESTIONS, wrong=1.0) as url:
        report = asked(tmp_path, url, tmp_path / "said.sqlite", "off")
    assert report["right"] == {}


def test_a_question_that_the_reader_does_not_know_is_refused() -> None:
    with pytest.raises(LookupError):
        Reader({}).reply("Answer the question\n\nQuestion\nWho?\n")


def test_the_service_refuses_what_it_has_no_reply_to() -> None:
    from kgrag.model import Prompt

    with serving(QUESTIONS) as url, pytest.raises(ServiceError):
        OpenAIModel("scripted", base_url=url, api_key="none").complete([Prompt("other", "Tell a story.")])


def test_an_answer_set_is_read_from_a_sentence_for_the_attribute_that_was_asked_for() -> None:
    sentence = "Ann Lee, who was born in Bath, met Bo Oak."
    assert answers_in(sentence, "What is the birth place of Ann Lee?") == {"bath"}
    assert answers_in(sentence, "What is the friend of Ann Lee?") == {"bath", "bo oak"}
    assert answers_in("Bath", "What is the birth place of Ann Lee?") == {"bath"}


def test_a_gold_answer_with_several_names_counts_once() -> None:
    assert f1_of({"bath"}, [frozenset({"bath", "city of bath"})]) == (1.0, 1.0, 1.0)
    assert scored([], [])["f1"] == 0.0
