"""CG-RAG: the citation graph, retrieval without training, answers and pictures."""

import json
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase, queries, shacl
from kgrag.answering.passage_hits import passage_hits
from kgrag.errors import InvalidSettings, NotBuilt, UnknownName
from kgrag.methods.cg_rag import lesegr, neighbourhoods
from kgrag.methods.cg_rag.citation_arrays import CitationArrays, ReachLimits, Subgraph
from kgrag.methods.cg_rag.edges import EdgeKind, PaperChunks, adjacent, cross_references, nearest_chunks
from kgrag.methods.cg_rag.neighbourhoods import Neighbourhood
from kgrag.model import Completion, Usage
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

TOPICS = ("barley", "lentil", "mulch", "irrigation", "weed", "beetle")


def papers(folder: Path, *records: dict[str, object], name: str = "papers") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def small(folder: Path) -> Path:
    """A cycle, a self-citation, a missing target, a duplicate id, a paper that all cite, and papers of one chunk."""
    everyone = {"id": "core", "title": "The core paper on soil", "text": "Soil feeds every crop. " * 120}
    long = " ".join(f"Sentence {n} on {TOPICS[n % 6]} and soil, as Section 2 says." for n in range(60))
    others = [
        {"id": topic, "title": f"On {topic}", "text": f"{topic.title()} needs soil and care.", "cites": ["core", topic]}
        for topic in TOPICS
    ]
    others[0]["cites"] = ["core", "lentil", "no such paper"]
    others[1]["cites"] = ["core", "barley"]
    twin = {"id": "core", "title": "A second paper of that id", "text": "Quite another text."}
    return papers(
        folder, everyone, {"id": "long", "title": "A long paper", "text": long, "cites": ["core"]}, *others, twin
    )


@pytest.fixture
def built(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    kb.ingest(small(tmp_path))
    kb.build("cg_rag")
    return kb


# --- edges ----------------------------------------------------------------------------------------------------------


def test_a_paper_of_one_chunk_has_no_edge_inside() -> None:
    paper = PaperChunks("urn:d", ("urn:a",), ("As Section 1 and Table 1 show. Table 1: x",), ("1 Aim",))
    assert [*adjacent(paper), *cross_references(paper)] == []


@pytest.mark.parametrize(
    ("mention", "target"),
    [
        ("see Section 3.2", "urn:c"),
        ("(Sec. 3.2)", "urn:c"),
        ("§3.2 says", "urn:c"),
        ("Table 4 lists", "urn:d"),
        ("Fig. 2 shows", "urn:b"),
        ("Appendix A has", "urn:e"),
        ("Section 9", None),
        ("Table 14", None),
        ("section of 3.2 units", None),
    ],
)
def test_a_chunk_is_joined_to_what_it_refers_to(mention: str, target: str | None) -> None:
    paper = PaperChunks(
        "urn:p",
        ("urn:a", "urn:b", "urn:c", "urn:d", "urn:e"),
        (f"Text, {mention}.", "Figure 2: Curves.", "Body.", "More. Table 4. Yields by year", "Proofs."),
        ("1 Aim", "2 Model", "Method > 3.2 Decoding", "3.2 Decoding", "Appendix A Proofs"),
    )
    assert [edge.target for edge in cross_references(paper)] == ([target] if target else [])


def test_each_chunk_gets_k_edges_into_a_cited_paper_the_most_relevant_first() -> None:
    from scipy import sparse

    draw = np.random.default_rng(0)
    ours, theirs = (draw.normal(size=(count, 8)).astype(np.float32) for count in (3, 7))
    ours /= np.linalg.norm(ours, axis=1, keepdims=True)
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    words = sparse.csr_matrix((3, 5)), sparse.csr_matrix((7, 5))
    names = [f"urn:{n}" for n in range(7)]
    edges = nearest_chunks(["urn:x", "urn:y", "urn:z"], names, dense=(ours, theirs), sparse=words, k=4)
    assert len(edges) == 12
    first = [edge for edge in edges if edge.origin == "urn:x"]
    assert [edge.weight for edge in first] == sorted((edge.weight for edge in first), reverse=True)
    assert first[0].target == names[int((ours[0] @ theirs.T).argmax())]
    assert all(0 <= edge.weight <= 2 for edge in edges)


# --- the graph ------------------------------------------------------------------------------------------------------


def test_after_redraw_the_edges_are_those_of_a_fresh_build(tmp_path: Path) -> None:
    first, more = tmp_path / "first", tmp_path / "more"
    for folder in (first, more):
        folder.mkdir()
    texts = [f"{topic} soil soil and {other} care. {topic} needs {other}." for topic in TOPICS for other in TOPICS]
    cited = {"id": "core", "title": "Core", "text": " ".join(texts)}
    citing = {
        "id": "new",
        "title": "Citing",
        "text": "Barley and soil need care. Weed and beetle need mulch.",
        "cites": ["core"],
    }
    grown = {"id": "more", "title": "More", "text": "Soil and barley and care, again and again. " * 80}
    papers(first, cited, citing)
    papers(more, grown)

    def weights(kb: KnowledgeBase) -> set[str]:
        rows = kb.query("SELECT ?e ?w WHERE { GRAPH ?g { ?e a kg:CitationEdge ; kg:weight ?w } }").values()
        return {" ".join(row) for row in rows}

    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(first, chunk_tokens=30)
        assert kb.build("cg_rag").notes == ()
        kb.ingest(more, chunk_tokens=30)
        (note,) = kb.build("cg_rag").notes
        assert "the edges of 1 documents" in note
        aged = weights(kb)
        assert kb.build("cg_rag", redraw=True).counts["drawn"] == 1
        redrawn, revision = weights(kb), kb.store.revision
        assert kb.build("cg_rag", redraw=True).notes == ()
        assert kb.store.revision == revision
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(first, more, chunk_tokens=30)
        kb.build("cg_rag")
        assert weights(kb) == redrawn != aged


def test_the_graph_conforms_and_knows_cycles_missing_targets_and_duplicates(built: KnowledgeBase) -> None:
    figures = built.stats("cg_rag")
    assert figures["unresolved"] == 1
    assert figures["citations"] == 9  # none to itself
    assert figures["AdjacencyEdge"] > 3
    assert shacl.validate(built.store, shacl.graph_shapes()) == []


def test_no_edge_leads_from_a_chunk_to_itself(built: KnowledgeBase) -> None:
    rows = built.store.select(queries.bind("cg_rag/edges", catalogue=built.store.names.catalogue)).values()
    assert rows
    assert [row for row in rows if row[1] == row[2]] == []


def test_building_again_after_a_new_paper_draws_only_what_it_touches(built: KnowledgeBase, tmp_path: Path) -> None:
    built.ingest(
        papers(tmp_path, {"id": "no such paper", "title": "Found at last", "text": "Straw is gold."}, name="more")
    )
    counts = built.build("cg_rag").counts
    assert counts["drawn"] == 2  # the new one, and the one that cites it
    assert counts["unresolved"] == 0
    assert built.build("cg_rag").counts["drawn"] == 0


def test_another_k_draws_the_edges_anew(built: KnowledgeBase) -> None:
    before = built.stats("cg_rag")["CitationEdge"]
    built.build("cg_rag:top=1")
    assert built.stats("cg_rag")["CitationEdge"] < before


def test_a_changed_paper_takes_its_old_edges_along(built: KnowledgeBase) -> None:
    graphs = built.store.select(queries.bind("cg_rag/graphs", catalogue=built.store.names.catalogue)).values()
    vanished = next(ox.NamedNode(graph) for graph in sorted(built._store.graphs()) if "/document/" in graph)
    built.store.remove([vanished])
    assert built.build("cg_rag").counts["dropped"] == 1
    left = built.store.select(queries.bind("cg_rag/graphs", catalogue=built.store.names.catalogue)).values()
    assert len(left) == len(graphs) - 1


def test_a_hyperlink_is_a_citation_from_its_own_chunk_also_to_a_page_that_came_later(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    soil, seed = tmp_path / "soil.html", tmp_path / "sub" / "seed.html"
    seed.parent.mkdir()
    about = "Loam holds water in dry years and clay holds it longer. " * 4
    soil.write_text(
        f"<h1>Soil</h1><p>{about}</p><h2>Sowing</h2><p>Depth is in <a href='sub/seed.html#depth'>Seed</a>. {about}</p>"
        "<h2>Seed bed</h2><p>It is level, see <a href='sub/seed.html'>Seed</a> and <a href='none.html'>more</a>. "
        f"<a href='soil.html#x'>This page</a> goes on. {about}</p>"
    )
    seed.write_text(
        f"<h1>Seed</h1><p>Seed is dry. {about}</p><h2 id='depth'>How deep</h2><p>Wheat: four centimetres. {about}</p>"
    )
    kb.ingest(soil, chunk_tokens=40)
    assert kb.build("cg_rag:top=1").counts["links_elsewhere"] == 3
    kb.ingest(seed, chunk_tokens=40)
    counts = kb.build("cg_rag:top=1").counts
    assert (counts["links"], counts["links_elsewhere"], counts["drawn"]) == (2, 1, 2)
    linked = [row for row in _edges(kb) if row[0].endswith("HyperlinkEdge")]
    assert len(linked) == 2
    to_place, to_page = sorted(linked, key=lambda row: -float(row[3]))
    assert "Depth is in Seed" in _text(kb, to_place[1])
    assert "How deep" in _text(kb, to_place[2])
    assert "It is level" in _text(kb, to_page[1])
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []
    assert {each.wording for each in Neighbourhood(kb.store, 8).around([to_place[2]])[to_place[2]]} >= {"links to it"}
    assert kb.build("cg_rag:top=1").counts["drawn"] == 0
    seed.write_text(seed.read_text().replace("'depth'", "'deep'"))  # the same text, where the place has another name
    kb.ingest(seed, chunk_tokens=40)
    assert kb.build("cg_rag:top=1").counts["drawn"] == 1
    assert {row[3] for row in _edges(kb) if row[0].endswith("HyperlinkEdge")}.isdisjoint({"2"})
    kb.forget(str(soil))
    assert kb.build("cg_rag:top=1").counts["links"] == 0
    assert [row for row in _edges(kb) if row[0].endswith("HyperlinkEdge")] == []


def _edges(kb: KnowledgeBase) -> list[tuple[str, ...]]:
    return [
        tuple(row) for row in kb.store.select(queries.bind("cg_rag/edges", catalogue=kb.store.names.catalogue)).values()
    ]


def _text(kb: KnowledgeBase, chunk: str) -> str:
    return passage_hits(kb.store, [(chunk, 0.0)])[0].text


def test_an_ontologist_finds_who_cites_a_paper_and_speaks_of_something(built: KnowledgeBase) -> None:
    core = _document(built, "The core paper on soil")
    rows = built.store.select(
        queries.bind("cg_rag/citing_chunks", document=core, words=ox.Literal("lentil needs"))
    ).values()
    assert [row[1] for row in rows] == ["On lentil"]
    assert float(rows[0][3]) > 0
    passages = built.store.select(queries.bind("cg_rag/cited_passages", document=core)).values()
    assert int(passages[0][1]) >= 1
    together = built.store.select(queries.bind("cg_rag/co_cited", document=core)).values()
    assert {row[1] for row in together} == {"On lentil", "On barley"}
    lost = built.store.select(queries.bind("cg_rag/unresolved", catalogue=built.store.names.catalogue)).values()
    assert lost == [("no such paper", "1")]


def _document(kb: KnowledgeBase, title: str) -> ox.NamedNode:
    rows = kb.store.select(queries.bind("citations/documents", catalogue=kb.store.names.catalogue)).values()
    return ox.NamedNode(next(document for document, name, _ in rows if name == title))


# --- the arrays -----------------------------------------------------------------------------------------------------


def _arrays(edges: list[tuple[int, int, int, float]], count: int, documents: list[int] | None = None) -> CitationArrays:
    table = np.array(edges, dtype=float).reshape(len(edges), 4).T
    columns = (table[0].astype(int), table[1].astype(int), table[2].astype(int), table[3])
    return CitationArrays.of([f"urn:{n:05d}" for n in range(count)], documents or [*range(count)], columns, revision=0)


def test_a_paper_that_everyone_cites_does_not_make_the_subgraph_grow() -> None:
    hub = _arrays([(n, 0, EdgeKind.CITATION, 1.0) for n in range(1, 3000)], 3000)
    gates = np.linspace(0.1, 1, 3000, dtype=np.float32)
    found = hub.around(np.array([5, 9]), gates, ReachLimits(hops=2, width=64, fan=16))
    assert len(found.nodes) <= 66
    assert 0 in found.nodes
    assert np.bincount(found.receivers).max() <= 16
    assert 2999 in found.nodes  # of all that cite it, those that have most to do with the question


def test_a_hidden_paper_is_neither_candidate_nor_neighbour() -> None:
    chain = _arrays([(0, 1, EdgeKind.CITATION, 2.0), (1, 2, EdgeKind.CITATION, 2.0)], 3)
    gates = np.ones(3, np.float32)
    assert chain.around(np.array([0]), gates, ReachLimits()).nodes.tolist() == [0, 1, 2]
    assert chain.around(np.array([0, 1]), gates, ReachLimits(), without=np.array([1])).nodes.tolist() == [0]


def test_a_cycle_and_a_self_citation_end(tmp_path: Path) -> None:
    ring = _arrays([(0, 1, 2, 1.0), (1, 0, 2, 1.0), (1, 1, 2, 1.0)], 2)
    found = ring.around(np.array([0]), np.ones(2, np.float32), ReachLimits())
    assert found.nodes.tolist() == [0, 1]
    path = tmp_path / "m.npz"
    ring.save(path)
    again = CitationArrays.load(path)
    assert again is not None
    assert again.neighbours.tolist() == ring.neighbours.tolist()
    path.write_bytes(path.read_bytes()[:-7])
    assert CitationArrays.load(path) is None


# --- LeSeGR ---------------------------------------------------------------------------------------------------------


def _isolated(count: int) -> Subgraph:
    nothing = np.zeros(0, np.int64)
    return Subgraph(np.arange(count), nothing, nothing, nothing.astype(np.int8), nothing.astype(np.float32))


@settings(max_examples=40, derandomize=True)
@given(st.integers(1, 12), st.integers(1, 3), st.sampled_from(["mean", "sum"]), st.integers(0, 2**16))
def test_without_neighbours_the_logarithm_is_additive_fusion(
    count: int, layers: int, aggregation: str, seed: int
) -> None:
    """Proposition 4.1: log R(q, c) = log f(q, c) + log R_d(d_q, d_c)."""
    draw = np.random.default_rng(seed)
    dense = np.abs(draw.normal(size=(count, 6))).astype(np.float32)
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    gates = lesegr.gates(draw.uniform(0, 9, size=count).astype(np.float32))
    question = dense[0]
    scores = lesegr.scores(_isolated(count), gates, dense, question, layers=layers, aggregation=aggregation)
    assert np.allclose(np.log(scores), np.log(gates) + np.log(dense @ question), atol=1e-4)


def test_a_chunk_gains_by_a_neighbour_that_the_question_matches() -> None:
    dense = np.eye(3, 4, dtype=np.float32) + 0.5
    dense /= np.linalg.norm(dense, axis=1, keepdims=True)
    gates = np.array([0.2, 0.2, 1.0], np.float32)
    told = Subgraph(np.arange(3), np.array([2]), np.array([1]), np.array([4], np.int8), np.ones(1, np.float32))
    scores = lesegr.scores(told, gates, dense, dense[:2].mean(axis=0), layers=1, aggregation="mean")
    assert scores[1] > scores[0]


def test_a_question_without_a_common_word_is_answered_by_meaning_alone(built: KnowledgeBase) -> None:
    assert lesegr.gates(np.zeros(3, np.float32)).tolist() == [1, 1, 1]
    assert built.retrieve("zzz", method="cg_rag", k=2)


def test_a_paper_can_be_found_through_what_cites_it(built: KnowledgeBase) -> None:
    alone, linked = (
        [
            hit.attributes.get("title")
            for hit in built.retrieve("beetle care", method=f"cg_rag:aggregation=mean,{how},candidates=1", k=3)
        ]
        for how in ("hops=0,fan=1", "hops=1")
    )
    assert "The core paper on soil" not in alone
    assert "The core paper on soil" in linked


def test_documents_are_passed_over_by_the_identifier_of_their_source(built: KnowledgeBase) -> None:
    method = built.method("cg_rag")
    titles = [hit.attributes.get("title") for hit in method.retrieve_without("beetle care", 50, {"beetle", "unknown"})]
    assert "On weed" in titles
    assert "On beetle" not in titles


def test_documents_are_passed_over_in_a_knowledge_base_whose_base_iri_contains_the_word_document(
    tmp_path: Path,
) -> None:
    base = Settings(base_iri="https://example.org/document/fields/")
    with KnowledgeBase(settings=base, embedder=HashEmbedder()) as kb:
        kb.ingest(small(tmp_path))
        kb.build("cg_rag")
        hits = kb.method("cg_rag").retrieve_without("beetle care", 50, {"beetle"})
    titles = {hit.attributes.get("title") for hit in hits}
    assert "On weed" in titles
    assert "On beetle" not in titles


def test_the_graph_is_asked_for_where_it_is_missing(kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(NotBuilt, match="kgrag ingest"):
        kb.build("cg_rag")
    kb.ingest(small(tmp_path))
    with pytest.raises(NotBuilt, match="kgrag build cg_rag"):
        kb.retrieve("soil", method="cg_rag")


def test_papers_that_came_after_the_build_are_found_without_edges(built: KnowledgeBase, tmp_path: Path) -> None:
    built.ingest(papers(tmp_path, {"id": "late", "title": "Late", "text": "Quinoa ripens late."}, name="more"))
    assert built.retrieve("When does quinoa ripen?", method="cg_rag", k=1)[0].attributes["title"] == "Late"


@pytest.mark.parametrize(
    "wrong", ["top=0", "candidates=0", "hops=3", "encoder=best", "aggregation=max", "fan=0", "width=-1"]
)
def test_a_hyper_parameter_out_of_range_is_refused(kb: KnowledgeBase, wrong: str) -> None:
    with pytest.raises(InvalidSettings, match="cg_rag"):
        kb.method(f"cg_rag:{wrong}")


# --- answers and pictures -------------------------------------------------------------------------------------------


def test_an_answer_cites_a_neighbour_that_the_ranking_left_out(kb: KnowledgeBase, tmp_path: Path) -> None:
    kb.ingest(
        papers(
            tmp_path,
            {"id": "a", "title": "Weeds", "text": "Weeds in lentil fields were studied.", "cites": ["b"]},
            {
                "id": "b",
                "title": "Trial",
                "text": "The trial lasted nine years. Lentil weeds cost a third of the yield.",
            },
        )
    )
    kb.build("cg_rag")
    answer = kb.ask("How much yield do weeds cost in lentil?", method="cg_rag", k=1)
    assert "cost a third" in answer.text
    assert {citation.document for citation in answer.citations} <= {
        span.document for hit in answer.hits for span in hit.sources
    }
    assert [hit.attributes.get("link") for hit in answer.hits] == [None, "cites it"]


def test_what_is_linked_to_two_hits_is_read_once_and_is_no_hit_twice(kb: KnowledgeBase, tmp_path: Path) -> None:
    both = [
        {"id": name, "title": name, "text": f"Weeds in {name} fields were studied.", "cites": ["c", "b"]}
        for name in "ab"
    ]
    kb.ingest(papers(tmp_path, *both, {"id": "c", "title": "Trial", "text": "The trial lasted nine years."}))
    kb.build("cg_rag")
    hits = kb.retrieve("Weeds in fields", method="cg_rag", k=2)
    enriched, _ = neighbourhoods.with_context("Weeds?", hits, Neighbourhood(kb.store, 8), model=ScriptedModel({}))
    assert [hit.text for hit in enriched[2:]] == ["The trial lasted nine years."]
    assert enriched[:2] == hits


def test_linked_passages_are_summarised_only_where_they_are_longer_than_the_request(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    long = " ".join(f"In year {year} the trial lost {year} kg of lentils." for year in range(40))
    kb.ingest(
        papers(
            tmp_path,
            {"id": "a", "title": "Weeds", "text": "Weeds in lentil fields were studied.", "cites": ["b"]},
            {"id": "b", "title": "Trial", "text": long},
        )
    )
    kb.build("cg_rag")
    hits = kb.retrieve("Weeds in lentil fields", method="cg_rag", k=1)
    model = ScriptedModel({"cg_rag/neighbourhood": Completion("The trial lost lentils.", usage=Usage(1, 90, 8))})
    (enriched,), usage = neighbourhoods.with_context("Weeds?", hits, Neighbourhood(kb.store, 8), model=model)
    assert enriched.text.endswith("written by a model\n\nThe trial lost lentils.")
    assert len(model.prompts) == 1
    assert usage == Usage(1, 90, 8)
    for reply in ("NOTHING", " nothing.\n", ""):
        model = ScriptedModel({"cg_rag/neighbourhood": Completion(reply, usage=Usage(1, 90, 1))})
        assert neighbourhoods.with_context("Weeds?", hits, Neighbourhood(kb.store, 8), model=model)[0] == list(hits)


def test_a_model_that_cannot_summarise_leaves_the_hits_as_they_are(built: KnowledgeBase) -> None:
    hits = built.retrieve("soil", method="cg_rag", k=3)
    read, _ = neighbourhoods.with_context("soil", hits, Neighbourhood(built.store, 4), model=ScriptedModel({}))
    assert read[:3] == hits
    assert all("context" not in hit.attributes for hit in read)


def test_every_kind_of_neighbour_has_a_place(built: KnowledgeBase) -> None:
    core = built.retrieve("core paper on soil", method="cg_rag:hops=0", k=1)[0].iri
    found = Neighbourhood(built.store, 8).around([core])[core]
    assert "cites it" in {each.wording for each in found}
    middle = next(
        hit.iri
        for hit in built.retrieve("Sentence 30", method="cg_rag", k=20)
        if hit.attributes.get("title") == "A long paper"
    )
    assert {each.wording for each in Neighbourhood(built.store, 4).around([middle])[middle]} >= {"it cites"}


def test_a_picture_escapes_what_it_shows(kb: KnowledgeBase, tmp_path: Path) -> None:
    evil = '<script>alert("x")</script>'
    kb.ingest(
        papers(
            tmp_path,
            {"id": "a", "title": f"A {evil}", "text": f"Weeds {evil} grow.", "cites": ["b"]},
            {"id": "b", "title": f"B {evil}", "text": f"Lentil weeds {evil}."},
        )
    )
    kb.build("cg_rag")
    method = kb.method("cg_rag")
    page = method.picture(kb.retrieve("weeds", method="cg_rag", k=1)[0].iri)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "<svg" in page
    assert "cites" in page


@pytest.mark.parametrize("iri", ["urn:kgrag:chunk/none", "no iri"])
def test_a_picture_of_nothing_is_refused(built: KnowledgeBase, iri: str) -> None:
    with pytest.raises(UnknownName, match="kgrag retrieve"):
        built.method("cg_rag").picture(iri)
