"""What holds for every registered method."""

import pytest

from kgrag import KnowledgeBase, plugins, shacl
from kgrag.errors import NotBuilt
from tests.conftest import DEMO

pytestmark = pytest.mark.parametrize("name", sorted(plugins.methods()))
OPTIONS = {
    "cg_rag": {},
    "og_rag": {"mapped": DEMO / "mapped"},
    "obqc": {"competency": DEMO / "competency.jsonl"},
    "poly_rag": {},
    "sire_rag": {},
}
QUESTION = "What is the seeding rate of lentil LT 7 in the River Zone?"


def test_it_refuses_before_it_is_built(kb: KnowledgeBase, name: str) -> None:
    with pytest.raises(NotBuilt, match="kgrag (build|ingest)"):
        kb.retrieve(QUESTION, method=name)


def test_building_again_changes_nothing(demo_kb: KnowledgeBase, name: str) -> None:
    demo_kb.build(name, **OPTIONS.get(name, {}))
    quads, revision = len(demo_kb.store), demo_kb.store.revision
    demo_kb.build(name, **OPTIONS.get(name, {}))
    assert (len(demo_kb.store), demo_kb.store.revision) == (quads, revision)


@pytest.mark.parametrize("k", [1, 3, 50])
def test_hits_are_ranked_bounded_distinct_and_cite_source_chunks(demo_kb: KnowledgeBase, name: str, k: int) -> None:
    hits = demo_kb.retrieve(QUESTION, method=name, k=k)
    assert 1 <= len(hits) <= k
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert len({hit.iri for hit in hits}) == len(hits)
    assert all(hit.sources for hit in hits)


def test_every_source_span_is_a_stored_text(demo_kb: KnowledgeBase, name: str) -> None:
    from kgrag.text import documents

    for hit in demo_kb.retrieve(QUESTION, method=name, k=5):
        for span in hit.sources:
            text = documents.document_text(demo_kb.store, span.document)
            assert text[span.start : span.end] == documents.texts(demo_kb.store, [span.chunk])[span.chunk]


def test_graphs_are_catalogued_and_conform_to_their_shape(demo_kb: KnowledgeBase, name: str) -> None:
    demo_kb.build(name, **OPTIONS.get(name, {}))
    assert shacl.validate(demo_kb.store, shacl.graph_shapes()) == []
    assert [finding for finding in demo_kb.doctor() if finding.fault] == []


def test_the_same_input_gives_the_same_graphs_and_hits(name: str) -> None:
    from kgrag.resources import folder
    from kgrag.settings import Settings
    from kgrag.testing import HashEmbedder

    outcomes = []
    for _ in range(2):
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
            kb.load(folder("ontologies") / "crops.ttl")
            kb.ingest(DEMO / "texts")
            for method, options in OPTIONS.items():
                kb.build(method, **options)
            hits = [(hit.iri, hit.text, hit.score) for hit in kb.retrieve(QUESTION, method=name, k=5)]
            outcomes.append((sorted(kb._store.graphs()), hits))
    assert outcomes[0] == outcomes[1]


def test_a_hyper_parameter_that_is_not_there_is_refused_with_those_that_are(kb: KnowledgeBase, name: str) -> None:
    with pytest.raises(Exception, match="no hyper-parameter"):
        kb.method(f"{name}:no_such_thing=1")


def test_an_empty_question_is_refused(demo_kb: KnowledgeBase, name: str) -> None:
    with pytest.raises(Exception, match="empty"):
        demo_kb.retrieve("  ", method=name)


def test_a_question_of_another_world_raises_nothing(demo_kb: KnowledgeBase, name: str) -> None:
    assert len(demo_kb.retrieve("🦀 қазақша مرحبا ?x } DROP ALL", method=name)) <= 5
