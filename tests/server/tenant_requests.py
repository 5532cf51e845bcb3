"""Requests to every path of a server, made from its routes and its OpenAPI document, for the property of tenants.

Nothing here lists paths, but for the bodies of protocols that OpenAPI cannot describe: a new route is asked without
being written down.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote

from starlette.routing import BaseRoute, Mount, Route

from kgrag.server import openapi

READING_POSTS = re.compile(r"/(ask|retrieve|check|validate|audit|why|sparql|update/effect|v1/.*|mcp)$")
"""POST requests that change nothing; others count as writes."""

LEFT_OUT = ("default", "download", "chunker", "replaces", "folder", "profile")
"""Parameters whose values are few words that each path knows."""

METHODS = ("auto", "passages", "og_rag", "sire_rag", "cg_rag", "poly_rag", "obqc")


@dataclass(frozen=True)
class Marks:
    """Words of a tenant that nobody else has: ``name`` in names of its things, ``content`` in what they say."""

    name: str
    content: str

    @property
    def both(self) -> tuple[str, str]:
        return self.name, self.content


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    body: bytes = b""
    media: str = ""
    accept: str = "*/*"

    @property
    def reads(self) -> bool:
        return self.method in ("GET", "HEAD") or (
            self.method == "POST" and READING_POSTS.search(self.path.split("?")[0]) is not None
        )

    @property
    def is_quick(self) -> bool:
        """Whether it takes a moment only: pages and audits take longer, and are asked once."""
        return self.accept != "text/html" and not re.search(r"audit|profile|update|validate|check", self.path)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.body[:300].decode(errors='replace')}"


class Requests:
    """Makes requests about things whose names have a mark; "" asks about nothing in particular.

    Args:
        random: chooses queries and what is left out.
        mark: in the names of the things.
        ids: names that are not made of the mark, by parameter.
    """

    def __init__(self, random: Random, mark: str, ids: dict[str, str]) -> None:
        self._random = random
        self._mark = mark
        self._ids = ids
        self._document = openapi.document()

    def every(self, routes: Iterable[BaseRoute]) -> Iterator[Asked]:
        """Every route with every method, then what protocols carry."""
        for route in routes:
            assert isinstance(route, Route) or (isinstance(route, Mount) and route.path == "/static"), route
            for method in sorted((getattr(route, "methods", None) or set()) - {"HEAD"}):
                yield self._of_route(route.path, method)
        yield Asked("GET", "/nothing-is-here")
        yield from self._protocols()

    def _of_route(self, path: str, method: str) -> Asked:
        described = self._document["paths"].get(re.sub(r":path}", "}", path), {}).get(method.lower())
        declared = (
            [] if described is None else [each for each in described.get("parameters", ()) if each["in"] == "query"]
        )
        names = [
            each["name"] for each in declared if "integer" not in json.dumps(each) and "boolean" not in json.dumps(each)
        ]
        if described is None and method == "GET":
            names = [
                "iri",
                "graph",
                "query",
                "question",
                "name",
                "example",
                "q",
                "text",
                "node",
                "after",
                "chat",
                "source",
            ]
            names = [name for name in names if self._random.random() < 0.6]
        values = [(name, self._value(name)) for name in names if name not in LEFT_OUT]
        target = re.sub(r"{(\w+)(:path)?}", lambda match: quote(self._value(match[1]), safe=""), path)
        target += "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in values) if values else ""
        if method in ("GET", "HEAD", "DELETE"):
            return Asked(method, target, accept="text/html" if described is None else "*/*")
        contents = {} if described is None else described.get("requestBody", {}).get("content", {})
        if "application/json" in contents:
            body = self._example(contents["application/json"]["schema"], 0)
            return Asked(method, target, json.dumps(body).encode(), "application/json")
        if path == "/sparql":
            return Asked(method, "/sparql", self.query().encode(), "application/sparql-query")
        if path.startswith("/update"):
            return Asked(method, path, self.update().encode(), "application/sparql-update")
        if path.startswith("/graphs"):
            return Asked(method, target, b"<urn:x> <urn:y> 'z' .", "text/turtle")
        form = "&".join(
            f"{name}={quote(self._value(name), safe='')}"
            for name in ("question", "graph", "name", "query", "sparql", "text", "chat", "id")
        )
        return Asked(method, target, form.encode(), "application/x-www-form-urlencoded")

    def _protocols(self) -> Iterator[Asked]:
        for method in METHODS:
            body = {"question": self._value("question"), "method": method, "k": 5}
            yield Asked("POST", "/ask", json.dumps(body).encode(), "application/json")
            yield Asked("POST", "/retrieve", json.dumps(body).encode(), "application/json")
        for _ in range(8):
            yield Asked("GET", f"/sparql?query={quote(self.query())}")
            yield Asked("POST", "/update", self.update().encode(), "application/sparql-update")
        chat = {"model": "auto", "messages": [{"role": "user", "content": self._value("question")}]}
        yield Asked("POST", "/v1/chat/completions", json.dumps(chat).encode(), "application/json")
        calls: list[tuple[str, dict[str, Any]]] = [("tools/list", {}), ("resources/list", {}), ("prompts/list", {})]
        calls += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in (
            ("ask", {"question": self._value("question")}), ("retrieve", {"question": self._value("question")}),
            ("graphs", {}), ("schema", {}), ("document", {"name": self._value("id")}), ("cite", {"chunk": self._value("iri")}),
            ("sparql", {"sparql": self.query()}),
        )]  # fmt: skip
        calls.append(("resources/read", {"uri": f"kgrag://graph/{quote(self._value('graph'), safe='')}"}))
        for number, (method, parameters) in enumerate(calls):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
            yield Asked(
                "POST", "/mcp", json.dumps(message).encode(), "application/json", "application/json, text/event-stream"
            )

    def query(self) -> str:
        """A query that reaches as far as it can."""
        graph = f"<{self._value('graph')}>"
        word = self._random.choice(("reactor", "code", "Vantor"))
        search = self._random.choice(("near", "matches", "fused"))
        return self._random.choice((
            "SELECT ?g ?s ?p ?o WHERE { GRAPH ?g { ?s ?p ?o } }",
            "SELECT (COUNT(*) AS ?n) (COUNT(DISTINCT ?g) AS ?m) WHERE { GRAPH ?g { ?s ?p ?o } }",
            f"SELECT * FROM {graph} WHERE {{ ?s ?p ?o }}",
            f"SELECT * FROM NAMED {graph} WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }}",
            f"ASK {{ GRAPH {graph} {{ ?s ?p ?o }} }}",
            f"DESCRIBE {graph}",
            "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
            "SELECT * WHERE { ?s (<urn:a>|!<urn:a>)* ?o FILTER(isLiteral(?o)) }",
            "SELECT * WHERE { SERVICE <http://127.0.0.1:9/sparql> { ?s ?p ?o } }",
            f'SELECT * WHERE {{ (?node ?score) kgv:{search} ("{word}" 20) }}',
            f'SELECT * WHERE {{ (?node ?score) kgv:{search} ("{word}" 20 "chunk") . ?node kg:text ?text }}',
            "SELECT ?text WHERE { ?s ?p ?text FILTER(CONTAINS(STR(?text), 'code')) }",
        ))  # fmt: skip

    def update(self) -> str:
        """An update that copies what it can reach, into a graph of its own."""
        graph, own = f"<{self._value('graph')}>", "<urn:own:copied>"
        return self._random.choice((
            f"INSERT {{ GRAPH {own} {{ ?s ?p ?o }} }} WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}",
            f"INSERT {{ GRAPH {own} {{ ?s ?p ?o }} }} USING {graph} WHERE {{ ?s ?p ?o }}",
            f"COPY SILENT {graph} TO {own}",
            f"ADD SILENT {graph} TO {own}",
            f"MOVE SILENT {graph} TO {own}",
            f"DELETE WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}",
            f"LOAD SILENT <file:///{self._value('name')}> INTO GRAPH {own}",
            f"INSERT DATA {{ GRAPH {graph} {{ <urn:x> <urn:y> 1 }} }}",
        ))  # fmt: skip

    def _value(self, name: str) -> str:
        """A value for a parameter of this name, with the mark where names of things are wanted."""
        if name in ("graph", "graphs", "iri", "node", "chunk", "document"):
            return self._ids.get(name, f"urn:g:{self._mark or 'any'}")
        if name == "model":
            return "kgrag-embedder" if self._random.random() < 0.3 else "kgrag-auto"
        if name.endswith("graph-uri"):
            return self._value("graph")
        if name == "method":
            return self._random.choice(METHODS)
        if name in ("query", "sparql", "example", "text") and self._random.random() < 0.8:
            return self.query()
        if name in ("question", "messages", "input", "about", "message", "content", "text", "q"):
            return f"What is the code of the reactor of Vantor {self._mark}?".replace(" ?", "?")
        if name in ("where",):
            return f"tenant={self._mark or 'any'}"
        if name == "last":
            return "100"
        return self._ids.get(name, self._mark or "any")

    def _example(self, schema: dict[str, Any], depth: int, name: str = "") -> Any:
        """A value of a JSON schema: what is required, and some of the rest."""
        if "$ref" in schema:
            return self._example(
                self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth, name
            )
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                kinds = [each for each in schema[several] if each.get("type") != "null"]
                return self._example(kinds[0], depth, name)
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        kind = schema.get("type")
        if kind == "object":
            wanted = set(schema.get("required", ()))
            return {
                key: self._example(each, depth + 1, key)
                for key, each in schema.get("properties", {}).items()
                if key in wanted or (depth == 0 and "default" not in each and self._random.random() < 0.3)
            }
        if kind == "array":
            return [self._example(schema.get("items", {}), depth + 1, name)]
        if kind in ("integer", "number"):
            return schema.get("default", schema.get("minimum", 5))
        if kind == "boolean":
            return False
        return self._value(name)
