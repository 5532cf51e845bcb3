"""What a dry run plans is what is then sent: requests and input tokens of every build, and of a question to each method."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgrag
from benchmarks.dry_run import BUILDS, CountingModel
from benchmarks.model.handing_on import HandingOn
from kgrag import KnowledgeBase, prompting
from kgrag.llm.costs import planned
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.planned_model import PlannedModel
from kgrag.llm.reply_lengths import Plan
from kgrag.model import Document, Prompt
from kgrag.resources import folder
from kgrag.testing import HashEmbedder

DEMO = Path(kgrag.__file__).parent / "demo" / "texts"
QUESTIONS = ("When is chickpea sown in the Hill Zone?", "What does barley need?", "Which zone is dry?")
PLACES = ("north", "south", "east", "west", "coast", "hills")
TEXTS = [
    f"Ann Lee of the {place} farm sowed barley on {day} March. Bo Ek of the {place} mill bought the barley of Ann Lee. "
    f"The {place} mill was built in 19{day}, and Bo Ek sold flour to Hull and to Bath from there for {day} years."
    for day, place in enumerate(PLACES * 2, start=11)
]


@pytest.fixture(scope="module")
def built() -> Iterator[tuple[KnowledgeBase, CountingModel, dict[str, tuple[dict[str, int], list[Prompt]]]]]:
    """A knowledge base, and of each build what was planned and which prompts were sent."""
    model = CountingModel(ExtractiveModel())
    plans: dict[str, tuple[dict[str, int], list[Prompt]]] = {}
    with KnowledgeBase(model=model, embedder=HashEmbedder()) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(DEMO)
        kb.add_many(Document(text, title=f"Farm {number}") for number, text in enumerate(TEXTS))
        for name in BUILDS:
            revision = kb.store.revision
            counts = dict(kb.build(name, dry_run=True).counts)
            assert kb.store.revision == revision
            before = len(model.prompts)
            kb.build(name)
            plans[name] = counts, model.prompts[before:]
        yield kb, model, plans


@pytest.mark.parametrize("name", ["og_rag", "poly_rag", "cg_rag", "obqc"])
def test_a_planned_build_sends_what_was_planned(built, name: str) -> None:  # type: ignore[no-untyped-def]
    counts, sent = built[2][name]
    assert counts.get("completions", 0) == len(sent)
    assert counts.get("input_tokens", 0) == sum(planned(prompt).input_tokens for prompt in sent)


class _Named(HandingOn):
    """The extractive model under the name of a language model, whose facts no plan knows."""

    identity = "some-model"


def test_a_plan_of_summary_trees_for_a_language_model_says_how_unsure_their_number_is() -> None:
    model = CountingModel(_Named(ExtractiveModel()))
    with KnowledgeBase(model=model, embedder=HashEmbedder()) as kb:
        kb.add_many(Document(f"Mill Nr{n} ground rye in {1800 + n}.", title=f"M{n}") for n in range(40))
        counts = kb.build("sire_rag", dry_run=True).counts
        kb.build("sire_rag")
    assert counts["completions_least"] < counts["completions"] < counts["completions_most"]
    assert counts["facts"] == sum(prompt.name == "sire_rag/facts" for prompt in model.prompts)


def test_text_that_is_divided_among_more_prompts_is_no_more_text() -> None:
    plan = Plan([Prompt("sire_rag/summary", "x" * 4000, {"texts": ["x" * 4000]})] * 4)
    more = plan.divided(1.5, 0.5)
    assert (more.usage.completions, more.usage.input_tokens) == (6, plan.usage.input_tokens)
    assert more.usage.output_tokens == 1.5 * plan.usage.output_tokens
    both = (more + Plan([Prompt("sire_rag/summary", "x", {"texts": ["x"]})])).forecast({})
    assert both.least.completions < both.usage.completions == 7 < both.most.completions


def test_a_plan_of_summary_trees_is_exact_in_facts_and_within_a_tenth_in_all(built) -> None:  # type: ignore[no-untyped-def]
    counts, sent = built[2]["sire_rag"]
    facts = [prompt for prompt in sent if prompt.name == "sire_rag/facts"]
    assert counts["facts"] == len(facts)
    assert counts["input_tokens"] == pytest.approx(sum(planned(prompt).input_tokens for prompt in sent), rel=0.1)
    assert counts["summaries"] >= 1


def test_a_build_that_is_done_is_planned_to_cost_nothing(built) -> None:  # type: ignore[no-untyped-def]
    kb = built[0]
    assert {name: kb.build(name, dry_run=True).counts.get("completions", 0) for name in BUILDS} == dict.fromkeys(
        BUILDS, 0
    )


@pytest.mark.parametrize("method", ["passages", "og_rag", "poly_rag", "sire_rag", "cg_rag", "obqc", "auto"])
def test_a_planned_question_sends_what_was_planned(built, method: str) -> None:  # type: ignore[no-untyped-def]
    kb, model, _ = built
    for question in QUESTIONS:
        plan, before = kb.planned_cost(question, method=method), len(model.prompts)
        kb.ask(question, method=method)
        sent = model.prompts[before:]
        assert plan.completions == len(sent)
        assert plan.input_tokens == sum(planned(prompt).input_tokens for prompt in sent)


def test_the_stand_in_for_a_text_is_words_of_the_prompt_as_long_as_its_reply() -> None:
    text = " ".join(f"word{number}" for number in range(900))
    prompt = prompting.render("sire_rag/summary", texts=[text])
    (reply,) = PlannedModel(ExtractiveModel()).complete([prompt])
    assert not Counter(reply.text.split()) - Counter(text.split())
    assert len(reply.text) == pytest.approx(4 * planned(prompt).output_tokens, rel=0.1)
