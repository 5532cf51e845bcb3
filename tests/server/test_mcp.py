"""The Model Context Protocol, met by the official SDK's own client: over HTTP, and over standard input and output."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.server.access_keys import Key, Keys, Rights, digest_of
from kgrag.server.paid_access import PaidAccess
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.conftest import QUICK
from tests.server.inside import KEY, Inside, served
from tests.sparql.test_sorts_from_outside import SELECT

pytest.importorskip("mcp", reason="the SDK of the Model Context Protocol is not installed: pip install '.[mcp]'")

import httpx2
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

CROPS = "https://w3id.org/kgrag/examples/crops"
BACKWARDS = (
    f"PREFIX crops: <{CROPS}#> SELECT DISTINCT ?name WHERE "
    "{ ?zone crops:hasGrowingZone ?crop . ?zone crops:name ?name . ?zone a crops:GrowingZone }"
)
QUESTION = "When is chickpea sown in the Hill Zone?"
WRITING = {"add_document", "forget"}


class Agent:
    """Calls tools and reads what they say."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def use(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Call a tool that has to succeed."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert json.loads(result.content[0].text) == result.structured_content
        return result.structured_content

    async def fail(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Call a tool that has to fail."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        return json.loads(result.content[0].text)

    async def names(self) -> set[str]:
        return {tool.name for tool in (await self.client.list_tools()).tools}


def met(url: str, work: Callable[[Agent], Awaitable[Any]], *, key: str = "", **options: Any) -> Any:
    """Connect with the SDK's client, do something, and return what that returns."""

    async def run() -> Any:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with httpx2.AsyncClient(headers=headers, timeout=30, trust_env=False) as http:
            transport = streamable_http_client(f"{url}/mcp", http_client=http)
            async with Client(transport, **options) as client:
                return await work(Agent(client))

    return asyncio.run(run())


def test_an_agent_writes_a_wrong_query_reads_the_hint_mends_it_and_answers_with_a_citation(demo: Inside) -> None:
    async def work(agent: Agent) -> None:
        shown = await agent.use("schema", about="Which crops grow in which zone?")
        assert "crops:hasGrowingZone" in shown["terms"]
        found = await agent.use("sparql", query=BACKWARDS)
        assert found["rows"] == []
        domain = next(finding for finding in found["findings"] if finding["rule"] == "domain")
        assert domain["hint"] == "Write `?crop crops:hasGrowingZone ?zone`."
        mended = await agent.use("sparql", query=found["repaired"])
        assert ['"Hill Zone"'] in mended["rows"]
        answer = await agent.use(
            "ask", question=f"When is chickpea sown in the {mended['rows'][1][0]}?".replace('"', ""), method="passages"
        )
        citation = answer["citations"][0]
        shown = await agent.use("cite", **{name: citation[name] for name in ("chunk", "start", "end")})
        assert shown["quote"] == citation["quote"] == "In the Hill Zone, chickpea is sown from 10 March to 25 March."
        assert answer["text"] == f"{shown['quote']} [1]"
        assert shown["after"].strip().startswith("In the River Zone")

    met(demo.url, work)


def test_a_client_of_the_protocol_before_2026_is_served_too(demo: Inside) -> None:
    answer = met(demo.url, lambda agent: agent.use("ask", question=QUESTION), mode="legacy")
    assert answer["citations"]


def test_each_tool_has_a_schema_of_its_arguments_and_says_whether_it_only_reads(demo: Inside) -> None:
    async def work(agent: Agent) -> None:
        tools = {tool.name: tool for tool in (await agent.client.list_tools()).tools}
        assert {name for name, tool in tools.items() if not tool.annotations.read_only_hint} == WRITING
        assert all(tools[name].annotations.destructive_hint for name in WRITING)
        assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
        method = tools["ask"].input_schema["properties"]["method"]
        assert method["examples"] == ["auto", "obqc", "og_rag", "passages"]

    met(demo.url, work, key=KEY)


def test_tools_that_write_are_there_for_a_key_that_may_write_to_every_graph(demo: Inside, tmp_path: Path) -> None:
    keys = Keys(
        more=[
            Key("reader", digest_of("r" * 16), Rights.READ),
            Key("some", digest_of("s" * 16), Rights.WRITE, ("urn:one",)),
            Key("writer", digest_of("w" * 16)),
        ]
    )
    with served(demo.kb, AccessRules(keys)) as running:
        for key, may in {"": False, "r" * 16: False, "s" * 16: False, "w" * 16: True}.items():
            offered = met(running.url, Agent.names, key=key)
            assert (offered >= WRITING, bool(WRITING & offered)) == (may, may), key


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("ask", {"question": QUESTION, "method": "og_rga"}, "UnknownName: there is no method 'og_rga'. Did you mean 'og_rag'?"),
        ("ask", {"question": QUESTION, "method": "sire_rag"}, "NotBuilt: method 'sire_rag' has no tree yet."),
        ("ask", {"question": QUESTION, "k": 500}, "ask: k: Input should be less than or equal to 100. It takes question,"),
        ("ask", {"question": QUESTION, "where": "?document"}, "InvalidSPARQL"),
        ("aks", {}, "UnknownName: there is no tool 'aks'. Did you mean 'ask'?"),
        ("cite", {"chunk": "urn:none"}, "UnknownName: there is no chunk <urn:none>."),
        ("document", {"name": "none"}, "UnknownName: "),
        ("sparql", {"query": "SELECT ?s { ?s ?p }"}, "InvalidSPARQL: line 1, column 20"),
        ("sparql", {"query": "SELECT * { SERVICE <http://a.example/> { ?s ?p ?o } }"}, "InvalidSPARQL: "),
        ("sparql", {"query": "DELETE WHERE { ?s ?p ?o }"}, "InvalidSPARQL: "),
        ("validate", {"graphs": [CROPS]}, "NothingToCheck: nothing to check: no shapes were named"),
        ("graphs", {"kind": "Document"}, "UnknownName: there is no kind of graph 'Document'."),
        ("forget", {"name": "x"}, "this needs a key that is known."),
    ],
)  # fmt: skip
def test_an_error_is_a_result_whose_text_says_what_to_do(demo: Inside, tool: str, arguments: Any, said: str) -> None:
    assert said in met(demo.url, lambda agent: agent.fail(tool, **arguments))["error"]


def test_an_error_of_ours_that_is_none_of_the_agents_tells_nothing_of_the_inside(
    demo: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("in /secret/place")

    monkeypatch.setattr(KnowledgeBase, "check", fail)
    said = met(demo.url, lambda agent: agent.fail("check_sparql", query="ASK {}"))
    assert said == {"error": "something went wrong within the server. Its log has the reason."}


def test_a_query_returns_as_many_rows_as_were_asked_for_and_says_of_more(demo: Inside) -> None:
    async def work(agent: Agent) -> None:
        every = "SELECT ?s ?p ?o { ?s ?p ?o }"
        few = await agent.use("sparql", query=every, rows=3)
        assert (len(few["rows"]), few["truncated"], few["variables"]) == (3, True, ["s", "p", "o"])
        triples = await agent.use("sparql", query="CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", rows=3)
        assert (len(triples["triples"]), triples["truncated"]) == (3, True)
        exact = await agent.use("sparql", query=every + " LIMIT 3", rows=3)
        assert (len(exact["rows"]), exact["truncated"]) == (3, False)
        assert await agent.use("sparql", query="ASK { ?s ?p ?o }") == {"boolean": True}
        huge = await agent.use("sparql", query="SELECT * { ?a ?b ?c . ?d ?e ?f }", rows=5)
        assert (len(huge["rows"]), huge["truncated"]) == (5, True)
        assert len((await agent.use("sparql", query=SELECT, rows=3))["rows"]) == 3

    met(demo.url, work)


def test_a_query_that_takes_too_long_is_stopped(demo: Inside) -> None:
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
    with served(demo.kb, limits=ServerLimits(readers=1, seconds=1)) as running:
        said = met(running.url, lambda agent: agent.fail("sparql", query=endless, seconds=300))
    assert "1 second" in said["error"]


def test_searches_by_meaning_work_in_queries_of_agents(demo: Inside) -> None:
    query = 'SELECT ?text { ?chunk kgv:near ("sowing of chickpea" 1) ; kg:text ?text }'
    found = met(demo.url, lambda agent: agent.use("sparql", query=query))
    assert "hickpea" in found["rows"][0][0]


def test_resources_are_the_catalogue_ontologies_and_stored_queries(demo: Inside) -> None:
    async def work(agent: Agent) -> None:
        listed = {each.name: each.uri for each in (await agent.client.list_resources()).resources}
        assert listed.keys() == {"catalogue", "queries", "Crop cultivation"}

        async def read(uri: str) -> str:
            return (await agent.client.read_resource(uri)).contents[0].text

        assert json.loads(await read(listed["catalogue"]))["kinds"]["OntologyGraph"] == 1
        assert f"<{CROPS}> " in (await read(listed["Crop cultivation"]))
        assert "og_rag/all_sources" in json.loads(await read(listed["queries"]))
        assert (await read("kgrag://query/og_rag/all_sources")).startswith("# ")
        families = (await agent.client.list_resource_templates()).resource_templates
        assert [family.uri_template for family in families] == ["kgrag://graph/{iri}", "kgrag://query/{+name}"]
        with pytest.raises(MCPError, match=r"there is no resource kgrag://nothing. There are kgrag://catalogue"):
            await read("kgrag://nothing")

    met(demo.url, work)


def test_prompts_have_the_question_and_what_the_ontology_says_about_it(demo: Inside) -> None:
    async def work(agent: Agent) -> None:
        prompts = {prompt.name for prompt in (await agent.client.list_prompts()).prompts}
        texts = {}
        for name in prompts:
            found = await agent.client.get_prompt(name, {"question": "Which crops like clay?"})
            texts[name] = found.messages[0].content.text
        assert texts.keys() == {"answer_with_citations", "write_sparql"}
        assert all("Which crops like clay?" in text for text in texts.values())
        assert "class crops:Crop" in texts["write_sparql"]
        assert "\n  crops:hasGrowingZone to crops:GrowingZone" in texts["write_sparql"]
        with pytest.raises(MCPError, match="needs a question"):
            await agent.client.get_prompt("write_sparql", {})

    met(demo.url, work)


def test_asking_needs_a_key_where_it_costs_money(demo: Inside) -> None:
    paid = PaidAccess(answers_cost=True, searches_cost=True)
    with served(demo.kb, AccessRules(Keys(KEY), paid)) as running:
        for tool in ("ask", "retrieve"):
            said = met(running.url, lambda agent, tool=tool: agent.fail(tool, question=QUESTION))
            assert "costs money here" in said["error"] or "cost money here" in said["error"]
        assert "cost money here" in met(running.url, lambda agent: agent.fail("schema"))["error"]
        assert met(running.url, lambda agent: agent.use("ask", question=QUESTION), key=KEY)["citations"]


def test_a_private_server_answers_nobody_without_a_key(demo: Inside) -> None:
    with served(demo.kb, AccessRules(Keys(KEY, private=True))) as running:
        assert running.client.post("/mcp", json={}).status_code == 401
        assert met(running.url, lambda agent: agent.use("ask", question=QUESTION), key=KEY)["citations"]


def test_a_page_of_another_site_is_refused_without_a_key(demo: Inside) -> None:
    reply = demo.client.post("/mcp", json={}, headers={"Origin": "https://elsewhere.example"})
    assert reply.status_code == 403
    assert "another site" in reply.json()["detail"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Inside]:
    """A knowledge base of one document, served."""
    with KnowledgeBase(tmp_path / "kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.add(Document("The mill of Ostrel was built in 1820.", id="mill", title="Mill"))
        with served(kb) as running:
            yield running


def test_a_document_that_an_agent_stores_is_found_and_one_that_it_forgets_is_gone(small: Inside) -> None:
    async def work(agent: Agent) -> None:
        text = "The bridge of Ostrel was finished in 1907."
        done = await agent.use("add_document", text=text, id="bridge", metadata={"tenant": "a"})
        assert done["documents"] == 1
        asked = {"question": "When was the bridge of Ostrel finished?", "where": {"tenant": "a"}}
        assert (await agent.use("ask", **asked))["citations"][0]["quote"] == text
        assert (await agent.use("document", name="bridge"))["text"] == text
        assert (await agent.use("forget", name="bridge"))["forgotten"][0]["remains"] == 0
        assert "UnknownName" in (await agent.fail("document", name="bridge"))["error"]
        assert "1907" not in json.dumps(await agent.use("retrieve", question="When was the bridge of Ostrel finished?"))

    met(small.url, work, key=KEY)


def test_a_validation_of_an_agent_reads_graphs_and_no_files(small: Inside, tmp_path: Path) -> None:
    shape = "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape ; sh:targetClass <urn:C> ; sh:property [ sh:path <urn:p> ; sh:minCount 1 ] ."
    files = {
        "shapes": shape,
        "data": "<urn:one> a <urn:C> .",
        "importing": f"<urn:o> <http://www.w3.org/2002/07/owl#imports> <{(tmp_path / 'shapes.ttl').as_uri()}> .",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.ttl").write_text(text, encoding="utf-8")
        small.kb.load(tmp_path / f"{name}.ttl", graph=f"urn:{name}")

    async def work(agent: Agent) -> None:
        found = await agent.use("validate", graphs=["urn:data"], shapes=["urn:shapes"])
        assert [finding["focus"] for finding in found["findings"]] == ["urn:one"]
        importing = await agent.use("validate", graphs=["urn:data"], shapes=["urn:importing"])
        assert importing["findings"] == []
        named = await agent.use("validate", graphs=["urn:data"], shapes=[(tmp_path / "shapes.ttl").as_uri()])
        assert named["findings"] == []
        assert named["not_decided"]

    met(small.url, work)


def test_a_server_without_the_sdk_says_how_to_install_it(small: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with served(small.kb) as running:
        reply = running.client.post("/mcp", json={})
    assert (reply.status_code, reply.json()["detail"].endswith("pip install '.[mcp]'")) == (501, True)


# --- kgrag mcp ----------------------------------------------------------------------------------------------------


def started(kb: Path, work: Callable[[Agent], Awaitable[Any]], *options: str, **environment: str) -> Any:
    """Start ``kgrag mcp`` as an agent's program does, and do something."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kgrag", "mcp", "--kb", str(kb), *options],
        env={**os.environ, **environment},
    )

    async def run() -> Any:
        async with Client(command) as client:
            return await work(Agent(client))

    return asyncio.run(run())


def test_kgrag_mcp_reads_a_knowledge_base_while_a_server_writes_to_it(small: Inside) -> None:
    assert small.kb.path is not None

    async def work(agent: Agent) -> None:
        assert not WRITING & await agent.names()
        assert (await agent.use("sparql", query="SELECT ?title { ?d dcterms:title ?title }"))["rows"] == [['"Mill"']]
        assert (await agent.use("document", name="mill"))["title"] == "Mill"
        assert "read-only" in (await agent.fail("forget", name="mill"))["error"]

    started(small.kb.path, work)


def test_kgrag_mcp_with_write_stores_documents_and_logs_that(tmp_path: Path) -> None:
    with KnowledgeBase(tmp_path / "kb") as kb:
        kb.add_many([Document("The mill of Ostrel was built in 1820.", id="mill")], embed=False)

    async def work(agent: Agent) -> None:
        assert await agent.names() >= WRITING
        await agent.use("add_document", text="The bridge of Ostrel was finished in 1907.", id="bridge")
        assert (await agent.use("ask", question="When was the bridge of Ostrel finished?"))["citations"]

    started(tmp_path / "kb", work, "--write", **QUICK)
    with KnowledgeBase(tmp_path / "kb", read_only=True) as kb:
        assert {document.id for document in kb.documents()} == {"mill", "bridge"}
    assert "documents" in (tmp_path / "kb" / "writes.jsonl").read_text(encoding="utf-8")
    assert list((tmp_path / "kb" / "cache").glob("kgrag-mcp-*")) == []
