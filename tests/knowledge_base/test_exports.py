"""What other programs get: graphs as RDF and GraphML, an RO-Crate, answers as JSON-LD."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import InputError, KnowledgeBase
from kgrag.answering.framed_answers import answer_jsonld
from kgrag.errors import UnknownName
from kgrag.knowledge_base.research_crate import EXPORT_NAME
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

CROPS = "https://w3id.org/kgrag/examples/crops"
DEMO = Path(__file__).parents[2] / "kgrag" / "demo"
QUESTION = "When is chickpea sown in the Hill Zone?"
NS = {"g": "http://graphml.graphdrawing.org/xmlns"}


@pytest.fixture(scope="module")
def crops(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    path = tmp_path_factory.mktemp("exports") / "crops.kb"
    kb = KnowledgeBase(path, settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    kb.build("og_rag", mapped=DEMO / "mapped")
    yield kb
    kb.close()


def canonical(triples: object) -> ox.Dataset:
    """A dataset by RDFC-1.0, with literals as the engine keeps them."""
    store = ox.Store()
    store.extend(each if isinstance(each, ox.Quad) else ox.Quad(*each) for each in triples)  # type: ignore[attr-defined]
    dataset = ox.Dataset(ox.Quad(*quad.triple) for quad in store)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return dataset


# --- RDF ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".ttl", ".owl", ".rdf", ".nt", ".jsonld"])
def test_an_ontology_is_written_and_read_back_as_the_same_graph(
    crops: KnowledgeBase, tmp_path: Path, suffix: str
) -> None:
    file = tmp_path / f"crops{suffix}"
    assert crops.export_graphs(file, CROPS) == len(crops.graph(CROPS))
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as other:
        other.load(file, graph=CROPS)
        assert canonical(other.graph(CROPS)) == canonical(crops.graph(CROPS))


def test_trig_keeps_graphs_apart_and_without_names_all_facts_are_written(crops: KnowledgeBase, tmp_path: Path) -> None:
    file = tmp_path / "facts.trig"
    count = crops.export_graphs(file)
    written = list(ox.parse(path=file))
    kinds = crops.stats()["graphs"]
    assert len(written) == count
    assert len({quad.graph_name for quad in written}) == kinds["OntologyGraph"] + kinds["AssertionGraph"]
    assert b"kg:Chunk" not in file.read_bytes()


@pytest.mark.parametrize(
    ("name", "graph", "error", "said"),
    [
        ("all.nq", CROPS, InputError, r"graphs are written to \.ttl, \.owl"),
        ("a.ttl", "urn:none", UnknownName, "there is no graph <urn:none>"),
        ("a.ttl", "crops", InputError, "a graph is no absolute IRI"),
    ],
)
def test_what_cannot_be_written_is_refused(
    crops: KnowledgeBase, tmp_path: Path, name: str, graph: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        crops.export_graphs(tmp_path / name, graph)
    assert list(tmp_path.iterdir()) == []


def test_a_property_that_xml_cannot_name_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        (tmp_path / "a.nt").write_text("<urn:s> <urn:p/1> <urn:o> .\n", encoding="utf-8")
        kb.load(tmp_path / "a.nt", graph="urn:g")
        with pytest.raises(InputError, match=r"cannot be written so.*Write Turtle"):
            kb.export_graphs(tmp_path / "a.owl", "urn:g")


# --- GraphML ------------------------------------------------------------------------------------------------------


def graphml(path: Path) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, str]], dict[str, str]]:
    """Nodes by IRI with their attributes, edges as source, property and target, and the type of each attribute."""
    root = ET.parse(path).getroot()
    keys = {key.get("id"): key.get("attr.name") for key in root.findall("g:key", NS)}
    types = {str(key.get("attr.name")): str(key.get("attr.type")) for key in root.findall("g:key", NS)}
    nodes, iris = {}, {}
    for node in root.findall("g:graph/g:node", NS):
        data = {str(keys[each.get("key")]): each.text or "" for each in node.findall("g:data", NS)}
        iris[node.get("id")] = data["iri"]
        nodes[data["iri"]] = data
    edges = []
    for edge in root.findall("g:graph/g:edge", NS):
        data = {keys[each.get("key")]: each.text for each in edge.findall("g:data", NS)}
        edges.append((iris[edge.get("source")], str(data["property"]), iris[edge.get("target")]))
    return nodes, edges, types


def test_graphml_has_things_as_nodes_and_statements_between_them_as_edges(tmp_path: Path) -> None:
    turtle = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
    :a a :Mill ; rdfs:label "Mill <A> & co" ; :height 12 ; :year 1820 ; :near :b , _:c . :b :height 3.5 ; :year 1820 , 1821 .
    _:c rdfs:label "a\\u0001b" ."""
    (tmp_path / "a.ttl").write_text(turtle, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.load(tmp_path / "a.ttl", graph="urn:g")
        assert kb.export_graphs(tmp_path / "a.graphml", "urn:g") == 10
    nodes, edges, types = graphml(tmp_path / "a.graphml")
    mill = nodes["http://example.org/a"]
    assert (mill["label"], mill["type"], mill["height"]) == ("Mill <A> & co", "Mill", "12")
    assert (types["height"], types["year"]) == ("double", "string")
    assert nodes["http://example.org/b"]["year"] in ("1820; 1821", "1821; 1820")
    assert ("http://example.org/a", "http://example.org/near", "http://example.org/b") in edges
    assert len(edges) == 2
    assert "a\ufffdb" in {node["label"] for node in nodes.values()}


def test_graphml_of_all_facts_names_the_graph_of_each_edge(crops: KnowledgeBase, tmp_path: Path) -> None:
    crops.export_graphs(tmp_path / "facts.graphml")
    nodes, edges, _ = graphml(tmp_path / "facts.graphml")
    assert f"{CROPS}#GrowingZone" in nodes
    assert len(edges) > 50
    networkx = pytest.importorskip("networkx")
    read = networkx.read_graphml(tmp_path / "facts.graphml")
    assert (read.number_of_nodes(), read.number_of_edges()) == (len(nodes), len(edges))


# --- RO-Crate -----------------------------------------------------------------------------------------------------


def test_a_crate_describes_its_files_its_sources_and_what_made_it(crops: KnowledgeBase, tmp_path: Path) -> None:
    target = tmp_path / "crate"
    licence = "https://creativecommons.org/licenses/by/4.0/"
    crops.export_crate(target, license_url=licence)
    described = json.loads((target / "ro-crate-metadata.json").read_text(encoding="utf-8"))
    entities = {each["@id"]: each for each in described["@graph"]}
    assert entities["ro-crate-metadata.json"]["conformsTo"]["@id"] == "https://w3id.org/ro/crate/1.1"
    root = entities["./"]
    assert (root["name"], root["license"]["@id"]) == ("crops.kb", licence)
    assert {each["@id"] for each in root["hasPart"]} == {path.name for path in target.iterdir()} - {
        "ro-crate-metadata.json"
    }
    assert {each["@id"] for each in root["isBasedOn"]} == {each.iri for each in crops.documents()} | {CROPS}
    (action,) = (each for each in described["@graph"] if each["@type"] == "CreateAction")
    assert (action["name"], action["result"]["@id"]) == ("og_rag", EXPORT_NAME)
    referred = {
        each["@id"] for entity in described["@graph"] for value in entity.values() for each in _references(value)
    }
    assert referred - set(entities) == {"https://w3id.org/ro/crate/1.1"}
    with KnowledgeBase(tmp_path / "again.kb", settings=Settings(), embedder=HashEmbedder()) as again:
        assert again.import_(target / EXPORT_NAME) == crops.stats()["quads"]


def _references(value: object) -> list[dict[str, str]]:
    found = value if isinstance(value, list) else [value]
    return [each for each in found if isinstance(each, dict)]


def test_a_crate_goes_into_no_folder_that_has_something_in_it(crops: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is not empty"):
        crops.export_crate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note"]


# --- JSON-LD ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", [QUESTION, "Who painted the Mona Lisa?"])
def test_an_answer_as_json_ld_is_the_graph_of_the_kept_answer(crops: KnowledgeBase, question: str) -> None:
    answer = crops.ask(question, method="passages:signal=bm25", keep=True)
    document = answer_jsonld(answer, crops.store.names)
    kept = [each for each in crops.store.graphs() if "answer" in each and _asks(crops, each, question)]
    parsed = ox.parse(json.dumps(document), format=ox.RdfFormat.JSON_LD)
    assert canonical(quad.triple for quad in parsed) == canonical(crops.graph(kept[0]))


def _asks(kb: KnowledgeBase, graph: str, question: str) -> bool:
    return any(triple.object == ox.Literal(question) for triple in kb.graph(graph))


def test_an_answer_as_json_ld_is_a_tree_for_programs_that_know_no_rdf(crops: KnowledgeBase) -> None:
    document = answer_jsonld(crops.ask(QUESTION, method="passages:signal=bm25"), crops.store.names)
    assert (document["type"], document["question"], document["unknown"]) == ("kg:Answer", QUESTION, False)
    (citation,) = document["citations"]
    assert citation["quote"] == "In the Hill Zone, chickpea is sown from 10 March to 25 March."
    assert citation["end"] - citation["start"] == len(citation["quote"])
    assert citation["from"]["id"].startswith("urn:kgrag:")
