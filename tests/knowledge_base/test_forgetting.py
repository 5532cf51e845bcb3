"""Deleting a document: nothing of it is found afterwards, what others state stays, and the rest still works."""

import json
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, queries, shacl
from kgrag.errors import StorageFailed, UnknownName
from kgrag.index import vector_spaces
from kgrag.knowledge_base import forgetting
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.store import fact_journal
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.text import documents, ingestion
from kgrag.text.ingestion import IngestReport
from kgrag.vocab import KG, PROV, RDF
from tests.cut_short import content, killed_after
from tests.final_states import created

SECRET = "Zanzibar"


def fill(kb: KnowledgeBase, n: int = 30) -> None:
    towns = ("Bath", "York", "Leeds", "Hull")
    texts = [(f"Singer {i}", f"Singer {i} was born in {towns[i % 4]}. She sang with Ann Lee.") for i in range(n)]
    texts.append(("The Secret", f"Ann Lee met Singer 3 in {SECRET}. {SECRET} is hot."))
    documents = [Document(text, title, id=title, location=f"{title}.txt") for title, text in texts]
    ingestion.ingest(documents, store=kb.store)


def found(kb: KnowledgeBase, word: str) -> list[str]:
    """Give every graph with a term that holds a word, by a scan of the whole store."""
    table = kb.query(
        f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o FILTER(CONTAINS(CONCAT(STR(?s), STR(?o)), '{word}')) }} }}"
    )
    return [row[0].value for row in table]


def trees(kb: KnowledgeBase) -> set[str]:
    graphs = [kb.store.names.tree_graph(tree) for tree in ("similarity", "relatedness")]
    return {str(triple) for graph in graphs for triple in kb.store.triples(graph)}


def chunks(kb: KnowledgeBase, title: str) -> list[str]:
    (document,) = forgetting.named(kb.store, title)
    graph = kb.store.names.document_graph(ox.NamedNode(document))
    return [triple.subject.value for triple in kb.store.triples(graph) if triple.object == KG.Chunk]


@pytest.fixture
def built(kb: KnowledgeBase) -> KnowledgeBase:
    fill(kb)
    kb.build("sire_rag:cluster_tokens=120")
    return kb


def test_no_query_finds_a_word_of_it_afterwards(built: KnowledgeBase) -> None:
    assert len(found(built, SECRET)) >= 3
    (done,) = built.forget("The Secret.txt")
    assert (done.title, done.remains, found(built, SECRET)) == ("The Secret", (), [])
    assert all(SECRET not in hit.text for hit in built.retrieve(f"Who was in {SECRET}?", method="sire_rag", k=50))
    assert all(SECRET not in hit.text for hit in built.retrieve(f"Who was in {SECRET}?", k=50))


def test_the_vectors_of_what_is_gone_are_dropped_at_once(built: KnowledgeBase) -> None:
    before = {name: set(built.spaces.space(name).keys()) for name in built.spaces.names()}
    (done,) = built.forget("The Secret")
    after = {iri for name in before for iri in built.spaces.space(name).keys()}  # noqa: SIM118 - no dictionary
    assert after.isdisjoint({*done.waiting, *done.dropped})
    assert after < set().union(*before.values())


def test_forgetting_concerns_the_spaces_of_what_it_took_away_only(built: KnowledgeBase) -> None:
    since = built.store.revision
    built.forget("The Secret")
    concerned = {name for name in vector_spaces.spaces() if vector_spaces.changed(name, store=built.store, since=since)}
    trees = {"aggregate", "dual-summary", "relatedness-summary", "similarity-summary"}
    assert concerned == {"chunk", "proposition", *trees}


def test_until_the_next_build_the_trees_are_stale_and_still_answer(built: KnowledgeBase) -> None:
    (done,) = built.forget("The Secret")
    findings = built.doctor()
    assert done.waiting
    assert [finding.check for finding in findings if not finding.fault] == ["stale", "stale"]
    assert [finding for finding in findings if finding.fault] == []
    assert built.retrieve("Singer 3", method="sire_rag", k=5)
    built.build("sire_rag:cluster_tokens=120")
    assert [finding for finding in built.doctor() if finding.check == "stale"] == []
    assert shacl.validate(built.store, shacl.graph_shapes()) == []


def test_adding_a_document_and_forgetting_it_gives_the_pool_of_before(kb: KnowledgeBase) -> None:
    fill(kb)
    kb.forget("The Secret")
    kb.build("sire_rag:cluster_tokens=120")
    before = trees(kb)
    fill(kb)
    report = kb.build("sire_rag:cluster_tokens=120")
    assert trees(kb) != before
    assert 0 < report.counts["summaries_new"] < report.counts["summaries_kept"]
    kb.forget("The Secret")
    kb.build("sire_rag:cluster_tokens=120")
    assert trees(kb) == before


def test_an_entity_that_another_document_names_stays(built: KnowledgeBase) -> None:
    built.forget("The Secret")
    rows = built.store.select(queries.bind("sire_rag/propositions", catalogue=built.store.names.catalogue)).values()
    assert any("Ann Lee" in text for _, _, text, _ in rows)


def test_a_kept_answer_that_quotes_it_goes_and_others_stay(built: KnowledgeBase) -> None:
    built.ask(f"Where did Ann Lee meet Singer 3? {SECRET}", keep=True)
    built.ask("Where was Singer 5 born?", keep=True)
    built.forget("The Secret")
    assert found(built, SECRET) == []
    kinds = built.query("SELECT ?g WHERE { GRAPH ?c { ?g a kg:AnswerGraph } }")
    assert len(kinds) <= 1


def test_every_method_of_the_demonstration_works_on_after_each_document_is_forgotten(demo_kb: KnowledgeBase) -> None:
    from kgrag.text import documents

    while listing := documents.listing(demo_kb.store):  # a record that was mapped from another goes with it
        listed = listing[0]
        (done,) = forgetting.forget([listed.iri], store=demo_kb.store, spaces=demo_kb.spaces)
        assert done.remains == ()
        assert [one for one in demo_kb.doctor() if one.fault] == []
    left = demo_kb.query(
        "SELECT DISTINCT ?k WHERE { GRAPH ?c { ?g a ?k . ?g kg:publication ?p } FILTER(?k IN (kg:HyperedgeGraph, "
        "kg:DocumentGraph, kg:PropositionGraph, kg:AssertionGraph, kg:CitationGraph)) }"
    )
    assert [row[0].value for row in left] == []
    assert demo_kb.query("SELECT ?n WHERE { GRAPH ?g { ?n a kg:Hypernode } }").rows == []
    assert demo_kb.query("SELECT ?n WHERE { GRAPH ?g { ?n a kg:HypernodeValue } }").rows == []


def test_a_fact_that_two_documents_state_stays_with_the_other(kb: KnowledgeBase, tmp_path: Path) -> None:
    for number in (1, 2):
        record = {"@graph": [{"@type": "Crop", "name": "Lentil", "note": {"@type": "Note", "text": f"n{number}"}}]}
        (tmp_path / f"{number}.jsonld").write_text(json.dumps(record))
    kb.build("og_rag", mapped=tmp_path)
    names = [iri for (iri,) in kb.query("SELECT ?d WHERE { GRAPH ?g { ?d a kg:Document } } ORDER BY ?d").values()]
    kb.forget(names[0])
    values = {value for (value,) in kb.query("SELECT ?v WHERE { GRAPH ?g { ?n kg:value ?v } }").values()}
    assert "Lentil" in values
    assert len(values & {"n1", "n2"}) == 1
    assert [one for one in kb.doctor() if one.fault] == []


def test_an_activity_that_used_it_is_struck_from_provenance(built: KnowledgeBase) -> None:
    def used() -> set[str]:
        triples = built.store.triples(built.store.names.provenance)
        return {triple.object.value for triple in triples if triple.predicate == PROV.used}

    before = used()
    (done,) = built.forget("The Secret")
    (struck,) = before - used()
    assert struck.startswith(done.document.replace(":document/", ":chunk/"))


def test_a_document_is_forgotten_in_one_step(built: KnowledgeBase) -> None:
    before = built.store.revision
    built.forget("The Secret.txt")
    assert built.store.revision == before + 1


def test_several_documents_are_forgotten_in_one_step_as_they_are_one_by_one() -> None:
    names = ("The Secret", "Singer 1", "Singer 3")
    left, reported = [], []
    for at_once in (True, False):
        with created() as kb:
            fill(kb, 12)
            for method in ("poly_rag", "og_rag", "cg_rag", "sire_rag:cluster_tokens=120"):
                kb.build(method)
            kb.keep(kb.ask("Who is Singer 1?", method="passages"))
            before = kb.store.revision
            done = kb.forget(*names) if at_once else [one for name in names for one in kb.forget(name)]
            assert kb.store.revision == before + (1 if at_once else 3)
            left.append(content(kb))
            reported.append(done)
            assert [finding.message for finding in kb.doctor() if finding.fault] == []
    assert left[0] == left[1]
    assert [one.title for one in reported[0]] == [one.title for one in reported[1]]
    assert {graph for one in reported[0] for graph in one.dropped} == {
        graph for one in reported[1] for graph in one.dropped
    }
    assert all(not one.remains for one in reported[0])


def test_a_chunk_that_cites_what_is_forgotten_stays(kb: KnowledgeBase) -> None:
    cited = Document("Chickpea is sown in October.", "Growing chickpea", location="chickpea.md")
    text = "Barley follows chickpea, which leaves nitrogen behind [1].\n\n## References\n\n1. Growing chickpea.\n"
    citing = Document(text, "Rotating crops", location="crops.md", cites=["Growing chickpea"])
    ingestion.ingest([cited, citing], store=kb.store)
    kb.build("cg_rag")
    (done,) = kb.forget("Growing chickpea")
    assert done.remains == ()
    hits = kb.retrieve("What does barley follow?", method="passages")
    assert [hit.sources[0].document for hit in hits] == forgetting.named(kb.store, "Rotating crops")
    assert [finding.message for finding in kb.doctor() if finding.fault] == []


def test_a_name_that_no_document_has_is_refused_before_any_is_forgotten(kb: KnowledgeBase) -> None:
    fill(kb, 2)
    with pytest.raises(UnknownName, match="Nobody"):
        kb.forget("Singer 1", "Nobody")
    assert found(kb, "Singer 1 was born")


def test_a_document_that_was_to_go_with_another_goes_at_the_next_opening(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def opened(name: str) -> KnowledgeBase:
        return KnowledgeBase(tmp_path / name, settings=Settings(), embedder=HashEmbedder())

    for name in ("whole", "killed"):
        with opened(name) as kb:
            fill(kb)
            kb.build("sire_rag:cluster_tokens=120")
            first, second = (forgetting.named(kb.store, title)[0] for title in ("The Secret", "Singer 1"))
            if name == "whole":
                for document in (first, second):
                    forgetting.forget([document], store=kb.store, spaces=kb.spaces)
            else:
                with killed_after(1), pytest.raises(StorageFailed):
                    forgetting.forget(
                        [first], store=kb.store, spaces=kb.spaces, then=forgetting.to_forget(kb.store, [second])
                    )
                assert found(kb, "Singer 1 was born")
    caplog.clear()
    with opened("killed") as kb:
        assert [record.levelname for record in caplog.records if "Singer 1" in record.message] == ["WARNING"]
        assert found(kb, "Singer 1 was born") == []
        assert found(kb, "kgrag/ns#forgets") == []
        kb.build("sire_rag:cluster_tokens=120")
        answers = [kb.retrieve(f"Singer {i}", method="sire_rag", k=9) for i in range(9)]
        graphs = content(kb)
    with opened("whole") as kb:
        kb.build("sire_rag:cluster_tokens=120")
        assert content(kb) == graphs
        assert [kb.retrieve(f"Singer {i}", method="sire_rag", k=9) for i in range(9)] == answers


def test_a_document_that_another_replaces_goes_although_the_process_dies(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "k", settings=Settings(), embedder=HashEmbedder()) as kb:
        fill(kb, 2)
        (old,) = forgetting.named(kb.store, "The Secret")
        new = [Document("Nothing is secret any more.", "The Secret")]
        with killed_after(1), pytest.raises(StorageFailed), kb.store.stating(forgetting.to_forget(kb.store, [old])):
            ingestion.ingest(new, store=kb.store)
        assert [one.title for one in documents.listing(kb.store)].count("The Secret") == 2
    with KnowledgeBase(tmp_path / "k", settings=Settings(), embedder=HashEmbedder()) as kb:
        assert [one.title for one in documents.listing(kb.store)].count("The Secret") == 1
        assert found(kb, SECRET) == []


def test_a_build_mends_a_tree_that_is_marked_stale(built: KnowledgeBase) -> None:
    before = trees(built)
    names, chunk = built.store.names, min(chunks(built, "The Secret"))
    graphs = [names.tree_graph(tree) for tree in ("similarity", "relatedness")]
    update = queries.bind(
        "forgetting/forget",
        catalogue=names.catalogue,
        graphs=graphs,
        gone=[ox.NamedNode(chunk)],
        silent=[],
        dropped=[],
        entries=[],
    )
    with built.store.stating([ox.Quad(graph, KG.stale, ox.Literal(True), names.catalogue) for graph in graphs]):
        built.store.update(update, graphs=graphs)
    assert trees(built) != before
    built.build("sire_rag:cluster_tokens=120")
    assert trees(built) == before
    assert [finding for finding in built.doctor() if finding.check == "stale"] == []


def test_forgetting_all_leaves_no_node(kb: KnowledgeBase) -> None:
    fill(kb, 3)
    kb.build("sire_rag")
    for title in ("The Secret", "Singer 0", "Singer 1", "Singer 2"):
        kb.forget(title)
    assert {
        triple.object for graph in kb._store.graphs() for triple in kb.store.triples(ox.NamedNode(graph))
    }.isdisjoint({KG.Chunk, KG.TreeNode, KG.Proposition})


@pytest.mark.parametrize("name", ["no such thing", "urn:kgrag:document/none"])
def test_a_document_that_is_not_there_is_refused(built: KnowledgeBase, name: str) -> None:
    with pytest.raises(UnknownName, match="`kgrag documents` lists them"):
        built.forget(name)


def test_the_completions_of_other_chunks_are_not_asked_for_again() -> None:
    asked = []

    def said(prompt):
        asked.append(prompt.name)
        if prompt.name == "sire_rag/facts":
            facts = [
                {"paragraph": one["number"], "fact": one["text"], "entities": ["Ann Lee"]}
                for one in prompt.variables["paragraphs"]
            ]
            return json.dumps({"facts": facts})
        return " ".join(prompt.variables["texts"])[:200]

    settings = Settings(completions="off")
    with KnowledgeBase(settings=settings, embedder=HashEmbedder(), model=ScriptedModel(said)) as kb:
        fill(kb)
        kb.build("sire_rag:cluster_tokens=120")
        kb.forget("Singer 4")
        asked.clear()
        kb.build("sire_rag:cluster_tokens=120")
        assert set(asked) == {"sire_rag/summary"}
        assert len(asked) < kb.build("sire_rag:cluster_tokens=120").counts["summaries_kept"]


def test_a_document_is_found_by_its_name_without_listing_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.add_many(Document(f"Field {number} of rye.", id=str(number)) for number in range(5))
        monkeypatch.setattr(documents, "listing", lambda _: pytest.fail("all documents were listed"))
        assert kb.remove("3").remains == ()
        assert kb.forget("4")[0].remains == ()


def test_after_a_document_is_forgotten_another_process_asks_without_reading_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder()) as kb:
        kb.add_many(Document(f"Field {number} of rye.", id=str(number)) for number in range(5))
        kb.remove("3")
    for name in ("keys", "texts"):
        monkeypatch.setattr(vector_spaces, name, lambda *_, **__: pytest.fail("all chunks were read"))
    with KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder()) as kb:
        assert len(kb.retrieve("rye", method="passages", k=9)) == 4


def test_what_stands_on_a_thing_is_found_without_reading_the_rest_of_the_tree() -> None:
    few, many = _tree(300), _tree(9000)
    named = queries.bind("forgetting/standing_on", things=[ox.NamedNode("urn:leaf:7"), ox.NamedNode("urn:chunk:7")])

    def seconds(store: ox.Store) -> float:
        began = time.process_time()
        assert len(list(store.query(named))) >= 3  # type: ignore[arg-type]
        return time.process_time() - began

    assert min(seconds(many) for _ in range(5)) < 8 * min(seconds(few) for _ in range(5))  # 30 times the nodes


def test_graphs_that_stay_are_not_read_whole_to_forget_a_document(
    built: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def subjects_of(*arguments: object) -> frozenset[str]:
        read.append(len(arguments))
        return frozenset()

    monkeypatch.setattr(fact_journal, "_subjects_of", subjects_of)
    forgotten = built.forget("The Secret")[0]
    assert (len(forgotten.trimmed) > 0, forgotten.remains, read) == (True, (), [])


def _tree(leaves: int) -> ox.Store:
    """Return a tree of ten children a node, whose leaves are each written from a chunk."""
    tree, store, level, height = ox.NamedNode("urn:tree"), ox.Store(), [f"urn:leaf:{n}" for n in range(leaves)], 0
    quads = [
        ox.Quad(ox.NamedNode(leaf), PROV.wasDerivedFrom, ox.NamedNode(leaf.replace("leaf", "chunk")), tree)
        for leaf in level
    ]
    while level:
        quads += [ox.Quad(ox.NamedNode(node), RDF.type, KG.TreeNode, tree) for node in level]
        height += 1
        above = (
            {f"urn:{height}:{n // 10}": level[n : n + 10] for n in range(0, len(level), 10)} if len(level) > 1 else {}
        )
        quads += [
            ox.Quad(ox.NamedNode(up), KG.hasChild, ox.NamedNode(n), tree) for up, below in above.items() for n in below
        ]
        level = list(above)
    store.bulk_extend(quads)
    return store


def test_a_kept_answer_that_goes_with_what_it_cites_is_named(kb: KnowledgeBase, tmp_path: Path) -> None:
    fee = tmp_path / "fee.txt"
    for amount, act in ((40, kb.sync), (55, kb.sync), (60, kb.ingest)):
        fee.write_text(f"The fee for a permit is {amount} euros.")
        done = act(tmp_path)
        went = done.answers if isinstance(done, IngestReport) else [q for one in done.forgotten for q in one.answers]
        assert list(went) == ([] if amount == 40 else ["What is the fee for a permit?"])
        kb.keep(kb.ask("What is the fee for a permit?", method="passages"))
    assert kb.forget("fee")[0].answers == ("What is the fee for a permit?",)
