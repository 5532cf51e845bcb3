"""The texts of every vector space: over two graphs, with words missing, and with nodes where words are expected."""

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.index import vector_spaces
from kgrag.index.vector_folder import FolderSpaces
from kgrag.knowledge_base import doctor
from kgrag.model import GraphDraft, Term
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder
from kgrag.vocab import DCTERMS, KG, OWL, RDF, RDFS, Names

NAMES = Names()
SPACES = sorted(vector_spaces.spaces())
SH = "http://www.w3.org/ns/shacl#"
QUESTION = ox.NamedNode(f"{SH}SPARQLSelectExecutable")
SELECT = (ox.NamedNode(f"{SH}select"), ox.Literal("SELECT ?s WHERE { GRAPH ?g { ?s ?p ?o } }"))
TYPES = {
    "chunk": KG.Chunk,
    "hypernode-key": KG.HypernodeKey,
    "hypernode-value": KG.HypernodeValue,
    "competency-question": QUESTION,
    "schema-term": OWL.Class,
    "proposition": KG.Proposition,
    "triple": KG.Statement,
    "condensed-triple": KG.Statement,
}
FIRST, SHARED, SECOND = (
    ox.NamedNode(f"http://example.org/things#{name}Node") for name in ("first", "shared", "second")
)

Words = dict[ox.NamedNode, list[Term]]


def graph(space: str, number: int, words: Words) -> GraphDraft:
    """Returns a graph of the space's kind with these nodes, each with its words; chunks have no title."""
    kind, tree = vector_spaces.spaces()[space].kind, vector_spaces.spaces()[space].tree
    said = {"competency-question": KG.question, "schema-term": RDFS.label}.get(space, KG.text)
    triples = [ox.Triple(node, said, text) for node, texts in words.items() for text in texts]
    for node in words:
        if space in TYPES:
            triples.append(ox.Triple(node, RDF.type, TYPES[space]))
        if space == "competency-question":
            triples.append(ox.Triple(node, *SELECT))
        if space == "aggregate" or tree:
            part = KG.hasChild if tree else DCTERMS.hasPart
            triples.append(ox.Triple(node, part, ox.NamedNode("urn:part")))
    layer = {"triple": "graph", "condensed-triple": "condensed"}.get(space)
    described = [(KG.layer, ox.Literal(layer))] if layer else []
    iri = NAMES.tree_graph(tree) if tree and number == 1 else ox.NamedNode(f"urn:graph:{number}")
    return GraphDraft(iri, kind, triples, "replace", described=described)


def store_of(*drafts: GraphDraft) -> OxigraphStore:
    store = OxigraphStore.open(None)
    store.publish(drafts)
    return store


def literals(*texts: str) -> list[Term]:
    return [ox.Literal(text) for text in texts]


def test_every_space_query_is_tried_here() -> None:
    tried = {query for space in vector_spaces.spaces().values() for query in (space.query, space.texts)}
    assert tried | {"spaces/changed", "spaces/chunk-new", "spaces/chunk-count", "spaces/unexplained"} == {
        name for name in queries.names() if name.startswith("spaces/")
    }


@pytest.mark.parametrize("space", SPACES)
def test_with_two_graphs_every_node_has_one_text_with_its_words(space: str) -> None:
    held = {FIRST: literals("river basin"), SHARED: literals("water table")}
    store = store_of(
        graph(space, 1, held), graph(space, 2, {SHARED: literals("water table"), SECOND: literals("soil depth")})
    )
    wanted = {FIRST.value: "river basin", SHARED.value: "water table", SECOND.value: "soil depth"}
    if vector_spaces.spaces()[space].tree:
        del wanted[SECOND.value]  # it belongs to another tree
    texts = vector_spaces.texts(space, store=store)
    assert [iri for iri, _ in texts] == vector_spaces.keys(space, store=store) == sorted(wanted)
    for iri, text in texts:
        assert text.count(wanted[iri]) == 1


@pytest.mark.parametrize("space", sorted({*SPACES} - {"competency-question"}))
def test_a_node_that_two_graphs_word_differently_has_both_wordings(space: str) -> None:
    store = store_of(
        graph(space, 1, {SHARED: literals("water table")}), graph(space, 2, {SHARED: literals("Wasserspiegel")})
    )
    ((_, text),) = vector_spaces.texts(space, store=store)
    assert "water table" in text
    assert "Wasserspiegel" in text


def test_of_several_questions_the_one_that_sorts_first_is_embedded() -> None:
    drafts = [graph("competency-question", number, {SHARED: literals(text)}) for number, text in [(1, "B?"), (2, "A?")]]
    assert vector_spaces.texts("competency-question", store=store_of(*drafts)) == [(SHARED.value, "A?")]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("other", [ox.BlankNode(), ox.NamedNode("urn:definition")], ids=["blank node", "IRI"])
def test_a_node_among_the_words_takes_no_words_away(space: str, other: Term) -> None:
    store = store_of(graph(space, 1, {FIRST: [*literals("river basin"), other]}))
    ((_, text),) = vector_spaces.texts(space, store=store)
    assert text.endswith("river basin")


@pytest.mark.parametrize("space", SPACES)
def test_words_in_a_language_or_of_a_datatype_are_words(space: str) -> None:
    number = ox.Literal("42", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
    words: Words = {FIRST: [ox.Literal("bassin", language="fr")], SHARED: [number]}
    store = store_of(graph(space, 1, words))
    assert [text.split(": ")[-1] for _, text in vector_spaces.texts(space, store=store)] == ["bassin", "42"]


@pytest.mark.parametrize("space", SPACES)
def test_a_node_without_words_has_no_text_and_hides_none(space: str) -> None:
    store = store_of(graph(space, 1, {FIRST: [], SHARED: literals("water table")}))
    texts = dict(vector_spaces.texts(space, store=store))
    assert texts.pop(SHARED.value).endswith("water table")
    assert texts == ({FIRST.value: "first node"} if space == "schema-term" else {})


@pytest.mark.parametrize("space", SPACES)
def test_a_space_without_any_graph_has_no_texts(space: str) -> None:
    assert vector_spaces.texts(space, store=store_of()) == []


@pytest.mark.parametrize("space", SPACES)
def test_unknown_nodes_and_nodes_of_other_kinds_of_graph_have_no_text(space: str) -> None:
    draft = graph(space, 1, {FIRST: literals("river basin")})
    planted = GraphDraft(ox.NamedNode("urn:planted"), KG.LexicalGraph, draft.triples, "replace")
    assert vector_spaces.texts(space, store=store_of(planted), iris=[FIRST.value, "urn:unknown"]) == []
    assert vector_spaces.texts(space, store=store_of(draft), iris=["urn:unknown"]) == []


@pytest.mark.parametrize("space", SPACES)
def test_a_node_without_words_is_no_missing_vector(space: str) -> None:
    store = store_of(graph(space, 1, {FIRST: [], SHARED: literals("water table")}))
    spaces = FolderSpaces(None, identity="hash-64", dimension=64)
    vector_spaces.fresh(space, store=store, spaces=spaces, embedder=HashEmbedder())
    found = doctor.examine(store, spaces=spaces, embedder=HashEmbedder())
    assert [finding for finding in found if finding.check == "vectors" and f"'{space}'" in finding.message] == []


def test_a_node_whose_words_an_update_takes_away_leaves_the_space() -> None:
    store = store_of(graph("proposition", 1, {FIRST: literals("river basin"), SHARED: literals("water table")}))
    spaces = FolderSpaces(None, identity="hash-64", dimension=64)
    assert len(vector_spaces.fresh("proposition", store=store, spaces=spaces, embedder=HashEmbedder())) == 2
    store.update(f"DELETE WHERE {{ GRAPH <urn:graph:1> {{ {FIRST} {KG.text} ?text }} }}")
    assert vector_spaces.fresh("proposition", store=store, spaces=spaces, embedder=HashEmbedder()).keys() == [
        SHARED.value
    ]


def test_two_documents_keep_their_titles_and_a_title_that_is_a_node_takes_no_text_away() -> None:
    drafts = []
    for number, (chunk, title) in enumerate([(FIRST, ox.Literal("Rivers")), (SECOND, ox.BlankNode())], 1):
        draft = graph("chunk", number, {chunk: literals("where water gathers")})
        document = ox.NamedNode(f"urn:document:{number}")
        link = [ox.Triple(chunk, DCTERMS.isPartOf, document), ox.Triple(document, DCTERMS.title, title)]
        drafts.append(GraphDraft(draft.iri, draft.kind, [*draft.triples, *link], "replace"))
    texts = dict(vector_spaces.texts("chunk", store=store_of(*drafts)))
    assert texts == {FIRST.value: "Rivers\nwhere water gathers", SECOND.value: "where water gathers"}


def test_the_text_of_a_term_does_not_depend_on_the_order_of_the_ontologies() -> None:
    drafts = [graph("schema-term", number, {SHARED: literals(text)}) for number, text in [(1, "reach"), (2, "stretch")]]
    assert vector_spaces.texts("schema-term", store=store_of(*drafts)) == vector_spaces.texts(
        "schema-term", store=store_of(*drafts[::-1])
    )
    assert vector_spaces.texts("schema-term", store=store_of(*drafts)) == [
        (SHARED.value, "shared node: reach. stretch")
    ]


@pytest.mark.parametrize("space", sorted({*SPACES} - {"chunk", "competency-question", "schema-term"}))
@pytest.mark.parametrize(("most", "requests"), [(2, 1), (1, 4)])
def test_a_small_new_space_is_read_in_one_request_and_a_larger_one_batch_by_batch(
    space: str, most: int, requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_spaces, "_BATCH", most)
    words: Words = {FIRST: literals("river basin"), SHARED: literals("water table"), SECOND: []}
    store, asked = store_of(graph(space, 1, words)), list[str]()
    select = store.select
    monkeypatch.setattr(store, "select", lambda query: asked.append(query) or select(query))
    spaces, embedder = FolderSpaces(None, identity="hash-64", dimension=64), HashEmbedder()
    index = vector_spaces.fresh(space, store=store, spaces=spaces, embedder=embedder)
    assert len(asked) == requests
    assert index.keys() == [FIRST.value, SHARED.value]
    near = embedder.embed(["water table"], "query")[0]
    ((found, score),) = index.search(near, 1)
    assert (found, round(score, 3)) == (SHARED.value, 1.0)
