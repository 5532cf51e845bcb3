"""Building by the facade: options by keyword, budgets, and what a method cannot do."""

import json
from pathlib import Path

import pytest

from kgrag import Budget, KnowledgeBase
from kgrag.capabilities import Answers, Draws, Trains, capable, having
from kgrag.errors import BudgetSpent, InvalidSettings, StateError
from kgrag.knowledge_base.build_options import read_options
from kgrag.methods.og_rag import OgRagOptions
from kgrag.methods.poly_rag import PolyRagOptions
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel, toy_documents
from kgrag.text import ingestion

REPLIES = {
    "sire_rag/rewrite": lambda prompt: prompt.variables["text"],
    "sire_rag/facts": json.dumps(
        {
            "facts": [
                {"paragraph": 1, "fact": "Soybean is sown in June.", "entities": ["Soybean"]},
                *({"paragraph": number, "fact": "", "entities": []} for number in range(2, 20)),
            ]
        }
    ),
    "sire_rag/summary": "Crops are sown.",
}


def test_options_become_the_dataclass_that_the_method_declares() -> None:
    assert read_options("og_rag:nodes=5", {"mapped": "folder"}) == OgRagOptions(mapped=Path("folder"))
    assert read_options("poly_rag", {"schema": "a.ttl"}) == PolyRagOptions(schema=(Path("a.ttl"),))
    assert read_options("poly_rag", {"schema": ["a.ttl", Path("b.ttl")]}).schema == (Path("a.ttl"), Path("b.ttl"))


def test_an_option_that_the_method_does_not_have_is_refused_with_those_that_it_has(kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidSettings, match=r"'maped'. Did you mean 'mapped'\? Known: as_published, mapped"):
        kb.build("og_rag", maped="x")
    with pytest.raises(InvalidSettings, match="'passages' has no build option 'mapped'. It has none"):
        kb.build("passages", mapped="x")


def test_an_option_of_the_wrong_type_is_refused_by_name_and_value(kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidSettings, match=r"og_rag.*as_published='perhaps'"):
        kb.build("og_rag", as_published="perhaps")


@pytest.fixture
def scripted() -> KnowledgeBase:
    kb = KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=ScriptedModel(REPLIES))
    ingestion.ingest(toy_documents(), store=kb.store, chunk_tokens=30)
    return kb


def test_a_build_stops_at_its_budget_and_the_next_one_pays_for_the_rest_alone(scripted: KnowledgeBase) -> None:
    wanted = scripted.build("sire_rag", dry_run=True).counts["completions"]
    with pytest.raises(BudgetSpent, match="2 completions"):
        scripted.build("sire_rag", budget=Budget(completions=2))
    model = scripted.model.inner
    assert len(model.prompts) == 2
    scripted.build("sire_rag")
    assert len({prompt.text for prompt in model.prompts}) == len(model.prompts) <= wanted


def test_a_budget_of_tokens_is_overdrawn_by_one_handful_of_prompts_at_most(scripted: KnowledgeBase) -> None:
    with pytest.raises(BudgetSpent):
        scripted.build("sire_rag:rewrite=true", budget=Budget(tokens=1))
    assert len(scripted.model.inner.prompts) <= 16


def test_a_budget_that_suffices_changes_nothing(scripted: KnowledgeBase) -> None:
    report = scripted.build("sire_rag", budget=Budget(completions=1000, tokens=10**6))
    assert report.counts["extracted"] == len(scripted.query("SELECT ?c { ?c a kg:Chunk }"))


def test_a_dry_run_of_sire_rag_counts_rewrites_and_facts_exactly_and_nothing_is_left_after_a_build(
    scripted: KnowledgeBase,
) -> None:
    chunks = len(scripted.query("SELECT ?c { ?c a kg:Chunk }"))
    counts = scripted.build("sire_rag:rewrite=true", dry_run=True).counts
    assert (counts["rewrites"], counts["facts"]) == (chunks, chunks)
    counts = scripted.build("sire_rag", dry_run=True).counts
    assert counts["rewrites"] == 0
    scripted.build("sire_rag")
    asked = [prompt.name for prompt in scripted.model.inner.prompts]
    assert counts["facts"] == asked.count("sire_rag/facts") <= chunks
    assert scripted.build("sire_rag", dry_run=True).counts["completions"] == 0


def test_a_capability_that_a_method_lacks_is_refused_with_the_methods_that_have_it(kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidSettings, match=r"'passages' does not offer recipe, train, trained_on.*: cg_rag\."):
        kb.train("passages", "questions.jsonl")
    assert capable(kb.method("cg_rag"), Draws, "cg_rag").picture
    assert having(Answers) == ["auto", "cg_rag", "obqc", "og_rag", "poly_rag"]
    assert having(Trains) == ["cg_rag"]


def test_a_closed_knowledge_base_answers_nothing(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "rye.md").write_text("# Rye\n\nRye is sown in October.\n", encoding="utf-8")
    kb.ingest(tmp_path / "rye.md")
    method = kb.method("passages")
    assert method is kb.method("passages")
    kb.close()
    for use in (
        lambda: kb.retrieve("rye"),
        lambda: kb.method("passages"),
        lambda: kb.store,
        kb.stats,
        lambda: kb.ingest(tmp_path),
    ):
        with pytest.raises(StateError, match="closed"):
            use()
