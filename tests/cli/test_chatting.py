"""kgrag chat: piped questions, the full question where it differs, and sessions that are continued."""

import io
import json

import pytest

from kgrag.vocab import Names
from tests.conftest import DEMO
from tests.knowledge_base.test_conversations import TEN_TURNS, TEXTS, Legumes
from tests.test_cli import run  # noqa: F401 - a fixture

QUESTIONS = "When is chickpea sown in the Hill Zone?\n\nAnd lentil?\nexit\nNever asked?\n"


def _say(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_piped_questions_are_a_conversation_that_goes_on_under_its_name(run, monkeypatch) -> None:  # noqa: F811
    run("ingest", str(DEMO / "texts"))
    _say(monkeypatch, QUESTIONS)
    code, out, err = run("chat", "--session", "visit", "--method", "passages")
    assert code == 0, err
    assert out.count("asked as: When is lentil sown in the Hill Zone?") == 1
    assert out.count("asked as:") == 1
    assert "Never" not in out + err
    _say(monkeypatch, "What about the Coastal Zone?\n")
    code, out, err = run("chat", "--session", "visit", "--format", "json")
    answer = json.loads(out)
    assert (answer["asked"], answer["question"], answer["turn"]) == (
        "What about the Coastal Zone?",
        "When is lentil sown in the Coastal Zone?",
        3,
    )
    assert "continuing “visit” after 2 turns" in err
    code, out, _ = run("chat", "--list", "--format", "json")
    assert [(one["name"], one["turns"]) for one in json.loads(out)] == [("visit", 3)]
    assert Names().conversation("visit").value in run("query", "SELECT ?c WHERE { ?c a kg:Conversation }")[1]


def test_ten_turns_are_resolved_and_kept(run, monkeypatch, tmp_path) -> None:  # noqa: F811
    monkeypatch.setattr("kgrag.knowledge_base.KnowledgeBase._configured_embedder", lambda _: Legumes())
    for name, text in TEXTS.items():
        (tmp_path / f"{name}.txt").write_text(text)
    run("ingest", *(f"{name}.txt" for name in TEXTS))
    _say(monkeypatch, "\n".join(message for message, _ in TEN_TURNS))
    code, out, err = run("chat", "--session", "visit", "--format", "json")
    assert code == 0, err
    answers = [json.loads(line) for line in out.splitlines()]
    assert [(one["turn"], one.get("asked", ""), one["question"]) for one in answers] == [
        (turn, message if full else "", full or message) for turn, (message, full) in enumerate(TEN_TURNS, start=1)
    ]
    assert "October" in answers[2]["text"]
    assert "4 m" in answers[8]["text"]


def test_a_turn_has_the_short_answer_that_ask_has(run, monkeypatch) -> None:  # noqa: F811
    run("ingest", str(DEMO / "texts"))
    question = "When was the irrigation canal of the valley dug?"
    short = run("ask", question, "--method", "passages")[1].splitlines()[0]
    _say(monkeypatch, f"{question}\n")
    code, out, _ = run("chat", "--method", "passages")
    assert (code, short.startswith("between 1908 and 1913"), out.splitlines().count(short)) == (0, True, 1)


def test_a_follow_up_that_is_not_resolved_says_so(run, monkeypatch) -> None:  # noqa: F811
    run("ingest", str(DEMO / "texts"))
    _say(monkeypatch, "When is chickpea sown in the Hill Zone?\nWhat did she say?\n")
    code, out, _ = run("chat")
    assert code == 0
    assert "note: what “she” means could not be found in the conversation." in out


def test_a_question_that_fails_leaves_the_others_and_has_its_exit_code(run, monkeypatch) -> None:  # noqa: F811
    run("ingest", str(DEMO / "texts"))
    _say(monkeypatch, "When is chickpea sown?\n")
    code, _, err = run("chat", "--method", "nothing")
    assert code == 2
    assert "UnknownName" in err
    assert run("chat", "--list")[0] == 0


def test_questions_beyond_the_budget_are_not_asked(run, monkeypatch) -> None:  # noqa: F811
    run("ingest", str(DEMO / "texts"))
    monkeypatch.setattr("kgrag.llm.reading_by_rules.is_by_rules", lambda _: False)
    _say(monkeypatch, QUESTIONS)
    code, out, err = run("chat", "--max-tokens", "50")
    assert (code, out.strip(), err.count("and the budget is 50. Nothing was asked of the model.")) == (4, "", 2)
