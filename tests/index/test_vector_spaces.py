"""Vector spaces that follow the store."""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import queries
from kgrag.errors import ServiceUnavailable, UnknownName
from kgrag.index import array_files, bm25, vector_spaces
from kgrag.index.vector_folder import FolderSpaces
from kgrag.llm.embedders import CachedEmbedder
from kgrag.model import Document, GraphDraft
from kgrag.ports import Vectors
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder, toy_documents
from kgrag.text.chunking import chunk
from kgrag.text.documents import document_draft
from kgrag.vocab import KG, OWL, RDF, RDFS, Names

NAMES = Names()


class CountingEmbedder(HashEmbedder):
    """Lists what it was asked; fails from the given call on."""

    def __init__(self, fail_from: int | None = None) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.calls = 0
        self._fail_from = fail_from

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        if self._fail_from is not None and self.calls >= self._fail_from:
            raise ServiceUnavailable("no answer")
        self.calls += 1
        self.texts.extend(texts)
        return super().embed(texts, kind)


@pytest.fixture
def store() -> OxigraphStore:
    return OxigraphStore.open(None)


def spaces(folder: Path | None = None, *, read_only: bool = False) -> FolderSpaces:
    return FolderSpaces(folder, identity="hash-64", dimension=64, read_only=read_only)


def publish(store: OxigraphStore, *documents: Document) -> None:
    store.publish([document_draft(document, chunk(document), names=store.names) for document in documents])


def small(number: int) -> Document:
    return Document(text=f"Passage {number} is about thing{number}.", title=f"Title {number}")


def graph_of(document: Document) -> ox.NamedNode:
    return NAMES.document_graph(NAMES.document(document.text, document.title))


def publish_hypernodes(store: OxigraphStore, *pairs: tuple[str, str]) -> None:
    triples = []
    for key, value in pairs:
        for term, kind, text in (
            (NAMES.hypernode_key(key), KG.HypernodeKey, key),
            (NAMES.hypernode_value(value), KG.HypernodeValue, value),
        ):
            triples += [ox.Triple(term, RDF.type, kind), ox.Triple(term, KG.text, ox.Literal(text))]
    store.publish([GraphDraft(NAMES.hypernodes, KG.HypernodeGraph, triples, mode="append")])


def test_every_space_has_its_query() -> None:
    listed = {name for name in queries.names() if name.startswith("spaces/")}
    held = [space for space in vector_spaces.spaces().values() if ":" not in space.query]
    used = {query for space in held for query in (space.query, space.texts, space.new, space.count) if query}
    assert listed == used | {"spaces/changed", "spaces/unexplained"}


def test_space_of_an_empty_store_is_empty(store: OxigraphStore) -> None:
    index = vector_spaces.fresh("chunk", store=store, spaces=spaces(), embedder=HashEmbedder())
    assert (len(index), index.revision) == (0, store.revision)


def test_space_holds_every_chunk(store: OxigraphStore) -> None:
    publish(store, *toy_documents())
    index = vector_spaces.fresh("chunk", store=store, spaces=spaces(), embedder=HashEmbedder())
    pairs = vector_spaces.texts("chunk", store=store)
    assert sorted(index.keys()) == [iri for iri, _ in pairs] == vector_spaces.keys("chunk", store=store)
    assert np.array_equal(
        index.vectors([iri for iri, _ in pairs]), HashEmbedder().embed([text for _, text in pairs], "passage")
    )


def test_texts_of_given_chunks_come_sorted_and_unknown_ones_are_left_out(store: OxigraphStore) -> None:
    publish(store, small(1), small(2))
    first, second = vector_spaces.keys("chunk", store=store)
    pairs = vector_spaces.texts("chunk", store=store, iris=[second, "urn:unknown", first, second])
    assert [iri for iri, _ in pairs] == [first, second]


def test_keys_and_values_are_spaces_apart(store: OxigraphStore) -> None:
    publish_hypernodes(store, ("Crop name", "Soybean"), ("Crop name", "Maize"))
    made = spaces()
    texts = {name: [text for _, text in vector_spaces.texts(name, store=store)] for name in vector_spaces.spaces()}
    assert texts["hypernode-key"] == ["Crop name"]
    assert sorted(texts["hypernode-value"]) == ["Maize", "Soybean"]
    assert len(vector_spaces.fresh("hypernode-value", store=store, spaces=made, embedder=HashEmbedder())) == 2
    assert len(vector_spaces.fresh("hypernode-key", store=store, spaces=made, embedder=HashEmbedder())) == 1


def test_chunks_in_loaded_data_are_not_embedded(store: OxigraphStore) -> None:
    fake = ox.NamedNode("urn:fake")
    triples = [ox.Triple(fake, RDF.type, KG.Chunk), ox.Triple(fake, KG.text, ox.Literal("planted"))]
    store.publish([GraphDraft(ox.NamedNode("urn:loaded"), KG.DataGraph, triples)])
    publish(store, small(1))
    assert "urn:fake" not in vector_spaces.keys("chunk", store=store)
    assert vector_spaces.texts("chunk", store=store, iris=["urn:fake"]) == []


def test_second_call_embeds_nothing(store: OxigraphStore) -> None:
    publish(store, *toy_documents())
    made, embedder = spaces(), CountingEmbedder()
    for _ in range(2):
        vector_spaces.fresh("chunk", store=store, spaces=made, embedder=embedder)
    assert embedder.calls == 1


def test_only_new_texts_are_embedded(store: OxigraphStore) -> None:
    made, embedder = spaces(), CountingEmbedder()
    publish(store, small(1))
    vector_spaces.fresh("chunk", store=store, spaces=made, embedder=embedder)
    publish(store, small(1), small(2))
    vector_spaces.fresh("chunk", store=store, spaces=made, embedder=embedder)
    assert sorted(embedder.texts) == sorted(text for _, text in vector_spaces.texts("chunk", store=store))
    assert len(embedder.texts) == 2


def test_one_document_more_lists_no_chunk_that_was_there(store: OxigraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made = spaces()
    publish(store, small(1))
    vector_spaces.fresh("chunk", store=store, spaces=made, embedder=HashEmbedder())
    publish(store, small(2))
    monkeypatch.setattr(vector_spaces, "keys", lambda *_args, **_more: pytest.fail("every chunk was listed"))
    assert len(vector_spaces.fresh("chunk", store=store, spaces=made, embedder=HashEmbedder())) == 2


def test_change_of_another_kind_of_graph_reads_no_text(store: OxigraphStore) -> None:
    publish(store, small(1))
    made = spaces()
    index = vector_spaces.fresh("chunk", store=store, spaces=made, embedder=HashEmbedder())
    publish_hypernodes(store, ("Crop name", "Soybean"))
    assert not vector_spaces.changed("chunk", store=store, since=index.revision)
    assert vector_spaces.changed("hypernode-key", store=store, since=index.revision)
    assert (
        vector_spaces.fresh("chunk", store=store, spaces=made, embedder=CountingEmbedder(0)).revision == store.revision
    )


def test_appended_graph_counts_as_changed_again(store: OxigraphStore) -> None:
    publish_hypernodes(store, ("Crop name", "Soybean"))
    made = spaces()
    before = vector_spaces.fresh("hypernode-value", store=store, spaces=made, embedder=HashEmbedder()).revision
    publish_hypernodes(store, ("Crop name", "Maize"))
    assert vector_spaces.changed("hypernode-value", store=store, since=before)
    assert len(vector_spaces.fresh("hypernode-value", store=store, spaces=made, embedder=HashEmbedder())) == 2


def ontology(name: str, **labels: str) -> GraphDraft:
    """A graph of classes ``urn:<name>:<class>`` with their labels."""
    triples = []
    for term, label in labels.items():
        node = ox.NamedNode(f"urn:{name}:{term}")
        triples += [ox.Triple(node, RDF.type, OWL.Class), ox.Triple(node, RDFS.label, ox.Literal(label))]
    return GraphDraft(ox.NamedNode(f"urn:{name}"), KG.OntologyGraph, triples, "replace")


def test_an_update_of_one_ontology_embeds_its_new_words_only(store: OxigraphStore) -> None:
    store.publish([ontology("a", crop="crop", soil="soil"), ontology("b", river="river")])
    made, embedder = spaces(), CountingEmbedder()
    cached = CachedEmbedder(embedder, None)
    before = vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=cached).revision
    del embedder.texts[:]
    store.update(f"INSERT DATA {{ GRAPH <urn:a> {{ <urn:a:crop> {RDFS.label} 'plant' }} }}")
    assert [name for name in vector_spaces.spaces() if vector_spaces.changed(name, store=store, since=before)] == [
        "schema-term"
    ]
    vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=cached)
    assert embedder.texts == ["crop: crop. plant"]


@pytest.mark.parametrize(
    "update",
    [
        "INSERT DATA { GRAPH <urn:data> { <urn:s> <urn:p> 1 } }",
        "INSERT { GRAPH <urn:data> { ?s ?p ?o } } WHERE { GRAPH <urn:a> { ?s ?p ?o } }",
        "INSERT DATA { <urn:s> <urn:p> 1 }",
        "DELETE WHERE { GRAPH <urn:a> { <urn:none> ?p ?o } }",
        "WITH <urn:a> DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s <urn:none> ?o ; ?p ?o }",
    ],
)
def test_an_update_that_leaves_the_ontologies_as_they_are_reads_and_embeds_no_term(
    store: OxigraphStore, update: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.publish([ontology("a", crop="crop")])
    made = spaces()
    vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=HashEmbedder())
    store.update(update)
    for reading in ("keys", "texts"):
        monkeypatch.setattr(vector_spaces, reading, lambda *_args, **_more: pytest.fail("terms were read again"))
    assert (
        vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=CountingEmbedder(0)).revision
        == store.revision
    )


@pytest.mark.parametrize(
    "update",
    [
        "CLEAR GRAPH <urn:b>",
        "DROP GRAPH <urn:b>",
        "MOVE <urn:b> TO <urn:data>",
        "DELETE WHERE { GRAPH <urn:b> { ?s ?p ?o } }",
        "DELETE WHERE { GRAPH ?g { <urn:b:river> ?p ?o } }",
        f"DELETE DATA {{ GRAPH {NAMES.catalogue} {{ <urn:b> a {KG.OntologyGraph} }} }}",
    ],
)
def test_the_terms_of_an_ontology_that_an_update_takes_away_leave_the_space(store: OxigraphStore, update: str) -> None:
    store.publish([ontology("a", crop="crop"), ontology("b", river="river")])
    made = spaces()
    vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=HashEmbedder())
    store.update(update)
    assert vector_spaces.fresh("schema-term", store=store, spaces=made, embedder=HashEmbedder()).keys() == [
        "urn:a:crop"
    ]


def test_a_removal_or_a_replacement_concerns_the_spaces_of_its_kind_only(store: OxigraphStore) -> None:
    publish(store, small(1))
    store.publish([ontology("a", crop="crop")])
    since = store.revision
    store.publish([ontology("a", crop="plant")])
    assert [name for name in vector_spaces.spaces() if vector_spaces.changed(name, store=store, since=since)] == [
        "schema-term"
    ]
    store.remove([graph_of(small(1))])
    assert [name for name in vector_spaces.spaces() if vector_spaces.changed(name, store=store, since=since + 1)] == [
        "chunk"
    ]


def test_removed_document_leaves_no_vector(store: OxigraphStore) -> None:
    publish(store, small(1), small(2))
    made = spaces()
    vector_spaces.fresh("chunk", store=store, spaces=made, embedder=HashEmbedder())
    store.remove([graph_of(small(1))])
    index = vector_spaces.fresh("chunk", store=store, spaces=made, embedder=CountingEmbedder(0))
    question = HashEmbedder().embed([small(1).text], "query")
    assert [iri for iri, _ in index.search(question, 10)] == vector_spaces.keys("chunk", store=store)
    assert len(index) == 1


def test_space_ahead_of_a_restored_store_is_corrected(tmp_path: Path) -> None:
    first = OxigraphStore.open(None)
    publish(first, small(1))
    publish(first, small(2))
    vector_spaces.fresh("chunk", store=first, spaces=spaces(tmp_path), embedder=HashEmbedder())
    restored = OxigraphStore.open(None)
    publish(restored, small(1))
    index = vector_spaces.fresh("chunk", store=restored, spaces=spaces(tmp_path), embedder=CountingEmbedder(0))
    assert (index.keys(), index.revision) == (vector_spaces.keys("chunk", store=restored), restored.revision)


def test_space_is_there_in_the_next_process(store: OxigraphStore, tmp_path: Path) -> None:
    publish(store, *toy_documents())
    vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=HashEmbedder())
    index = vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=CountingEmbedder(0))
    assert sorted(index.keys()) == vector_spaces.keys("chunk", store=store)


def test_read_only_space_is_brought_up_to_date_in_memory(store: OxigraphStore, tmp_path: Path) -> None:
    publish(store, small(1))
    vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=HashEmbedder())
    publish(store, small(2))
    looking, embedder = spaces(tmp_path, read_only=True), CountingEmbedder()
    for _ in range(2):
        assert len(vector_spaces.fresh("chunk", store=store, spaces=looking, embedder=embedder)) == 2
    assert embedder.calls == 1
    assert len(spaces(tmp_path).space("chunk")) == 1


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95, None])
@pytest.mark.parametrize("suffix", [".f32", ".json", "manifest.json"])
def test_damaged_space_is_made_again(
    store: OxigraphStore, tmp_path: Path, caplog: pytest.LogCaptureFixture, suffix: str, share: float | None
) -> None:
    publish(store, *toy_documents())
    cache = CachedEmbedder(HashEmbedder(), None)
    vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=cache)
    path = next(path for path in sorted(tmp_path.rglob("*")) if path.name.endswith(suffix))
    data = path.read_bytes()
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    path.write_bytes(flipped if share is None else data[: int(len(data) * share)])
    caplog.set_level(logging.WARNING)
    asked = cache.misses
    index = vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=cache)
    assert sorted(index.keys()) == vector_spaces.keys("chunk", store=store)
    assert "damaged" in caplog.text
    assert cache.misses == asked
    assert len(spaces(tmp_path).space("chunk")) == len(index)


def test_failing_embedder_keeps_what_it_gave(
    store: OxigraphStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_spaces, "_BATCH", 2)
    monkeypatch.setattr(vector_spaces, "_SAVE_EVERY", 1)
    publish(store, *(small(number) for number in range(7)))
    with pytest.raises(ServiceUnavailable):
        vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=CountingEmbedder(2))
    half = spaces(tmp_path).space("chunk")
    assert (len(half), half.revision) == (4, -1)
    embedder = CountingEmbedder()
    index = vector_spaces.fresh("chunk", store=store, spaces=spaces(tmp_path), embedder=embedder)
    assert (len(index), len(embedder.texts), index.revision) == (7, 3, store.revision)


def test_progress_is_told_after_each_batch(store: OxigraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_spaces, "_BATCH", 2)
    publish(store, *(small(number) for number in range(5)))
    told: list[tuple[str, int, int]] = []
    vector_spaces.fresh(
        "chunk", store=store, spaces=spaces(), embedder=HashEmbedder(), progress=lambda *told_now: told.append(told_now)
    )
    assert told == [("embed chunk", 2, 5), ("embed chunk", 4, 5), ("embed chunk", 5, 5)]


def test_threads_embed_once(store: OxigraphStore) -> None:
    publish(store, *toy_documents())
    embedder = CountingEmbedder()
    ports = {"store": store, "spaces": spaces(), "embedder": embedder}
    threads = [threading.Thread(target=vector_spaces.fresh, args=("chunk",), kwargs=ports) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert embedder.calls == 1


@pytest.mark.parametrize("call", [vector_spaces.keys, vector_spaces.texts])
def test_unknown_space_is_named_with_the_known_ones(store: OxigraphStore, call: object) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'chunk'"):
        call("chunks", store=store)  # type: ignore[operator]


@settings(max_examples=25, deadline=None)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=8))
def test_space_mirrors_the_store_after_any_changes(steps: list[tuple[bool, int]]) -> None:
    store, made = OxigraphStore.open(None), spaces()
    for adds, number in steps:
        if adds:
            publish(store, small(number))
        elif store.described(graph_of(small(number))):
            store.remove([graph_of(small(number))])
        index = vector_spaces.fresh("chunk", store=store, spaces=made, embedder=HashEmbedder())
        assert sorted(index.keys()) == vector_spaces.keys("chunk", store=store)


def test_a_question_does_not_wait_for_an_embedding_that_lets_it_in_between(store: OxigraphStore) -> None:
    publish(store, small(1), small(2))
    folder, embedder = spaces(), HashEmbedder()
    answered: list[int] = []

    def ask() -> None:
        answered.append(len(vector_spaces.fresh("chunk", store=store, spaces=folder, embedder=embedder)))

    def report(_stage: str, _done: int, _total: int) -> None:
        question = threading.Thread(target=ask, daemon=True)
        question.start()
        question.join(10)

    vector_spaces.fresh("chunk", store=store, spaces=folder, embedder=embedder, progress=report)
    assert answered == [2]


def test_a_thread_knows_whether_it_is_making_a_file_that_others_wait_for(store: OxigraphStore, tmp_path: Path) -> None:
    publish(store, small(1))
    reported: list[bool] = []
    bm25.fresh(store, tmp_path, progress=lambda *_: reported.append(array_files.being_made()))
    assert (reported, array_files.being_made()) == ([True], False)
