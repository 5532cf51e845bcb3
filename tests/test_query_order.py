"""Rows of stored queries come in one order, whatever engine answers, and no value of theirs is left open."""

import re

from kgrag import queries
from kgrag.resources import folder

SELECTED = re.compile(r"^SELECT\b(.*?)^(?:WHERE|FROM|\{%)", flags=re.MULTILINE | re.DOTALL)
BOTH_SORT = "whoever reads it sorts"


def _body(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def _variables(text: str) -> set[str]:
    return set(re.findall(r"\?(\w+)", text))


def _projected(selection: str) -> set[str]:
    """Return the variables that rows have: those that are named, and those that expressions are called by."""
    called, plain = set(re.findall(r"\bAS\s+\?(\w+)\s*\)", selection)), selection
    while (inner := re.sub(r"\([^()]*\)", "", plain)) != plain:
        plain = inner
    return called | _variables(plain)


def _single(header: str) -> set[str]:
    """Return the variables of which a header says that rows that sort alike have one value."""
    return _variables(" ".join(re.findall(r"^single\s(.*)$", header, flags=re.MULTILINE)))


def open_order(query: queries.Query) -> set[str]:
    """Return the variables by which rows may differ that a query does not sort by; a ``single`` line that lies, too."""
    body = _body(query.text)
    selection = SELECTED.search(body)
    if selection is None or query.writes or BOTH_SORT in query.header:
        return set()
    grouped = re.findall(r"^GROUP BY (.*)$", body, flags=re.MULTILINE)
    rows = _variables(grouped[0]) if grouped else _projected(selection[1])
    if not grouped and re.search(r"\b(COUNT|AVG|MIN|MAX|SUM)\(", selection[1]):
        return set()  # one row
    order = re.findall(r"^ORDER BY (.*)$", body, flags=re.MULTILINE)
    return rows - _variables(" ".join(order)) ^ _single(query.header)


def test_a_stored_query_sorts_by_all_that_its_rows_differ_in() -> None:
    assert {name: left for name in queries.names() if (left := open_order(queries.describe(name)))} == {}


def open_values(text: str) -> list[str]:
    """Return how a query takes one of several values, or joins them, without saying which or how."""
    body = _body(text)
    random = ["SAMPLE"] if re.search(r"\bSAMPLE\b", body, flags=re.IGNORECASE) else []
    joins = re.search(r"GROUP_CONCAT\(\s*\?", body) and not re.search(r"^\s+ORDER BY", body, flags=re.MULTILINE)
    return [*random, *(["GROUP_CONCAT"] if joins else [])]


def test_no_stored_query_takes_one_of_several_values_at_random() -> None:
    files = [path for end in ("rq", "ru", "part") for path in folder("queries").rglob(f"*.{end}")]
    assert {path.name: left for path in files if (left := open_values(path.read_text(encoding="utf-8")))} == {}


def _query(header: str, text: str) -> queries.Query:
    return queries.Query("x", "x", header, {}, text, writes=False)


def test_an_order_that_leaves_rows_open_is_found() -> None:
    rows = "SELECT ?s ?p (STR(?o) AS ?v)\nWHERE { GRAPH ?g { ?s ?p ?o } }\n"
    assert open_order(_query("", f"{rows}ORDER BY ?s")) == {"p", "v"}
    assert open_order(_query("single  ?p", f"{rows}ORDER BY ?s")) == {"v"}
    assert open_order(_query("single  ?p ?v", f"{rows}ORDER BY ?s")) == set()
    assert open_order(_query("single  ?s", f"{rows}ORDER BY ?s ?p ?v")) == {"s"}
    assert open_order(_query("", "SELECT ?s (COUNT(?o) AS ?v)\nWHERE {}\nGROUP BY ?s\nORDER BY ?v")) == {"s"}


def test_values_that_a_query_leaves_open_are_found() -> None:
    assert open_values("SELECT (SAMPLE(?o) AS ?v)\nWHERE {}") == ["SAMPLE"]
    joined = "SELECT (GROUP_CONCAT(?o; SEPARATOR=' ') AS ?v)\nWHERE {"
    assert open_values(f"{joined} }}\nORDER BY ?v") == ["GROUP_CONCAT"]
    assert open_values(f"{joined}\n  SELECT ?o WHERE {{}}\n  ORDER BY ?o\n}}") == []
