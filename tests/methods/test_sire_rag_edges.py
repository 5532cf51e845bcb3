"""SiReRAG at the edges: scripts, crowds, repetitions, and what little there is to cluster."""

from typing import Any

import pytest

from kgrag import KnowledgeBase, queries
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion
from kgrag.text.sentences import entity_key


def fill(kb: KnowledgeBase, *texts: tuple[str, str]) -> None:
    ingestion.ingest([Document(text, title, id=title) for title, text in texts], store=kb.store)


def about(kb: KnowledgeBase, name: str) -> list[str]:
    query = queries.bind("sire_rag/aggregates", entity=kb.store.names.entity(entity_key(name)))
    return [text for _, text in kb.store.select(query).values()]


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Лев Толстой", ("Роман написал Лев Толстой.", "В Ясной Поляне жил Лев Толстой.")),
        ("Ελευθέριος Βενιζέλος", ("Τον κάλεσε ο Ελευθέριος Βενιζέλος.", "Στα Χανιά γεννήθηκε ο Ελευθέριος Βενιζέλος.")),
    ],
)
def test_an_entity_in_another_script_joins_what_two_documents_say(
    kb: KnowledgeBase, name: str, texts: tuple[str, str]
) -> None:
    fill(kb, ("A", texts[0]), ("B", texts[1]))
    kb.build("sire_rag")
    (joined,) = about(kb, name)
    assert all(text.rstrip(".") in joined for text in texts)


def test_names_in_a_script_without_case_come_from_a_ready_made_extraction(kb: KnowledgeBase, tmp_path: Any) -> None:
    fill(kb, ("A", "東京タワーは高い。"), ("B", "東京タワーは赤い。"))
    path = tmp_path / "x.jsonl"
    lines = ('{"idx": "A", "entities": ["東京タワー"], "propositions": ["東京タワーは高い。"]}',)
    path.write_text("\n".join((*lines, lines[0].replace('"A"', '"B"').replace("高い", "赤い"))), encoding="utf-8")
    kb.build("sire_rag", extraction=path)
    (joined,) = about(kb, "東京タワー")
    assert {"東京タワーは高い。", "東京タワーは赤い。"} == set(joined.split())


def test_an_entity_of_every_passage_makes_leaves_that_an_embedder_reads_to_the_end(kb: KnowledgeBase) -> None:
    fill(kb, *((f"Town {n}", f"Town {n} belongs to Wessex and has river {n}.") for n in range(120)))
    kb.build("sire_rag:aggregate_tokens=60")
    joined = about(kb, "Wessex")
    assert len(joined) > 10
    assert max(len(text.split()) for text in joined) <= 60
    assert sum(text.count("belongs to Wessex") for text in joined) == 120


def test_a_document_more_in_the_crowd_of_an_entity_touches_few_clusters(kb: KnowledgeBase) -> None:
    towns = [(f"Town {n}", f"Town {n} belongs to Wessex and has river {n}.") for n in range(121)]
    fill(kb, *towns[:120])
    kb.build("sire_rag:cluster_tokens=300")
    fill(kb, *towns)
    counts = kb.build("sire_rag:cluster_tokens=300").counts
    assert 0 < counts["summaries_new"] < counts["summaries_kept"]


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_from_few_documents_one_can_be_forgotten(kb: KnowledgeBase, n: int) -> None:
    fill(kb, ("Last", "Last is here."), *((f"Town {i}", f"Town {i} is old.") for i in range(n)))
    kb.build("sire_rag")
    kb.forget("Last")
    if n:
        assert kb.build("sire_rag").counts["chunks"] == n
        assert all("Last" not in hit.text for hit in kb.retrieve("Last", method="sire_rag", k=20))


def test_equal_texts_by_the_hundred_make_a_tree_that_ends_the_same_each_time() -> None:
    dumps = []
    for _ in range(2):
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
            fill(kb, *((f"Copy {n}", "Bath has a river.") for n in range(100)))
            kb.build("sire_rag:cluster_tokens=40")
            graphs = map(kb.store.names.tree_graph, ("similarity", "relatedness"))
            dumps.append([sorted(map(str, kb.store.triples(graph))) for graph in graphs])
    assert dumps[0] == dumps[1]


def test_an_export_of_the_same_input_is_the_same_byte_for_byte(tmp_path: Any) -> None:
    """Times and publications apart, which say when and not what."""
    files = []
    for number in range(2):
        with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
            fill(kb, *((f"Town {n}", f"Town {n} belongs to Wessex and has river {n}.") for n in range(40)))
            kb.build("sire_rag:cluster_tokens=200")
            kb.export(tmp_path / f"{number}.nq")
        lines = (tmp_path / f"{number}.nq").read_bytes().splitlines(keepends=True)
        files.append(b"".join(line for line in lines if b"graph/catalogue>" not in line))
    assert files[0] == files[1]
