import pytest

from tests.server.conftest import KEY, Server

ONE = "SELECT (1 AS ?one) {}"
DIRECT = {"Content-Type": "application/sparql-query"}


def test_a_query_can_be_asked_by_get_form_and_directly(server: Server) -> None:
    answers = [
        server.client.get("/sparql", params={"query": ONE}),
        server.client.post("/sparql", data={"query": ONE}),
        server.client.post("/sparql", content=ONE, headers=DIRECT),
    ]
    assert [answer.json()["results"]["bindings"][0]["one"]["value"] for answer in answers] == ["1"] * 3


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/sparql-results+json"),
        ("*/*", "application/sparql-results+json"),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv;q=0.4, text/tab-separated-values;q=0.6", "text/tab-separated-values; charset=utf-8"),
        ("text/*;q=0.9, application/*;q=0.1", "text/csv; charset=utf-8"),
    ],
)
def test_a_table_comes_in_the_format_that_is_wanted_most(server: Server, accept: str, media: str) -> None:
    answer = server.client.get("/sparql", params={"query": ONE}, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (200, media)


@pytest.mark.parametrize(
    "media",
    [
        "text/turtle",
        "application/n-triples",
        "application/trig",
        "application/n-quads",
        "application/ld+json",
        "application/rdf+xml",
    ],
)
def test_a_graph_comes_in_every_format(server: Server, media: str) -> None:
    query = "CONSTRUCT { <urn:s> <urn:p:p> 1 } WHERE {}"
    answer = server.client.get("/sparql", params={"query": query}, headers={"Accept": media})
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] == media
    assert "urn:s" in answer.text


@pytest.mark.parametrize(
    ("method", "path", "arguments", "status"),
    [
        ("GET", "/sparql", {"params": {"query": "SELECT ?x {"}}, 400),
        ("GET", "/sparql", {"params": [("query", ONE), ("query", ONE)]}, 400),
        ("GET", "/sparql", {"params": {"update": "CLEAR ALL"}}, 400),
        ("GET", "/sparql?query=%FF", {}, 400),
        ("GET", "/sparql", {"params": {"query": ONE, "timeout": "soon"}}, 400),
        ("GET", "/sparql", {"params": {"query": ONE, "default-graph-uri": "no iri"}}, 400),
        ("GET", "/sparql", {"params": [("query", ONE), *[("default-graph-uri", f"urn:{n}") for n in range(21)]]}, 400),
        ("PUT", "/sparql", {"content": ONE, "headers": DIRECT}, 405),
        ("GET", "/update", {"params": {"update": "CLEAR ALL"}}, 405),
        ("PATCH", "/graphs", {"params": {"graph": "urn:g"}}, 405),
        ("GET", "/sparql", {"params": {"query": ONE}, "headers": {"Accept": "image/png"}}, 406),
        ("GET", "/sparql", {"params": {"query": ONE}, "headers": {"Accept": "text/turtle"}}, 406),
        ("POST", "/sparql", {"content": ONE, "headers": {"Content-Type": "text/plain"}}, 415),
        ("POST", "/sparql", {"content": ONE}, 415),
        ("POST", "/sparql", {"content": ONE, "headers": {"Content-Type": "application/sparql-query; charset=utf-16"}}, 415),
        ("GET", "/graphs", {}, 400),
        ("GET", "/graphs", {"params": {"graph": "urn:absent"}}, 404),
        ("GET", "/../../etc/passwd", {}, 404),
    ],
)  # fmt: skip
def test_a_bad_request_gets_the_status_of_the_standard(
    server: Server, method: str, path: str, arguments: dict, status: int
) -> None:
    answer = server.client.request(method, path, **arguments)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert ".py" not in answer.text


@pytest.mark.parametrize("character", ["\\u0001", "\\u000B", "\\uFFFE"])
def test_what_xml_cannot_have_is_refused_and_not_written_into_it(server: Server, character: str) -> None:
    table, graph = f'SELECT ("a{character}b" AS ?x) {{}}', f'CONSTRUCT {{ <urn:x:s> <urn:x:p> "{character}" }} {{}}'
    for text, xml, other in (
        (table, "application/sparql-results+xml", "text/tab-separated-values"),
        (graph, "application/rdf+xml", "text/turtle"),
    ):
        refused = server.client.get("/sparql", params={"query": text}, headers={"Accept": xml})
        assert refused.status_code == 406
        assert f"U+{character[2:]}, which XML cannot have" in refused.json()["detail"]
        assert server.client.get("/sparql", params={"query": text}, headers={"Accept": other}).status_code == 200


def test_a_bare_get_that_asks_for_rdf_gets_the_description_of_the_service(server: Server) -> None:
    answer = server.client.get("/sparql", headers={"Accept": "text/turtle"})
    assert "sd:UnionDefaultGraph" in answer.text
    assert f"sd:endpoint <{server.client.base_url}/sparql>".replace("//sparql", "/sparql") in answer.text


def test_the_default_graph_is_the_union_unless_the_request_says_otherwise(server: Server) -> None:
    assert server.update("INSERT DATA { GRAPH <urn:union> { <urn:s> <urn:p:union> 1 } }").status_code == 204
    ask = "ASK { ?s <urn:p:union> 1 }"
    assert server.query(ask).json()["boolean"] is True
    assert server.query(ask, **{"union-default-graph": "false"}).json()["boolean"] is False
    assert server.query(ask, **{"default-graph-uri": "urn:union"}).json()["boolean"] is True
    assert server.query(ask, **{"default-graph-uri": "urn:other"}).json()["boolean"] is False
    assert server.query("ASK FROM <urn:other> { ?s <urn:p:union> 1 }").json()["boolean"] is False


def test_a_triple_of_several_graphs_is_counted_once(server: Server) -> None:
    for graph in ("urn:one", "urn:two"):
        assert server.update(f"INSERT DATA {{ GRAPH <{graph}> {{ <urn:s> <urn:p:both> 1 }} }}").status_code == 204
    answers = [
        server.query("SELECT (COUNT(*) AS ?n) { ?s <urn:p:both> ?o }"),
        server.query("SELECT (COUNT(*) AS ?n) FROM <urn:one> FROM <urn:two> { ?s <urn:p:both> ?o }"),
        server.query("SELECT (COUNT(*) AS ?n) { ?s <urn:p:both> ?o }", **{"default-graph-uri": ["urn:one", "urn:two"]}),
        server.query("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s <urn:p:both> ?o } }"),
    ]
    assert [answer.json()["results"]["bindings"][0]["n"]["value"] for answer in answers] == ["1", "1", "1", "2"]


def test_a_client_reads_its_own_writes(server: Server) -> None:
    for number in range(5):
        assert server.update(f"INSERT DATA {{ GRAPH <urn:own> {{ <urn:s> <urn:p:n> {number} }} }}").status_code == 204
        answer = server.query("SELECT (COUNT(*) AS ?n) { GRAPH <urn:own> { ?s ?p ?o } }")
        assert answer.json()["results"]["bindings"][0]["n"]["value"] == str(number + 1)


def test_an_update_takes_its_dataset_from_the_request(server: Server) -> None:
    server.update("INSERT DATA { GRAPH <urn:from> { <urn:s> <urn:p:from> 1 } }")
    text = "INSERT { GRAPH <urn:to> { ?s <urn:p:to> ?o } } WHERE { ?s <urn:p:from> ?o }"
    done = server.writer.post("/update", data={"update": text, "using-graph-uri": "urn:from"})
    assert done.status_code == 204
    assert server.query("ASK { GRAPH <urn:to> { <urn:s> <urn:p:to> 1 } }").json()["boolean"] is True


@pytest.mark.parametrize("key", ["", "Bearer", "Bearer wrong", f"Basic {KEY}", f"Bearer {KEY}x"])
def test_a_write_without_a_key_that_is_known_is_refused(server: Server, key: str) -> None:
    headers = {"Content-Type": "application/sparql-update", "Authorization": key}
    answer = server.client.post("/update", content="CLEAR ALL", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert server.client.delete("/graphs?default", headers={"Authorization": key}).status_code == 401


def test_a_page_of_another_origin_may_ask(server: Server) -> None:
    answer = server.client.get("/sparql", params={"query": ONE}, headers={"Origin": "https://example.org"})
    assert answer.headers["access-control-allow-origin"] == "*"


def test_a_long_result_is_compressed_when_the_client_can_unpack_it(server: Server) -> None:
    rows = " ".join(f"<urn:row:{number}>" for number in range(20_000))
    answer = server.client.post("/sparql", data={"query": f"SELECT ?x {{ VALUES ?x {{ {rows} }} }}"})
    assert answer.headers["content-encoding"] == "gzip"
    assert len(answer.json()["results"]["bindings"]) == 20_000


def test_health_and_void_describe_the_knowledge_base(server: Server) -> None:
    assert server.client.get("/health").json()["status"] == "ok"
    described = server.client.get("/void", headers={"Accept": "application/n-triples"}).text
    assert (
        "<urn:kgrag:graph/catalogue> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://rdfs.org/ns/void#Dataset>"
        in described
    )


def test_a_scratch_dataset_has_a_real_default_graph(scratch: Server) -> None:
    assert scratch.client.post("/update", data={"update": "INSERT DATA { <urn:s> <urn:p:p> 1 }"}).status_code == 204
    assert scratch.query("ASK { ?s ?p 1 }").json()["boolean"] is True
    assert scratch.query("SELECT ?g { GRAPH ?g { ?s ?p 1 } }").json()["results"]["bindings"] == []
    assert "urn:s" in scratch.client.get("/graphs?default").text
