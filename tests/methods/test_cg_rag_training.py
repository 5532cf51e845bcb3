"""The graph encoder of CG-RAG: how it begins, what it learns, how it is kept, and what it must not see.

PyTorch Geometric is imported in tests: every worker imports this file, and one of them runs it.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from kgrag import KnowledgeBase, queries
from kgrag.answering.labelled_questions import Labelled
from kgrag.errors import InputError, InvalidSettings, NotBuilt
from kgrag.evaluation import read_dataset
from kgrag.evaluation.experiments import run
from kgrag.methods.cg_rag import training
from kgrag.methods.cg_rag.citation_arrays import QuestionView, Subgraph
from kgrag.methods.cg_rag.training_examples import TrainingExample, TrainingRecipe
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

CROPS = [f"{first}{second}" for first in ("bar", "len", "oat", "rye", "pea") for second in ("ley", "til", "mix", "zon")]
QUICK = {"epochs": 10, "hidden": 16, "patience": 10, "batch": 2, "rate": 1e-2}


@pytest.fixture(autouse=True)
def _one_thread():
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def corpus(folder: Path) -> Path:
    """Methods that are never named in their own papers, and papers that name them.

    The former cite the latter, so that votes of those that cite are for the wrong ones, and there is much to learn.
    """
    records: list[dict[str, object]] = []
    for number, crop in enumerate(CROPS):
        method = {"id": f"m{number}", "title": "A method", "text": f"We propose rule {number} for fields. It holds."}
        records.append({**method, "cites": [f"u{number}"]})
        records.append({"id": f"u{number}", "title": "A use", "text": f"The {crop} method of others was used."})
    return _lines(folder / "corpus.jsonl", records)


def questions(folder: Path, name: str, crops: list[str]) -> Path:
    asked = [
        {"id": crop, "question": f"Who made the {crop} method?", "supporting": [f"m{CROPS.index(crop)}"]}
        for crop in crops
    ]
    return _lines(folder / name, asked)


@pytest.fixture
def built(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    kb.ingest(corpus(tmp_path))
    kb.build("cg_rag")
    return kb


def seen(nodes: int, seed: int = 0, edges: int = 0) -> QuestionView:
    draw = np.random.default_rng(seed)
    dense = np.abs(draw.normal(size=(nodes, 8))).astype(np.float32)
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    ends = draw.integers(nodes, size=(2, edges))
    graph = Subgraph(
        np.arange(nodes), ends[0], ends[1], draw.integers(6, size=edges).astype(np.int8), np.ones(edges, np.float32)
    )
    return QuestionView(graph, draw.uniform(0.1, 1, size=nodes).astype(np.float32), dense, dense[0])


@pytest.mark.parametrize("kind", ["transformer", "gat", "gcn"])
@pytest.mark.parametrize("hidden", [4, 8, 32])
def test_before_training_a_chunk_without_neighbours_keeps_the_product_of_proposition_4_1(
    kind: str, hidden: int
) -> None:
    import torch

    from kgrag.methods.cg_rag import encoder

    view = seen(5)
    basis = torch.linalg.qr(torch.randn(8, min(hidden, 8), generator=torch.Generator().manual_seed(0)))[0].T
    architecture = encoder.EncoderArchitecture(8, hidden=hidden, kind=kind)
    scores = encoder.scores(encoder.GraphEncoder(architecture, basis.contiguous()), view)
    assert np.allclose(scores, view.gates * (view.dense @ view.question), atol=1e-5)


def _examples(count: int, first: int = 0) -> list[TrainingExample]:
    """The right node is the one that node 0, which matches best, is cited by."""
    found = []
    for seed in range(first, first + count):
        view = seen(6, seed)
        gates = np.full(6, 0.1, np.float32)
        gates[0] = 1
        target = 1 + seed % 5
        graph = Subgraph(
            np.arange(6), np.array([0]), np.array([target]), np.array([4], np.int8), np.ones(1, np.float32)
        )
        found.append(
            TrainingExample(QuestionView(graph, gates, view.dense, view.question), np.arange(6) == target, np.arange(6))
        )
    return found


def test_training_learns_that_what_is_cited_is_meant_and_repeats_itself() -> None:
    recipe = TrainingRecipe(hidden=8, epochs=6, rate=5e-3, patience=6)
    from kgrag.methods.cg_rag import encoder

    first, second = (encoder.fit(_examples(48), _examples(12, first=100), recipe) for _ in range(2))
    assert first.figures[0] < 0.85
    assert max(first.figures) > 0.95
    assert first.figures == second.figures


@pytest.mark.parametrize("kind", ["gat", "gcn"])
def test_other_encoders_train_too(kind: str) -> None:
    from kgrag.methods.cg_rag import encoder

    fitted = encoder.fit(
        _examples(16), _examples(8, first=50), TrainingRecipe(hidden=8, epochs=2, kind=kind, rate=5e-3)
    )
    assert max(fitted.figures) >= fitted.figures[0]


def test_a_trained_encoder_is_kept_recorded_and_used(built: KnowledgeBase, tmp_path: Path) -> None:
    report = built.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
    assert report.counts["reached"] == 16
    assert report.counts["learned"] + report.counts["held_out"] == 16
    assert built.stats("cg_rag")["encoder"] == "trained"
    (record,) = [
        row
        for row in built.store.select(
            "SELECT ?label ?parameters WHERE { GRAPH ?g { ?a <http://www.w3.org/2000/01/rdf-schema#label> ?label ; "
            "<https://w3id.org/kgrag/ns#parameters> ?parameters } } ORDER BY ?a"
        ).values()
        if row[0] == "Train a graph encoder"
    ]
    told = json.loads(record[1])
    assert told["recipe"]["seed"] == 0
    assert len(told["sha256"]) == 64
    assert max(told["figures"]) > told["figures"][0]


def test_it_finds_papers_of_questions_that_it_has_not_seen(built: KnowledgeBase, tmp_path: Path) -> None:
    before = built.retrieve(f"Who made the {CROPS[18]} method?", method="cg_rag", k=1)[0].attributes["title"]
    built.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
    hits = built.retrieve(f"Who made the {CROPS[18]} method?", method="cg_rag", k=1)
    assert before == "A use"
    assert hits[0].text.startswith("We propose rule 18 ")


def test_weights_are_kept_with_the_knowledge_base(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(corpus(tmp_path))
        kb.build("cg_rag")
        kb.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
        expected = kb.retrieve("Who made the peazon method?", method="cg_rag:encoder=trained", k=3)
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder(), read_only=True) as kb:
        assert kb.retrieve("Who made the peazon method?", method="cg_rag:encoder=trained", k=3) == expected


@pytest.mark.parametrize(("change", "state"), [("flip", "damaged"), ("cut", "damaged"), ("delete", "lost")])
def test_a_trained_encoder_that_is_not_the_recorded_one_is_named_with_the_way_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: str, state: str
) -> None:
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(corpus(tmp_path))
        kb.build("cg_rag")
        kb.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
    (path,) = (tmp_path / "k.kb" / "models").iterdir()
    data = path.read_bytes()
    path.write_bytes({"flip": data[:-3] + b"abc", "cut": data[:-300], "delete": b""}[change])
    if change == "delete":
        path.unlink()
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.retrieve("Who?", method="cg_rag")
        assert f"{path.name} is {state}. Put the file back from a backup" in caplog.text
        assert [finding.check for finding in kb.doctor(repair=True) if finding.fault and not finding.mended] == [
            "files"
        ]
        assert kb.stats("cg_rag")["encoder"] == "untrained"
        with pytest.raises(NotBuilt, match="kgrag train cg_rag"):
            kb.retrieve("Who?", method="cg_rag:encoder=trained")
        path.write_bytes(data)
        assert kb.stats("cg_rag")["encoder"] == "trained"
        path.rename(path.with_name("cg_rag.pt"))  # as versions of before named it
        assert kb.stats("cg_rag")["encoder"] == "trained"


def test_a_training_that_is_killed_before_its_record_leaves_the_encoder_of_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(corpus(tmp_path))
        kb.build("cg_rag")
        kb.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
        expected = kb.retrieve("Who made the peazon method?", method="cg_rag:encoder=trained", k=3)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Path, "replace", _killed)
            kb.train("cg_rag", questions(tmp_path, "r.jsonl", CROPS[:12]), **QUICK, seed=1)
    with KnowledgeBase(tmp_path / "k.kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        assert kb.retrieve("Who made the peazon method?", method="cg_rag:encoder=trained", k=3) == expected
        assert [finding for finding in kb.doctor() if finding.fault] == []
        trainings = queries.bind("cg_rag/trainings", provenance=kb.store.names.provenance)
        assert len(kb.store.select(trainings).rows) == 1


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_an_encoder_of_another_embedder_is_not_used(built: KnowledgeBase, tmp_path: Path) -> None:
    built.train("cg_rag", questions(tmp_path, "q.jsonl", CROPS[:16]), **QUICK)
    assert training.EncoderFile(built.store, None, built.embedder.identity).load() is not None
    assert training.EncoderFile(built.store, None, "another").load() is None


def test_what_is_no_encoder_is_not_read() -> None:
    from kgrag.methods.cg_rag import encoder

    assert encoder.restored(b"nothing") is None
    assert encoder.restored(b"\x80\x02cos\nsystem\n(S'x'\ntR.") is None


def test_a_question_that_is_measured_on_is_not_learned_from(built: KnowledgeBase, tmp_path: Path) -> None:
    learned = questions(tmp_path, "q.jsonl", CROPS[:16])
    held_out = _lines(
        tmp_path / "h.jsonl", [{"id": "x", "question": f"who made the {CROPS[3]}  METHOD", "supporting": ["m3"]}]
    )
    with pytest.raises(InvalidSettings, match="1 of the questions are also among those to be measured on"):
        built.train("cg_rag", learned, held_out=[held_out])


def test_measuring_on_questions_that_were_learned_from_is_refused(built: KnowledgeBase, tmp_path: Path) -> None:
    learned = questions(tmp_path, "q.jsonl", CROPS[:16])
    built.train("cg_rag", learned, **QUICK)
    with pytest.raises(InputError, match=r"was trained on 16 of these questions"):
        run(built, read_dataset(learned), ["cg_rag"])
    fresh = read_dataset(questions(tmp_path, "new.jsonl", CROPS[16:]))
    assert run(built, fresh, ["cg_rag"])
    assert run(built, read_dataset(learned), ["cg_rag:encoder=untrained"])


def test_questions_that_reach_nothing_are_not_enough(built: KnowledgeBase) -> None:
    asked = [Labelled(f"question {n}", frozenset({"no such paper"})) for n in range(20)]
    with pytest.raises(InvalidSettings, match="0 of 20 questions reach a document"):
        built.method("cg_rag").train(asked)


def test_a_method_without_training_says_so(built: KnowledgeBase, tmp_path: Path) -> None:
    path = questions(tmp_path, "q.jsonl", CROPS[:4])
    with pytest.raises(InvalidSettings, match="does not offer.*train"):
        built.train("passages", path)
    with pytest.raises(InvalidSettings, match="no training option 'epoch'"):
        built.train("cg_rag", path, epoch=3)


@pytest.mark.parametrize("wrong", [{"hidden": 6}, {"epochs": 0}, {"share": 0.0}, {"kind": "mlp"}])
def test_a_recipe_out_of_range_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidSettings, match="training"):
        TrainingRecipe(**wrong)  # type: ignore[arg-type]


def test_a_paper_that_is_passed_over_is_not_reached(built: KnowledgeBase) -> None:
    method = built.method("cg_rag")
    rows = built.store.select(queries.bind("cg_rag/identifiers", catalogue=built.store.names.catalogue)).values()
    user = next(document for document, identifier in rows if identifier == "u3")
    found = [iri for iri, _ in method.ranking(f"Who made the {CROPS[3]} method?", 50)]
    left = [iri for iri, _ in method.ranking(f"Who made the {CROPS[3]} method?", 50, without=[user])]
    assert any(user.rpartition("/")[2] in iri for iri in found)
    assert not any(user.rpartition("/")[2] in iri for iri in left)
