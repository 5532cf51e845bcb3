"""Replies that are none: refusals, preambles and texts about something else are not kept, and asked for again."""

import json

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase, prompting
from kgrag.cli import app
from kgrag.errors import ReplyUnusable
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.reply_faults import fault, judged
from kgrag.llm.structured_output import text_of
from kgrag.model import Completion, Document, Prompt
from kgrag.testing import ScriptedModel

PARAGRAPH = (
    "Ann Lee sang in many towns of the north, and she was born in Bath in 1882. In Hull she met Bo Ek, who danced in York "
    "until the war, and they toured together for seven years before they settled in Leeds."
)
REWRITTEN = PARAGRAPH.replace("she was", "Ann Lee was").replace("they", "Ann Lee and Bo Ek")
REFUSAL = "I'm sorry, but I can't help with that."
FACT = {"paragraph": 1, "fact": "Ann Lee was born in Bath in 1882.", "entities": ["Ann Lee", "Bath"]}


def rewrite(text: str = PARAGRAPH) -> Prompt:
    return prompting.render("sire_rag/rewrite", title="Ann Lee", before="", text=text)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (REFUSAL, "refuses"),
        ("As an AI language model, I cannot rewrite this.", "refuses"),
        ("Please provide the paragraph that you would like me to rewrite.", "refuses"),
        ("Sure! Here is the rewritten paragraph:", "begins with words about itself"),
        (f"Here is the rewritten paragraph:\n\n{REWRITTEN}", "begins with words about itself"),
        (f"Rewritten paragraph:\n{REWRITTEN}", "begins with words about itself"),
        (f"**Rewritten paragraph**\n\n{REWRITTEN}", "begins with words about itself"),
        (f"Got it. {REWRITTEN}", "begins with words about itself"),
        (f"I've rewritten the paragraph as requested.\n\n{REWRITTEN}", "begins with words about itself"),
        (f"This paragraph was rewritten to be self-contained:\n{REWRITTEN}", "begins with words about itself"),
        (f"{REWRITTEN}\n\nLet me know if you need anything else!", "ends with words about itself"),
        ("<think>She is Ann Lee, and", "is empty"),
        ("", "is empty"),
        ("Ann Lee sang, and she met Bo Ek.", "words to"),
        ("Water boils when it is heated for long enough over a fire of dry wood. " * 2, "not in title and before and text"),
        (PARAGRAPH.replace("Ann Lee", "he").replace("Bo Ek", "he").replace("Hull", "it").replace("York", "it")
         .replace("Leeds", "it").replace("Bath", "it"), "names of text"),
    ],
)  # fmt: skip
def test_a_reply_that_is_no_rewritten_paragraph_is_a_fault(reply: str, problem: str) -> None:
    assert problem in fault(rewrite(), Completion(reply))


@pytest.mark.parametrize(
    "reply", ["My apologies, but I can't.", "N/A", "Lo siento, no puedo.", "I regret that I cannot."]
)
def test_a_short_reply_that_refuses_is_no_summary(reply: str) -> None:
    assert "refuses" in fault(prompting.render("sire_rag/summary", texts=[PARAGRAPH]), Completion(reply))


def test_a_rewritten_paragraph_is_none() -> None:
    assert fault(rewrite(), Completion(REWRITTEN)) == ""
    assert fault(rewrite(), Completion(f"<think>I'm sorry for her.</think>{REWRITTEN}")) == ""


def test_reasoning_before_a_text_is_no_part_of_it() -> None:
    assert text_of(Completion(f"<think>Who is she?</think>\n{REWRITTEN}")).strip() == REWRITTEN
    with pytest.raises(ReplyUnusable, match="nothing behind it"):
        text_of(Completion("<think>Who is she?"))


def test_a_paragraph_that_itself_begins_like_a_refusal_may_be_rewritten() -> None:
    text = f"I'm sorry, she wrote. {PARAGRAPH}"
    assert fault(rewrite(text), Completion(text)) == ""


def test_a_fact_that_refuses_is_a_fault_though_it_conforms_to_the_schema() -> None:
    prompt = prompting.render(
        "sire_rag/facts", title="", before="", boundary="===", paragraphs=[{"number": 1, "text": PARAGRAPH}]
    )
    refused = {"facts": [{"fact": REFUSAL, "entities": []}]}
    assert "refuses" in judged(prompt, Completion(json.dumps(refused), refused)).problem
    assert judged(prompt, Completion("", {"facts": [FACT]})).problem == ""


def test_a_prompt_without_expectations_takes_any_reply() -> None:
    assert fault(Prompt("no/such", "?"), Completion(REFUSAL)) == ""


def test_a_refusal_is_not_kept_and_one_that_was_kept_before_is_asked_for_again() -> None:
    replies = iter([REFUSAL, REWRITTEN])
    model = CachedModel(ScriptedModel({"sire_rag/rewrite": lambda _: next(replies)}))
    assert "refuses" in model.complete([rewrite()])[0].problem
    assert model.complete([rewrite()])[0].text == REWRITTEN
    model._write("key", rewrite(), Completion(REFUSAL))
    assert model._known("key", rewrite()) is None


def test_a_chunk_whose_reply_refuses_is_pending_with_the_reason_until_a_build_gets_another(tmp_path) -> None:
    replies = iter([REFUSAL, REWRITTEN])
    script = {"sire_rag/rewrite": lambda _: next(replies), "sire_rag/facts": json.dumps({"facts": [FACT]})}
    command = ["--kb", str(tmp_path / "kb"), "status"]
    with KnowledgeBase(tmp_path / "kb", model=ScriptedModel(script)) as kb:
        kb.add(Document(PARAGRAPH, title="Ann Lee"))
        assert "refuses" in kb.build("sire_rag:rewrite=true").pending[0]
        assert "refuses" in kb.status()["pending"]["sire_rag"][0]
    shown = CliRunner().invoke(app, command)
    assert (shown.exit_code, "not rewritten: the reply refuses" in shown.output) == (4, True)
    with KnowledgeBase(tmp_path / "kb", model=ScriptedModel(script)) as kb:
        assert kb.build("sire_rag:rewrite=true").pending == ()
        assert kb.status() == {"unfinished": {}, "pending": {}, "left_out": {}, "stale": []}
    assert (CliRunner().invoke(app, command).exit_code, CliRunner().invoke(app, command).output) == (
        0,
        "nothing is pending\n",
    )


def test_nothing_of_a_forgotten_document_stays_in_what_is_pending() -> None:
    kb = KnowledgeBase(model=ScriptedModel({"sire_rag/rewrite": REFUSAL}))
    kb.add(Document(PARAGRAPH, title="Ann Lee"))
    assert kb.build("sire_rag:rewrite=true").pending
    kb.forget("Ann Lee")
    assert kb.status()["pending"] == {}
