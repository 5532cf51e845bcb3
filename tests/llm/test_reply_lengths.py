"""Plans that learn from what was paid: ratios per prompt, intervals, and where they are shown."""

import json
import random
from pathlib import Path

from kgrag import KnowledgeBase
from kgrag.cli.printing import counts_line, with_price
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.costs import planned
from kgrag.llm.reply_lengths import Forecast, Lengths, Plan, forecast
from kgrag.model import Completion, Document, Prompt, Usage
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

PROMPT = "sire_rag/facts"


def prompt(words: int, number: int = 0) -> Prompt:
    return Prompt(PROMPT, f"{number} " + "word " * words, {"paragraphs": [{"text": "word " * words}]})


def lengths(pairs: list[tuple[int, int]]) -> Lengths:
    plans = (planned(prompt(words)) for words, _ in pairs)
    return sum(
        (
            Lengths.of(plan, Usage(1, 2 * plan.input_tokens, taken))
            for plan, (_, taken) in zip(plans, pairs, strict=True)
        ),
        Lengths(),
    )


def test_without_paid_replies_the_header_is_the_forecast_with_a_wide_interval() -> None:
    plan = Plan([prompt(100)])
    expected = plan.forecast({})
    assert expected.usage == plan.usage
    assert expected.least < 0.6 * expected.usage.output_tokens < 1.4 * expected.usage.output_tokens < expected.most


def test_paid_replies_correct_input_and_output_by_their_ratio() -> None:
    pairs = [(words, 3 * planned(prompt(words)).output_tokens) for words in (80, 100, 120, 140, 160, 180)]
    plan = Plan(prompt(words) for words in (90, 110))
    expected = plan.forecast({PROMPT: lengths(pairs)})
    assert expected.usage.input_tokens == 2 * plan.usage.input_tokens
    assert expected.usage.output_tokens == 3 * plan.usage.output_tokens
    assert expected.least == expected.most == expected.usage.output_tokens  # all had the same ratio


def test_tokens_of_a_service_hold_for_prompts_that_it_was_not_asked_and_the_note_says_what_is_learnt() -> None:
    pairs = [(words, 3 * planned(prompt(words)).output_tokens) for words in (80, 100, 120)]
    other = Prompt("answering/answer", "word " * 100)
    expected = Plan([prompt(100), other]).forecast({PROMPT: lengths(pairs)})
    alone = Plan([other])
    assert alone.forecast({PROMPT: lengths(pairs)}).usage.output_tokens == 2 * alone.usage.output_tokens
    assert "3 paid replies to sire_rag/facts and as recorded of other models for answering/answer" in expected.note


def test_queries_are_repaired_as_often_as_those_of_the_method_were_and_before_that_as_readers_did() -> None:
    def paid(count: int, output: int) -> Lengths:
        return sum((Lengths.of(Usage(1, 100, 50), Usage(1, 100, output)) for _ in range(count)), Lengths())

    plan = Plan([Prompt("obqc/ask", "word " * 80)] * 90)
    known = {"obqc/ask": paid(8, 50), "obqc/repair": paid(6, 70)}
    first = plan.forecast(known, {})
    assert (first.usage.completions, first.usage.output_tokens) == (90 + 43, plan.usage.output_tokens + 43 * 70)
    assert first.usage.input_tokens == plan.usage.input_tokens + 43 * 100
    later = plan.forecast(known, {"obqc/ask": 995})
    assert later.usage.completions == 90  # five queries with two repairs weigh nothing beside 995 without
    assert plan.forecast(known, {"obqc/ask": 995, "obqc/repair": 995}).usage.completions == 180
    assert first.most - first.usage.output_tokens > 3 * (later.most - later.usage.output_tokens)


def test_repairs_are_taken_to_be_as_long_for_their_header_as_queries_until_enough_were_paid_for() -> None:
    queries = sum((Lengths.of(Usage(1, 100, 50), Usage(1, 100, 25)) for _ in range(8)), Lengths())
    plan = Plan([Prompt("obqc/ask", "word " * 80)] * 90)
    half, declared = plan.forecast({"obqc/ask": queries}, {}), plan.forecast({}, {})
    assert half.usage.output_tokens == round(declared.usage.output_tokens / 2)
    assert half.declared == ()
    assert declared.declared == ("obqc/ask", "obqc/repair")


def test_layers_below_a_query_are_asked_and_answers_written_as_often_as_before() -> None:
    names = ("obqc/ask", "poly_rag/sufficient", "answering/answer")
    plan = Plan([Prompt(name, "word " * 80) for name in names for _ in range(50)])
    assert plan.forecast({}, {}).usage.completions == 50 + 24 + 8 + 55
    rows_answer = {"obqc/ask": 995, "answering/answer": 995}
    assert plan.forecast({}, rows_answer).usage.completions == 50 + 0 + 0 + 50
    text_answers = {"obqc/ask": 995, "poly_rag/sufficient": 5000, "answering/answer": 5000}
    assert plan.forecast({}, text_answers).usage.completions == 50 + 0 + 50 + 100  # at most one, and two
    assert plan.forecast({}, None).usage.completions == 150  # a model that writes no query


def test_what_follows_no_query_is_asked_as_planned() -> None:
    plan = Plan([Prompt("poly_rag/sufficient", "word " * 80), Prompt("answering/answer", "word " * 80)])
    assert plan.forecast({}, {"obqc/ask": 995}).usage == plan.usage


def test_two_replies_are_too_few_to_learn_from() -> None:
    known = {PROMPT: lengths([(100, 900)] * 2)}
    assert Plan([prompt(100)]).forecast(known).usage == Plan([prompt(100)]).usage


def test_the_interval_has_nine_of_ten_sums() -> None:
    drawn, inside = random.Random(7), 0
    for _ in range(300):
        sizes = [drawn.randint(40, 200) for _ in range(30)]
        taken = [max(1, round(drawn.gauss(0.8, 0.35) * planned(prompt(size)).output_tokens)) for size in sizes]
        known = {PROMPT: lengths(list(zip(sizes[:12], taken[:12], strict=True)))}
        expected = Plan(prompt(size) for size in sizes[12:]).forecast(known)
        inside += expected.least <= sum(taken[12:]) <= expected.most
    assert 0.84 <= inside / 300 <= 0.97


def test_a_model_remembers_what_it_was_paid_for_by_prompt_and_across_runs(tmp_path: Path) -> None:
    def reply(asked: Prompt) -> Completion:
        return Completion('{"facts": []}', usage=Usage(1, 10, 70))

    path = tmp_path / "completions.sqlite"
    with CachedModel(ScriptedModel(reply), path) as model:
        model.complete([prompt(100, number) for number in range(6)])
        model.complete([prompt(100, number) for number in range(6)])  # kept, and so not paid again
    with CachedModel(ScriptedModel(reply), path) as again:
        known = again.reply_lengths()
        assert (known[PROMPT].count, known[PROMPT].taken) == (6, 420)
        assert forecast(Plan([prompt(100, 9)]), again).usage.output_tokens == 70


def test_replies_are_counted_by_the_method_that_paid_for_them(tmp_path: Path) -> None:
    path = tmp_path / "completions.sqlite"
    inner = ScriptedModel(lambda _: Completion("[]", usage=Usage(1, 10, 70)))
    with CachedModel(inner, path) as model:
        model.around(inner, method="poly_rag").complete([prompt(100, number) for number in range(4)])
        model.around(inner, method="obqc").complete([prompt(100, number) for number in range(2, 5)])  # two are kept
    with CachedModel(inner, path, method="obqc") as again:
        assert again.reply_counts() == {PROMPT: 1}
        assert again.around(inner, method="poly_rag").reply_counts() == {PROMPT: 4}


def test_a_cut_reply_is_no_length_of_a_reply() -> None:
    model = CachedModel(ScriptedModel(lambda _: Completion("{", finish="length", usage=Usage(1, 10, 4096))))
    model.complete([prompt(100)])
    assert model.reply_lengths() == {}


def test_what_was_asked_before_forecasts_what_is_asked_next() -> None:
    said = json.dumps({"unknown": False, "sentences": [{"text": "x" * 700, "citations": []}]})
    model = ScriptedModel({"answering/answer": lambda _: Completion(said, usage=Usage(1, 900, 180))})
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        kb.add(Document("Rye is sown in May. Oats are sown in April."))
        before = kb.forecast("When is barley sown?", method="passages")
        for crop in ("rye", "oats", "wheat", "maize", "rice"):
            kb.ask(f"When is {crop} sown?", method="passages")
        after = kb.forecast("When is barley sown?", method="passages")
    assert before.most - before.least > 60
    assert after.usage.output_tokens == after.least == after.most == 180


def test_a_wide_estimate_is_shown_as_an_interval_with_its_price() -> None:
    wide = with_price(Forecast(Usage(2, 1000, 1000), 600, 1400).counts(), (1.0, 2.0), digits=6)
    assert counts_line(wide) == (
        "completions 2, input_tokens 1,000, output_tokens 600 to 1,400, price 0.0022 to 0.0038"
    )
    narrow = with_price(Forecast(Usage(2, 1000, 1000), 960, 1040).counts(), None, digits=6)
    assert counts_line(narrow) == "completions 2, input_tokens 1,000, output_tokens 1,000"


def test_a_planned_build_has_an_interval() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.add(Document("Rye is sown in May. Oats are sown in April. Rye Hill is in Bath.", title="Rye"))
        for name in ("poly_rag", "sire_rag"):
            counts = kb.build(name, dry_run=True).counts
            assert counts["output_tokens_least"] < counts["output_tokens"] < counts["output_tokens_most"]
