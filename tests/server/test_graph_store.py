import re
import socket
from collections import Counter

import pyoxigraph as ox
import pytest

from tests.server.conftest import KEY, Server

TURTLE = {"Content-Type": "text/turtle"}


def _get(server: Server, graph: str) -> str:
    answer = server.client.get("/graphs", params={"graph": graph}, headers={"Accept": "application/n-triples"})
    return answer.text if answer.status_code == 200 else str(answer.status_code)


def test_put_makes_and_replaces_a_graph_and_delete_removes_it(server: Server) -> None:
    where = {"params": {"graph": "urn:put"}, "headers": TURTLE}
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 1 .", **where).status_code == 201
    assert server.writer.put("/graphs", content="<urn:b> <urn:p:p> 2 .", **where).status_code == 204
    assert _get(server, "urn:put") == '<urn:b> <urn:p:p> "2"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    assert server.writer.delete("/graphs", params={"graph": "urn:put"}).status_code == 204
    assert _get(server, "urn:put") == "404"
    assert server.writer.delete("/graphs", params={"graph": "urn:put"}).status_code == 404


def test_an_xml_literal_that_is_put_is_well_formed(server: Server) -> None:
    rdf = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    body = (
        f'<rdf:RDF {rdf} xmlns="urn:x:" xmlns:e="urn:e:"><rdf:Description rdf:about="urn:a">'
        '<e:p rdf:parseType="Literal"><b xmlns="urn:x:">x</b></e:p></rdf:Description></rdf:RDF>'
    )
    where = {"params": {"graph": "urn:xml"}, "headers": {"Content-Type": "application/rdf+xml"}}
    assert server.writer.put("/graphs", content=body, **where).status_code == 201
    assert _get(server, "urn:xml").count(" xmlns=") == 1


def test_a_graph_that_was_put_is_in_the_catalogue(server: Server) -> None:
    server.writer.put(
        "/graphs",
        params={"graph": "urn:listed"},
        content="<urn:a> a <http://www.w3.org/2002/07/owl#Class> .",
        headers=TURTLE,
    )
    ask = "ASK { GRAPH <urn:kgrag:graph/catalogue> { <urn:listed> a <https://w3id.org/kgrag/ns#OntologyGraph> } }"
    assert server.query(ask).json()["boolean"] is True


def test_post_adds_to_a_graph_and_takes_several_files(server: Server) -> None:
    server.writer.put("/graphs", params={"graph": "urn:post"}, content="<urn:a> <urn:p:p> 1 .", headers=TURTLE)
    server.writer.post("/graphs", params={"graph": "urn:post"}, content="<urn:a> <urn:p:p> 2 .", headers=TURTLE)
    files = [
        ("one", ("one.ttl", b"<urn:a> <urn:p:p> 3 .", "text/turtle")),
        ("two", ("two.nt", b"<urn:a> <urn:p:p> <urn:four> .\n", "application/n-triples")),
    ]
    assert server.writer.post("/graphs", params={"graph": "urn:post"}, files=files).status_code == 204
    assert len(_get(server, "urn:post").splitlines()) == 4


def test_post_without_a_graph_makes_one_and_gives_its_address(server: Server) -> None:
    answer = server.writer.post("/graphs", content="<urn:a> <urn:p:p> 1 .", headers=TURTLE)
    assert answer.status_code == 201
    assert "urn:a" in server.client.get(answer.headers["location"]).text
    assert "urn:a" in _get(server, answer.headers["location"])


def test_a_graph_below_the_path_is_named_by_its_address(server: Server) -> None:
    assert server.writer.put("/graphs/a/b%201", content="<> <urn:p:p> 1 .", headers=TURTLE).status_code == 201
    address = f"{str(server.client.base_url).rstrip('/')}/graphs/a/b%201"
    assert f"<{address}>" in _get(server, address)
    assert server.client.get("/graphs/a/b%201").status_code == 200
    assert server.client.get("/graphs/a/b2").status_code == 404


def _tag(server: Server, graph: str) -> str:
    return str(server.client.head("/graphs", params={"graph": graph}).headers["etag"])


def test_a_tag_changes_with_the_graph_and_guards_a_write(server: Server) -> None:
    server.writer.put("/graphs", params={"graph": "urn:tag"}, content="<urn:a> <urn:p:p> 1 .", headers=TURTLE)
    tag = _tag(server, "urn:tag")
    assert server.client.get("/graphs", params={"graph": "urn:tag"}, headers={"If-None-Match": tag}).status_code == 304
    guarded = {"params": {"graph": "urn:tag"}, "headers": {**TURTLE, "If-Match": tag}}
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 2 .", **guarded).status_code == 204
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 3 .", **guarded).status_code == 412
    assert server.writer.delete("/graphs", **guarded).status_code == 412


@pytest.mark.parametrize(
    ("update", "changes"),
    [
        ("INSERT DATA { GRAPH <urn:elsewhere> { <urn:s> <urn:p:p> 1 } }", False),
        ("INSERT { GRAPH <urn:elsewhere> { ?s ?p 2 } } WHERE { GRAPH <urn:kept> { ?s ?p ?o } }", False),
        ("INSERT DATA { GRAPH <urn:kept> { <urn:s> <urn:p:p> 1 } }", True),
        ("INSERT { GRAPH ?g { ?s <urn:p:p> 3 } } WHERE { GRAPH ?g { ?s <urn:p:p> 1 } }", True),
        ("DROP GRAPH <urn:elsewhere>", False),
        ("COPY <urn:kept> TO <urn:elsewhere>", False),
        ("ADD <urn:elsewhere> TO <urn:kept>", True),
    ],
)
def test_a_tag_outlives_writes_to_other_graphs(server: Server, update: str, changes: bool) -> None:
    server.update("INSERT DATA { GRAPH <urn:kept> { <urn:a> <urn:p:p> 1 } }")
    tag, whole = _tag(server, "urn:kept"), _tag(server, "urn:kgrag:graph/catalogue")
    assert server.update(update).status_code == 204
    assert (_tag(server, "urn:kept") != tag) is changes
    assert _tag(server, "urn:kgrag:graph/catalogue") != whole


def test_an_update_over_http_is_on_record_for_the_graph_that_it_changed_only(server: Server) -> None:
    server.update(
        "INSERT DATA { GRAPH <urn:read> { <urn:a> <urn:p:p> 1 } GRAPH <urn:written> { <urn:a> <urn:p:p> 1 } }"
    )
    server.update("INSERT { GRAPH <urn:written> { ?s ?p 2 } } WHERE { GRAPH <urn:read> { ?s ?p ?o } }")
    revision = server.client.get("/health").json()["revision"]
    changed = (
        f"SELECT ?g WHERE {{ ?g kg:publication/kg:revision {revision} FILTER(?g != <urn:kgrag:graph/catalogue>) }}"
    )
    rows = server.query(changed).json()["results"]["bindings"]
    assert [row["g"]["value"] for row in rows] == ["urn:written"]


def test_a_graph_is_made_only_once_where_the_client_wants_that(server: Server) -> None:
    once = {"params": {"graph": "urn:once"}, "headers": {**TURTLE, "If-None-Match": "*"}}
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 1 .", **once).status_code == 201
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 2 .", **once).status_code == 412
    absent = {"params": {"graph": "urn:absent"}, "headers": {**TURTLE, "If-Match": "*"}}
    assert server.writer.put("/graphs", content="<urn:a> <urn:p:p> 1 .", **absent).status_code == 412


def test_the_default_graph_is_a_named_graph_of_the_knowledge_base(server: Server) -> None:
    server.writer.put("/graphs?default", content="<urn:default> <urn:p:p> 1 .", headers=TURTLE)
    assert "urn:default" in _get(server, "urn:kgrag:graph/data/default")
    assert "urn:default" in server.client.get("/graphs?default").text


def test_a_graph_that_kgrag_makes_is_read_only(server: Server) -> None:
    answer = server.writer.put("/graphs", params={"graph": "urn:kgrag:graph/catalogue"}, content="", headers=TURTLE)
    assert answer.status_code == 403
    assert server.writer.delete("/graphs", params={"graph": "urn:kgrag:graph/catalogue"}).status_code == 403


@pytest.mark.parametrize(
    "update",
    [
        "DELETE WHERE { GRAPH <urn:kgrag:graph/catalogue> { ?s ?p ?o } }",
        "PREFIX g: <urn:kgrag:graph/> WITH g:catalogue DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT DATA { GRAPH <urn:x> { <urn:s> <urn:p:p> 1 } } ; COPY <urn:x> TO <urn:kgrag:graph/catalogue>",
        "MOVE <urn:kgrag:graph/catalogue> TO <urn:x>",
        "CLEAR SILENT GRAPH <urn:kgrag:graph/catalogue>",
        "DROP ALL",
        "INSERT { GRAPH ?g { ?g <urn:p:p> 1 } } WHERE { GRAPH ?g {} } ; CLEAR NAMED",
    ],
)
def test_an_update_does_not_write_to_a_graph_that_kgrag_makes_either(server: Server, update: str) -> None:
    before = server.client.get("/health").json()["revision"]
    answer = server.update(update)
    assert answer.status_code == 403
    assert "a graph that kgrag makes itself" in answer.text
    assert server.client.get("/health").json()["revision"] == before


@pytest.mark.parametrize(
    ("media", "body", "status"),
    [
        ("text/turtle", b"<urn:a> <urn:p:p> ", 400),
        ("text/turtle", b"\xff", 400),
        ("text/turtle", b"<urn:a> <urn:p:p> " + b"[ <urn:p:p> " * 6000 + b"1" + b" ]" * 6000 + b" .", 400),
        ("application/n-triples", b"<urn:a> <urn:p:p> " + b"<<( <urn:a> <urn:p:p> " * 6000 + b"1", 400),
        ("application/ld+json", b'{"@graph":' * 6000 + b"1" + b"}" * 6000, 400),
        ("application/rdf+xml", b"<a>" * 6000, 400),
        ("application/rdf+xml", b'<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + b"".join(
            b'<!ENTITY %c "%b">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)) + b"]><r>&j;</r>", 400),
        ("application/ld+json", b'{"@context": "http://127.0.0.1:1/context", "@id": "urn:a"}', 400),
        ("image/png", b"", 415),
    ],
)  # fmt: skip
def test_a_bad_upload_is_refused_and_the_server_lives(server: Server, media: str, body: bytes, status: int) -> None:
    answer = server.writer.put("/graphs", params={"graph": "urn:bad"}, content=body, headers={"Content-Type": media})
    assert answer.status_code == status
    assert server.client.get("/health").status_code == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(server: Server) -> None:
    address = (server.client.base_url.host, server.client.base_url.port)
    with socket.create_connection(address, timeout=20) as connection:
        lines = [
            "PUT /graphs?graph=urn:large HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {KEY}",
            f"Content-Length: {1 << 30}",
        ]
        connection.sendall("\r\n".join([*lines, "Content-Type: text/turtle", "", ""]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


TORTURE = """@prefix : <urn:t:> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :int "01"^^xsd:int , "1"^^xsd:nonNegativeInteger , 1 , "+1"^^xsd:integer , "one"^^xsd:integer ;
  :decimal 1.50 , "1.5"^^xsd:decimal , "01.5"^^xsd:decimal ; :double 1.0e0 , "1.00E0"^^xsd:double , "NaN"^^xsd:double ;
  :boolean true , "1"^^xsd:boolean , "0"^^xsd:boolean ; :date "2026-02-30"^^xsd:date , "2026-01-01Z"^^xsd:date ;
  :time "2026-01-01T10:00:00.500+00:00"^^xsd:dateTime , "2026-01-01T10:00:00.5Z"^^xsd:dateTime ;
  :duration "P0Y1M"^^xsd:duration , "PT60S"^^xsd:dayTimeDuration ; :text "a\\tb\\n\\"c\\"" , "" , "x"@en , "x"@de-CH , "say \\"@de-ch\\""@zh-Hant-TW ;
  :list ( 1 "01"^^xsd:int [ :in "1.0"^^xsd:decimal ] ) .
_:b :int "007"^^xsd:short {| :since "2020-01-01Z"^^xsd:date , "1.50"^^xsd:decimal |} .
_:r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( :a :said <<( _:b :int "+7"^^xsd:integer )>> )>> .
:m :text \"\"\"long "text"@EN\"\"\" , 'y'@de-CH . # "z"@EN-us
"""


def _canonical(turtle: str, media: ox.RdfFormat = ox.RdfFormat.TURTLE) -> list[str]:
    dataset = ox.Dataset(ox.parse(turtle, media))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(map(str, dataset))


def _constructed(server: Server, sparql: str) -> str:
    reply = server.client.get("/sparql", params={"query": sparql}, headers={"Accept": "application/n-triples"})
    assert reply.status_code == 200, reply.text
    return str(reply.text)


def test_what_was_put_comes_back_isomorphic_and_with_every_literal_as_it_was_written(server: Server) -> None:
    where = {"params": {"graph": "urn:torture"}, "headers": TURTLE}
    assert server.writer.put("/graphs", content=TORTURE, **where).status_code == 201
    n_triples = ox.RdfFormat.N_TRIPLES
    whole = "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH <urn:torture> { ?s ?p ?o } }"
    described = "PREFIX t: <urn:> DESCRIBE ?s FROM t:torture WHERE { ?s ?p ?o }"
    for text in (_get(server, "urn:torture"), _constructed(server, whole), _constructed(server, described)):
        assert _canonical(text, n_triples) == _canonical(TORTURE)
        assert Counter(re.findall(r'(?<!\\)"@[\w-]+', text)) == {'"@en': 1, '"@de-CH': 2, '"@zh-Hant-TW': 1}
    assert '"1.5"' in _constructed(server, "CONSTRUCT WHERE { ?s <urn:t:decimal> ?o }"), "no graph is named"
    more = '<urn:t:z> <urn:t:int> "010"^^<http://www.w3.org/2001/XMLSchema#int> .'
    assert server.writer.post("/graphs", content=more, **where).status_code == 204
    assert _canonical(_get(server, "urn:torture"), n_triples) == _canonical(TORTURE + more)
    assert server.writer.put("/graphs", content="<urn:t:z> <urn:t:int> 10 .", **where).status_code == 204
    assert _get(server, "urn:torture") == '<urn:t:z> <urn:t:int> "10"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (
            "application/rdf+xml",
            '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:t="urn:t:"><r:Description r:about="urn:s">'
            '<t:p r:datatype="http://www.w3.org/1999/02/22-rdf-syntax-ns#langString">a</t:p></r:Description></r:RDF>',
        ),
        ("text/n3", '<urn:s> <urn:p:p> "a"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString> .'),
        (
            "application/ld+json",
            '{"@id": "urn:s", "urn:p:p": {"@value": "a", '
            '"@type": "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}}',
        ),
    ],
)
def test_a_body_with_a_literal_that_nothing_reads_back_is_refused(server: Server, media: str, body: str) -> None:
    where = {"params": {"graph": "urn:unreadable"}, "headers": {"Content-Type": media}}
    answer = server.writer.put("/graphs", content=body, **where)
    assert answer.status_code == 400
    assert "angString" in answer.json()["detail"]
    assert _get(server, "urn:unreadable") == "404"
