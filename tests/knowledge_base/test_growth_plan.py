"""A plan of more documents: by what is stored, and no figure for what was not measured."""

import json
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import CliRunner

from kgrag import Document, KnowledgeBase
from kgrag.cli import app
from kgrag.errors import InputError
from kgrag.knowledge_base.growth_plan import GrowthPlan, PlannedAmount
from kgrag.llm.completion_cache import CachedModel
from kgrag.model import Prompt
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel


def facts(prompt: Prompt) -> str:
    """Reply with one triple for each paragraph that was asked about."""
    numbers = [paragraph["number"] for paragraph in prompt.variables["paragraphs"]]
    triples = [
        {"paragraph": number, "subject": f"pump {number}", "relation": "seen in", "object": "hall"}
        for number in numbers
    ]
    return json.dumps({"things": [], "triples": triples})


REPLIES = {"poly_rag/facts": facts}


class Other(ScriptedModel):
    """A model of another identity."""

    identity = "other"


def filled(path: Path | None = None, *, count: int = 20) -> KnowledgeBase:
    prices = {"scripted": {"input": 1.0, "output": 2.0}}
    settings = Settings(prices=prices, model="scripted")
    kb = KnowledgeBase(path, model=ScriptedModel(REPLIES), embedder=HashEmbedder(), settings=settings)
    kb.add_many(Document(f"Pump {number} was seen in hall {number}.", id=str(number)) for number in range(count))
    return kb


def amount(plan: GrowthPlan, part: str, quantity: str) -> PlannedAmount:
    return next(one for one in plan.amounts if (one.part, one.quantity) == (part, quantity))


def test_parts_make_up_the_store_and_what_people_loaded_stays_as_it_is(tmp_path: Path) -> None:
    kb = filled()
    (tmp_path / "halls.ttl").write_text("<urn:Hall> a <http://www.w3.org/2002/07/owl#Class> .", encoding="utf-8")
    kb.load(tmp_path / "halls.ttl")
    kb.build("cg_rag")
    plan = kb.plan(documents=200)
    everything = amount(plan, "all", "quads")
    parts = [one for one in plan.amounts if one.quantity == "quads" and one is not everything]
    assert everything.measured == len(kb.store) == sum(one.measured or 0 for one in parts)
    assert everything.planned == sum(one.planned or 0 for one in parts)
    assert amount(plan, "documents", "vectors") == PlannedAmount("documents", "vectors", 20, 200)
    kept = amount(plan, "kept as it is", "quads")
    assert kept.planned == kept.measured
    assert amount(plan, "og_rag", "quads").planned is None


def test_what_was_not_measured_has_no_figure() -> None:
    kb = filled(count=19)
    (only,) = kb.plan(documents=1_000).amounts
    assert only.planned is None
    assert "19 documents are too few" in only.note
    kb.build("cg_rag")
    kb.add(Document("One more pump. " * 200, id="one more"))
    plan = kb.plan(documents=2_000)
    assert 0.1 < plan.spread < 1
    assert "documents came after what it wrote last" in amount(plan, "cg_rag", "quads").note
    assert "0 texts" in amount(plan, "all", "embedding_seconds").note
    assert "in memory" in amount(plan, "disk", "all").note
    with pytest.raises(InputError, match="one document or more"):
        kb.plan(documents=0)


def test_a_size_that_was_never_measured_is_marked_and_nothing_is_promised() -> None:
    kb = filled()
    plans = [kb.plan(documents=documents) for documents in (2_000, 2_001, 1_000_000, 1_000_001)]
    assert [bool(plan.caution) for plan in plans] == [False, True, True, True]
    assert "measured" in plans[0].design
    assert "never measured" in plans[2].design
    assert "Nothing is promised" in plans[3].design


def test_completions_are_those_that_a_build_paid_by_this_model_and_no_others() -> None:
    kb = filled()
    assert kb.build("poly_rag").pending == ()
    model = kb.model
    assert isinstance(model, CachedModel)
    assert isinstance(model.inner, ScriptedModel)
    asked = len(model.inner.prompts)
    assert asked
    model.around(ScriptedModel({"answering/answer": "In hall 3."})).complete([Prompt("answering/answer", "Where?")])
    plan = kb.plan(documents=40)
    planned = amount(plan, "poly_rag", "completions")
    assert (planned.measured, planned.planned) == (asked, 2 * asked)
    tokens = [amount(plan, "poly_rag", f"{way}_tokens").planned or 0 for way in ("input", "output")]
    assert amount(plan, "poly_rag", "price").planned == pytest.approx((tokens[0] + 2 * tokens[1]) / 1e6)
    other = kb.asking(model.around(Other(REPLIES)))
    assert "the model is other" in amount(other.plan(documents=40), "poly_rag", "completions").note


def test_the_command_prints_every_amount_or_one_json_document(tmp_path: Path) -> None:
    filled(tmp_path / "kb").close()
    arguments = ["plan", "--documents", "1000", "--kb", str(tmp_path / "kb")]
    text = CliRunner().invoke(app, arguments).output
    assert "1,000 documents, by 20 that are here" in text
    assert "off by 0%" in text  # every one of them is as large as the others
    assert "not built here" in text
    plan = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)
    sizes = {one["quantity"]: one["planned"] for one in plan["amounts"] if one["part"] == "disk"}
    assert sizes["store"] > 0
    assert sizes["all"] == sum(size for name, size in sizes.items() if name != "all")


def test_what_is_kept_on_servers_is_no_figure_and_no_part_of_the_sum(tmp_path: Path) -> None:
    with filled(tmp_path / "kb") as kb:
        whole = amount(kb.plan(documents=100), "disk", "all")
        servers = {"store": "http://127.0.0.1:9", "index": SecretStr("postgresql://127.0.0.1:9/kb")}
        kb.__dict__["settings"] = kb.settings.model_copy(update=servers)
        plan = kb.plan(documents=100)
    for name in ("store", "vectors"):
        assert (amount(plan, "disk", name).planned, "not measured" in amount(plan, "disk", name).note) == (None, True)
    rest = amount(plan, "disk", "all")
    assert ((rest.planned or 0) < (whole.planned or 0), rest.note) == (True, "without store, vectors")
