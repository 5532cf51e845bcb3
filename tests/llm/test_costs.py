"""Costs: counted before anything is asked, limited, and added up after."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase, prompting
from kgrag.cli import app
from kgrag.errors import BudgetSpent, InvalidSettings
from kgrag.llm.budget import Budget
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.costs import Price, planned, price_of, schema_tokens
from kgrag.llm.planned_model import PlannedModel
from kgrag.model import Document, Prompt, Usage
from kgrag.settings import Settings, as_toml
from kgrag.testing import ScriptedModel
from tests.methods.test_cg_rag import small

TEXT = "Ann Lee sang in many towns of the north, and Ann Lee was born in Bath in 1882. In Hull Ann Lee met Bo Ek."
SENTENCE = {"text": "In Bath.", "citations": [{"evidence": 1, "quote": "Ann Lee was born in Bath in 1882"}]}
REPLIES = {
    "answering/answer": json.dumps({"unknown": False, "sentences": [SENTENCE]}),
    "sire_rag/rewrite": TEXT,
    "sire_rag/facts": json.dumps(
        {"facts": [{"paragraph": 1, "fact": "Ann Lee was born in Bath in 1882.", "entities": ["Ann Lee"]}]}
    ),
}
QUESTION = "Where was Ann Lee born?"


def open_kb(path: Path | None = None, **prices: dict[str, float]) -> KnowledgeBase:
    kb = KnowledgeBase(path, model=ScriptedModel(REPLIES), settings=Settings(prices=prices, model="scripted"))
    kb.add(Document(TEXT, title="Ann Lee"))
    return kb


def test_a_prompt_costs_its_text_its_schema_and_the_reply_that_its_header_declares() -> None:
    facts = prompting.render(
        "sire_rag/facts", title="", before="", boundary="===", paragraphs=[{"number": 1, "text": "word " * 400}]
    )
    expected = planned(facts)
    assert expected.input_tokens == -(-(len(facts.text) + len(json.dumps(facts.schema))) // 4)
    assert expected.output_tokens == 1000
    assert planned(prompting.render("sire_rag/summary", texts=["word " * 4000])).output_tokens == 235
    assert planned(prompting.render("sire_rag/summary", texts=["word " * 40])).output_tokens == 50
    assert planned(Prompt("no/such", "What?")) == Usage(1, 2, 100)


def test_a_reply_in_parts_is_as_long_as_the_parts_that_are_asked_for() -> None:
    asked = {"ontology": "class a", "triples": True, "paragraphs": [{"number": 1, "text": "x" * 400}]}
    lengths = [
        planned(Prompt("poly_rag/facts", "", asked | less)).output_tokens
        for less in ({}, {"ontology": ""}, {"triples": False})
    ]
    assert lengths == [470, 210, 260]


@pytest.mark.parametrize("name", ["og_rag/map", "poly_rag/facts", "sire_rag/facts"])
def test_an_indented_page_is_planned_to_have_no_more_replies_than_the_same_page_as_running_text(name: str) -> None:
    running = "accept_timeout The timeout, in seconds, for a remote client. Default: 60"
    page = "       accept_timeout\n              The timeout, in seconds,\n              for a remote client.\n\n"
    page += "              Default: 60"
    inputs = ({"text": text, "paragraphs": [text], "ontology": "x", "triples": True} for text in (running, page))
    lengths = [planned(Prompt(name, "", each)).output_tokens for each in inputs]
    assert lengths[0] == lengths[1] >= 30
    assert planned(Prompt(name, "", {"text": " ", "paragraphs": [" "]})).output_tokens == 1


@pytest.mark.parametrize(("name", "lengths"), [("obqc/ask", [60, 120, 250]), ("answering/answer", [59, 118, 200])])
def test_a_query_and_an_answer_grow_with_their_question_to_an_end(name: str, lengths: list[int]) -> None:
    questions = ("x" * 40, "x" * 80, "x" * 4000)
    assert [planned(Prompt(name, "", {"question": one})).output_tokens for one in questions] == lengths


def test_a_plan_of_an_answer_asks_nobody_and_counts_what_asking_costs() -> None:
    kb = open_kb()
    expected = kb.planned_cost(QUESTION)
    assert kb.model.inner.prompts == []
    prompt = (kb.ask(QUESTION), kb.model.inner.prompts)[1][0]
    sent = planned(prompt)
    assert expected == replace(sent, input_tokens=round(sent.input_tokens - schema_tokens(prompt) / 2))
    assert kb.planned_cost(QUESTION) == Usage()  # what is kept is free


def test_a_plan_of_a_method_with_an_answer_of_its_own_counts_all_that_it_may_ask(tmp_path: Path) -> None:
    kb = open_kb()
    kb.ingest(small(tmp_path))
    kb.build("cg_rag")
    planning = PlannedModel(kb.model)
    kb.asking(planning).ask("Which soils did the core paper measure?", method="cg_rag")
    assert planning.usage.completions > 1
    assert kb.model.inner.prompts == []


def test_asking_stops_at_a_budget_of_completions_tokens_or_money() -> None:
    kb = open_kb(scripted={"input": 1.0, "output": 1.0})
    for budget in (Budget(0), Budget(tokens=0), Budget(money=0.0, price=kb.price())):
        with pytest.raises(BudgetSpent):
            kb.asking(kb.within(budget)).ask(QUESTION)
    assert not kb.asking(kb.within(Budget(money=1.0, price=kb.price()))).ask(QUESTION).unknown
    with pytest.raises(InvalidSettings, match="needs the price"):
        Budget(money=1.0)


@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        (Budget(1), "3 completions"),
        (Budget(tokens=999), "1,000 tokens"),
        (Budget(money=0.001, price=Price(1.0, 2.0)), "0.0012 of money"),
    ],
)
def test_what_may_cost_more_than_its_budget_is_refused_before_it_is_asked(budget: Budget, cost: str) -> None:
    with pytest.raises(BudgetSpent, match=f"this may cost {cost}, and the budget is .* Nothing was asked"):
        budget.refuse_beyond(Usage(3, 800, 200))
    Budget(3, 1000, 0.0012, Price(1.0, 2.0)).refuse_beyond(Usage(3, 800, 200))


def test_the_command_line_refuses_an_answer_beyond_its_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_kb(tmp_path / "kb"):
        pass
    command = ["--kb", str(tmp_path / "kb"), "ask", QUESTION, "--max-tokens", "50"]
    assert CliRunner().invoke(app, command).exit_code == 0  # rules cost nothing
    monkeypatch.setattr("kgrag.llm.reading_by_rules.is_by_rules", lambda _: False)
    refused = CliRunner().invoke(app, command)
    assert isinstance(refused.exception, BudgetSpent)


def test_a_question_has_a_budget_and_a_plan_of_it_keeps_nothing() -> None:
    kb = open_kb()
    asked = kb.planned_cost(QUESTION, keep=True, budget=Budget(0))
    before = len(kb.store)
    with pytest.raises(BudgetSpent, match="this may cost 1 completions, and the budget is 0"):
        kb.ask(QUESTION, budget=Budget(0))
    assert (kb.model.inner.prompts, asked.completions, len(kb.store)) == ([], 1, before)
    assert not kb.ask(QUESTION, budget=Budget(1)).unknown
    assert not kb.ask(QUESTION, budget=Budget(0)).unknown  # what is kept is free


def test_a_conversation_does_not_ask_the_question_that_it_cannot_pay() -> None:
    kb = open_kb()
    talk = kb.conversation(budget=Budget(2))
    talk.ask(QUESTION)
    asked = len(kb.model.inner.prompts)
    with pytest.raises(BudgetSpent, match="may cost 2 completions, and 1 of the budget of 2 are left. Nothing was"):
        talk.ask("And lentil?")  # the full question, and its answer
    assert (len(kb.model.inner.prompts), len(talk.answers)) == (asked, 1)


def test_a_price_is_that_of_the_longest_name_that_the_model_begins_with() -> None:
    prices = {"gpt": Price(1, 2), "gpt-mini": Price(0.1, 0.2)}
    assert price_of(prices, "gpt-mini-2026") == Price(0.1, 0.2)
    assert price_of(prices, "other") is None
    assert Price(1, 2).of(Usage(1, 1_000_000, 500_000)) == 2.0


def test_prices_are_read_from_the_file_and_written_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kgrag.toml").write_text('[prices]\n"gpt-mini" = { input = 0.15, output = 0.6 }\n')
    settings = Settings()
    assert settings.prices == {"gpt-mini": {"input": 0.15, "output": 0.6}}
    assert as_toml(settings) == 'prices = { "gpt-mini" = { "input" = 0.15, "output" = 0.6 } }\n'


def test_what_was_paid_is_added_up_by_day_method_and_model_and_kept_replies_cost_nothing(tmp_path: Path) -> None:
    with open_kb(tmp_path / "kb") as kb:
        kb.ask(QUESTION, method="passages")
        kb.ask(QUESTION, method="passages")
        report = kb.build("sire_rag")
        rows = {method: usage for _, method, _, usage in kb.costs()}
        assert rows["passages"].completions == 1
        assert rows["sire_rag"] == report.usage
    environment = {"KGRAG_PRICES": json.dumps({"scripted": {"input": 1000, "output": 1000}})}
    shown = CliRunner().invoke(
        app, ["--kb", str(tmp_path / "kb"), "stats", "--cost", "--format", "json"], env=environment
    )
    row = next(row for row in json.loads(shown.output) if row["method"] == "passages")
    assert row["price"] == round((row["input_tokens"] + row["output_tokens"]) / 1000, 6)


def test_a_reply_that_is_not_kept_was_paid_all_the_same() -> None:
    model = CachedModel(ScriptedModel({"sire_rag/rewrite": "I'm sorry, but I can't help."}), method="sire_rag")
    model.complete([prompting.render("sire_rag/rewrite", title="", before="", text=TEXT)])
    assert [(method, usage.completions) for _, method, _, usage in model.costs()] == [("sire_rag", 1)]


def test_the_command_line_plans_an_answer(tmp_path: Path) -> None:
    with open_kb(tmp_path / "kb"):
        pass
    command = ["--kb", str(tmp_path / "kb"), "ask", QUESTION, "--dry-run", "--format", "json"]
    shown = CliRunner().invoke(app, command, env={"KGRAG_PRICES": '{"extractive": {"input": 1, "output": 2}}'})
    found = json.loads(shown.output)
    assert found["completions"] == 1
    assert found["note"] == (
        "replies are taken to be as recorded of other models for answering/answer, nine times in ten within the "
        "interval, which is no bound"
    )
    assert found["price"] == round((found["input_tokens"] + 2 * found["output_tokens"]) / 1e6, 6)
