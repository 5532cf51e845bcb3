"""Plans that learn from what was paid: ratios per prompt, intervals, and where they are shown."""

import json
import random
from pathlib import Path

import pytest

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


def exact(count: int, planned_tokens: int, taken: int, tokens_in: int = 100) -> Lengths:
    """Replies that were all of one length."""
    one = Lengths.of(Usage(1, 100, planned_tokens), Usage(1, tokens_in, taken))
    return sum((one for _ in range(count)), Lengths())


def test_without_paid_replies_the_header_is_the_forecast_with_a_wide_interval() -> None:
    plan = Plan([prompt(100)])
    expected = plan.forecast({})
    tokens = expected.usage.output_tokens
    assert expected.usage == plan.usage
    assert expected.least.output_tokens < 0.6 * tokens < 1.4 * tokens < expected.most.output_tokens
    assert expected.least.input_tokens == expected.most.input_tokens == expected.usage.input_tokens


def test_many_paid_replies_correct_input_and_output_by_their_ratio() -> None:
    pairs = [(words, 3 * planned(prompt(words)).output_tokens) for words in range(80, 280)]
    plan = Plan(prompt(words) for words in (90, 110))
    expected = plan.forecast({PROMPT: lengths(pairs)})
    assert expected.usage.input_tokens == 2 * plan.usage.input_tokens
    assert expected.usage.output_tokens == pytest.approx(3 * plan.usage.output_tokens, rel=0.01)
    assert expected.most.output_tokens < 1.1 * expected.usage.output_tokens  # all had the same ratio


def test_replies_outweigh_their_header_by_how_many_they_are_and_how_much_they_differ() -> None:
    plan = Plan([Prompt(PROMPT, "word", {"paragraphs": ["x" * 400]})])
    declared = plan.usage.output_tokens

    def ratio(known: Lengths) -> float:
        return plan.forecast({PROMPT: known}).usage.output_tokens / declared

    ratios = [ratio(exact(count, 100, 200)) for count in (1, 2, 5, 50)]
    assert ratios == sorted(ratios)
    assert 1.1 < ratios[0] < 1.7 < ratios[2] < ratios[3] <= 2
    apart = [Lengths.of(Usage(1, 100, 100), Usage(1, 100, taken)) for taken in (20, 380, 20, 380, 200)]
    assert 1 < ratio(sum(apart, Lengths())) < ratios[2]


def test_tokens_of_a_service_hold_for_prompts_that_it_was_not_asked_and_the_note_says_what_is_learnt() -> None:
    pairs = [(words, 3 * planned(prompt(words)).output_tokens) for words in (80, 100, 120)]
    other = Prompt("answering/answer", "word " * 100)
    expected = Plan([prompt(100), other]).forecast({PROMPT: lengths(pairs)})
    alone = Plan([other])
    assert alone.forecast({PROMPT: lengths(pairs)}).usage.output_tokens == 2 * alone.usage.output_tokens
    assert "3 paid replies to sire_rag/facts and as recorded of other models for answering/answer" in expected.note


@pytest.mark.parametrize("counts_schemas", [True, False])
def test_a_service_that_counts_no_schemas_is_known_by_the_prompts_that_it_was_paid_for(counts_schemas: bool) -> None:
    schema = {"type": "object", "description": "What a text says of crops. " * 20}
    mapping = Prompt("og_rag/map", "word " * 200, {"text": "word " * 10}, schema=schema)
    other = Prompt("answering/answer", "word " * 100, schema=schema)

    def counted(prompt: Prompt) -> int:
        return (len(prompt.text) + len(json.dumps(prompt.schema)) * counts_schemas) // 4

    cached = CachedModel(ScriptedModel(lambda one: Completion("{}", data={}, usage=Usage(1, counted(one), 40))))
    first = forecast(Plan([mapping]), cached)
    assert first.least.input_tokens - 1 <= counted(mapping) <= first.most.input_tokens + 1
    assert first.usage.input_tokens < planned(mapping).input_tokens
    cached.complete([mapping])
    expected = forecast(Plan([other]), cached).usage
    assert expected.input_tokens == pytest.approx(counted(other), abs=2)
    assert expected.output_tokens == planned(other).output_tokens


@pytest.mark.parametrize("counts_schemas", [True, False])
def test_a_longer_text_of_a_prompt_that_was_paid_for_is_planned_with_one_schema(counts_schemas: bool) -> None:
    schema = {"type": "object", "description": "What a text says of crops. " * 20}
    short, long = (Prompt("og_rag/map", "word " * count, {}, schema=schema) for count in (200, 2000))

    def counted(prompt: Prompt) -> int:
        return (len(prompt.text) + len(json.dumps(prompt.schema)) * counts_schemas) // 4

    cached = CachedModel(ScriptedModel(lambda one: Completion("{}", data={}, usage=Usage(1, counted(one), 40))))
    cached.complete([short])
    expected = forecast(Plan([long]), cached)
    assert expected.usage.input_tokens == pytest.approx(counted(long), rel=0.01)
    assert expected.least.input_tokens < counted(long) < expected.most.input_tokens


def test_a_first_plan_has_a_service_that_counts_a_tenth_more_or_less_in_its_interval() -> None:
    asked = Prompt("og_rag/map", "word " * 2000, {"text": "word " * 1000})
    first = forecast(Plan([asked]), CachedModel(ScriptedModel("{}")))
    assert first.least.input_tokens < 0.9 * planned(asked).input_tokens
    assert first.most.input_tokens > 1.1 * planned(asked).input_tokens


QUERY = Prompt("obqc/ask", "word " * 80, {"question": "x" * 40})


def test_queries_are_repaired_as_often_as_those_of_the_method_were_and_before_that_as_readers_did() -> None:
    plan = Plan([QUERY] * 100)
    first, later = plan.forecast({}, {}), plan.forecast({}, {"obqc/ask": Usage(996)})
    assert first.usage.completions == 100 + 16
    assert later.usage.completions == 100  # four queries with two repairs weigh nothing beside 996 without
    both = {"obqc/ask": Usage(996), "obqc/repair": Usage(1000, 150_000)}
    repaired = plan.forecast({}, both)
    assert repaired.usage.completions == 200
    assert repaired.usage.input_tokens == pytest.approx(plan.usage.input_tokens + 100 * 150, rel=0.01)
    assert "as after 996 queries that were paid for here" in later.note
    assert "as after queries of other models" in first.note


def test_one_question_may_be_repaired_or_not_and_the_interval_has_both() -> None:
    expected = Plan([QUERY]).forecast({}, {})
    assert (expected.least.completions, expected.most.completions) == (1, 2)
    assert expected.least.input_tokens < planned(QUERY).input_tokens < expected.usage.input_tokens
    assert expected.most.input_tokens > planned(QUERY).input_tokens * 2
    none_is = Plan([QUERY]).forecast({}, {"obqc/ask": Usage(9996)})
    assert none_is.least.completions == none_is.most.completions == 1


def test_repairs_are_longer_than_queries_until_repairs_were_paid_for() -> None:
    plan = Plan([QUERY] * 100)
    many = {"obqc/ask": exact(5000, 60, 30)}
    as_others = plan.forecast(many, {})
    assert as_others.usage.output_tokens == pytest.approx(100 * 30 * (1 + 0.16 * 1.25), rel=0.01)
    paid = plan.forecast(many | {"obqc/repair": exact(5000, 75, 30)}, {})
    assert paid.usage.output_tokens == pytest.approx(100 * 30 * 1.16, rel=0.01)


def test_layers_below_a_query_are_asked_and_answers_written_as_often_as_before() -> None:
    names = ("obqc/ask", "poly_rag/sufficient", "answering/answer")
    plan = Plan([Prompt(name, "word " * 80) for name in names for _ in range(50)])
    assert plan.forecast({}, {}).usage.completions == 50 + 20 + 8 + 55 - 1  # 19.5 of 39 in 100
    rows_answer = {"obqc/ask": Usage(996), "answering/answer": Usage(996)}
    assert plan.forecast({}, rows_answer).usage.completions == 50 + 0 + 0 + 50
    text = Usage(5000)
    text_answers = {"obqc/ask": Usage(996), "poly_rag/sufficient": text, "answering/answer": text}
    assert plan.forecast({}, text_answers).usage.completions == 50 + 0 + 50 + 100  # at most one, and two
    assert plan.forecast({}, None).usage.completions == 150  # a model that writes no query


def test_answers_from_rows_have_the_input_that_those_of_the_method_had() -> None:
    names = ("obqc/ask", "poly_rag/sufficient", "answering/answer")
    plan = Plan([Prompt(name, "word " * 80) for name in names])
    paid = {name: Usage(1000, tokens) for name, tokens in zip(names, (100_000, 0, 40_000), strict=True)}
    expected = plan.forecast({}, paid | {"poly_rag/sufficient": Usage()})
    assert expected.usage.input_tokens == pytest.approx(planned(QUERY).input_tokens + 40, abs=2)


def test_what_follows_no_query_is_asked_as_planned() -> None:
    plan = Plan([Prompt("poly_rag/sufficient", "word " * 80), Prompt("answering/answer", "word " * 80)])
    assert plan.forecast({}, {"obqc/ask": Usage(995)}).usage == plan.usage


def test_the_interval_has_nine_of_ten_sums() -> None:
    drawn, inside = random.Random(7), 0
    for _ in range(300):
        sizes = [drawn.randint(40, 200) for _ in range(30)]
        taken = [max(1, round(drawn.gauss(1.6, 0.7) * planned(prompt(size)).output_tokens)) for size in sizes]
        known = {PROMPT: lengths(list(zip(sizes[:12], taken[:12], strict=True)))}
        expected = Plan(prompt(size) for size in sizes[12:]).forecast(known)
        inside += expected.least.output_tokens <= sum(taken[12:]) <= expected.most.output_tokens
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
        declared = planned(prompt(100, 9)).output_tokens
        expected = forecast(Plan([prompt(100, 9)]), again).usage.output_tokens
        counted_as = known[PROMPT].input / known[PROMPT].planned_input
        assert abs(expected - 70) < 0.2 * abs(counted_as * declared - 70)


def test_replies_that_another_header_foretold_count_for_input_and_costs_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "completions.sqlite"
    paying = ScriptedModel(lambda _: Completion('{"facts": []}', usage=Usage(1, 500, 70)))
    with CachedModel(paying, path) as model, monkeypatch.context() as earlier:
        earlier.setattr("kgrag.llm.completion_cache.declaration", lambda _: "of before")
        model.complete([prompt(100, number) for number in range(6)])
    with CachedModel(paying, path) as again:
        known = again.reply_lengths()[PROMPT]
        assert (known.count, known.taken, known.input) == (0, 0, 3000)
        expected = forecast(Plan([prompt(100, 9)]), again)
        assert expected.usage.input_tokens == pytest.approx(500, rel=0.02)
        assert expected.declared == (PROMPT,)
        again.complete([prompt(100, 7)])
        assert again.reply_lengths()[PROMPT].count == 1
        assert again.paid_replies() == {PROMPT: {again.identity: Usage(7, 3500, 490)}}


def test_replies_are_added_up_by_the_method_that_paid_for_them(tmp_path: Path) -> None:
    path = tmp_path / "completions.sqlite"
    inner = ScriptedModel(lambda _: Completion("[]", usage=Usage(1, 10, 70)))
    with CachedModel(inner, path) as model:
        model.around(inner, method="poly_rag").complete([prompt(100, number) for number in range(4)])
        model.around(inner, method="obqc").complete([prompt(100, number) for number in range(2, 5)])  # two are kept
    with CachedModel(inner, path, method="obqc") as again:
        assert again.asked_of_method() == {PROMPT: Usage(1, 10, 70)}
        assert again.around(inner, method="poly_rag").asked_of_method() == {PROMPT: Usage(4, 40, 280)}


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
    widths = [one.most.output_tokens - one.least.output_tokens for one in (before, after)]
    assert widths[0] > 40
    assert abs(after.usage.output_tokens - 180) < 0.3 * (180 - before.usage.output_tokens)


def test_a_wide_estimate_is_shown_as_an_interval_with_its_price() -> None:
    ends = Usage(1, 800, 600), Usage(3, 1200, 1400)
    wide = with_price(Forecast(Usage(2, 1000, 1000), *ends).counts(), (1.0, 2.0), digits=6)
    assert counts_line(wide) == (
        "completions 2 (1 to 3), input_tokens 1,000 (800 to 1,200), output_tokens 1,000 (600 to 1,400), "
        "price 0.003 (0.002 to 0.004)"
    )
    narrow = with_price(
        Forecast(Usage(2, 1000, 1000), Usage(2, 950, 960), Usage(2, 1050, 1040)).counts(), None, digits=6
    )
    assert counts_line(narrow) == "completions 2, input_tokens 1,000, output_tokens 1,000"


def test_a_small_price_has_digits_that_count() -> None:
    small = with_price({"input_tokens": 60, "output_tokens": 9}, (0.15, 0.60), digits=4)
    assert counts_line(small) == "input_tokens 60, output_tokens 9, price 0.000014"


def test_a_planned_build_has_an_interval() -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.add(Document("Rye is sown in May. Oats are sown in April. Rye Hill is in Bath.", title="Rye"))
        for name in ("poly_rag", "sire_rag"):
            counts = kb.build(name, dry_run=True).counts
            assert counts["output_tokens_least"] < counts["output_tokens"] < counts["output_tokens_most"]
