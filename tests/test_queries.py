"""Stored queries: binding is safe for every text, headers are true, every file parses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgrag import queries
from kgrag.errors import QueryParameterError, UnknownName

ECHO = "# Gives back what it is given\n#\n# param value: {kind}\n# returns ?found\n# reads nothing\n\n{body}\n"
ONE = "SELECT ?found WHERE {{ VALUES ?found {{ {{{{ value }}}} }} }} ORDER BY ?found"


FAILS_BY_DESIGN = {"catalogue/unless_behind", "probe/fails", "probe/guarded"}


@pytest.fixture(scope="session")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries")
    for kind in ("IRI", "literal", "term", "integer", "number", "literal list", "integer list"):
        text = ECHO.format(kind=kind, body=ONE.format())
        (folder / f"{kind.replace(' ', '_')}.rq").write_text(text, encoding="utf-8")
    return folder


def found(text: str) -> list[Any]:
    """Run a SELECT of one variable on an empty store."""
    return [row[0] for row in ox.Store().query(text)]  # type: ignore[union-attr]


@given(st.text())
@example("\\u0041 \\' \" } # {{ }} {% %} <x> ?y $z")
@example("'''\"\"\"\n\r\t\b\f\x00\x7f\u2028\u2029\ufeff\U0010ffff")
@example("\\")
@example("\r")
def test_any_text_that_is_bound_comes_back_equal(echo: Path, text: str) -> None:
    assert found(queries.bind_file(echo / "literal.rq", value=ox.Literal(text))) == [ox.Literal(text)]


@given(st.text(), st.from_regex(r"[a-z]{2,3}(-[a-z]{5,8})?", fullmatch=True))
def test_any_text_with_a_language_comes_back_equal(echo: Path, text: str, language: str) -> None:
    literal = ox.Literal(text, language=language)
    assert found(queries.bind_file(echo / "term.rq", value=literal)) == [literal]


@given(st.text())
def test_any_iri_comes_back_equal(echo: Path, text: str) -> None:
    try:
        iri = ox.NamedNode(f"urn:x:{text}")
    except ValueError:
        return
    assert found(queries.bind_file(echo / "IRI.rq", value=iri)) == [iri]


@given(st.lists(st.text(), max_size=5))
def test_any_list_of_texts_comes_back_equal(echo: Path, texts: list[str]) -> None:
    literals = [ox.Literal(text) for text in texts]
    rows = found(queries.bind_file(echo / "literal_list.rq", value=literals))
    assert sorted(rows, key=str) == sorted(literals, key=str)


@given(st.integers())
def test_any_integer_comes_back_equal(echo: Path, number: int) -> None:
    (row,) = found(queries.bind_file(echo / "integer.rq", value=number))
    assert int(row.value) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_finite_number_comes_back_equal(echo: Path, number: float) -> None:
    (row,) = found(queries.bind_file(echo / "number.rq", value=number))
    assert math.isclose(float(row.value), number, rel_tol=1e-12, abs_tol=1e-17)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("IRI", "urn:x"),
        ("IRI", ox.Literal("urn:x")),
        ("literal", ox.NamedNode("urn:x")),
        ("literal", "text"),
        ("literal", None),
        ("term", ox.BlankNode("b")),
        ("integer", 1.5),
        ("integer", True),
        ("integer", "1"),
        ("number", math.nan),
        ("number", math.inf),
        ("literal_list", ox.Literal("x")),
        ("literal_list", "text"),
        ("literal_list", ["text"]),
        ("integer_list", b"ab"),
    ],
)
def test_a_value_of_another_type_is_refused(echo: Path, name: str, value: object) -> None:
    with pytest.raises(QueryParameterError):
        queries.bind_file(echo / f"{name}.rq", value=value)


def test_a_str_is_refused_with_what_to_do(echo: Path) -> None:
    with pytest.raises(QueryParameterError, match=r"'urn:x' is a str.*Literal\(\.\.\.\).*NamedNode\(\.\.\.\)"):
        queries.bind_file(echo / "IRI.rq", value="urn:x")


def test_a_missing_value_is_named() -> None:
    with pytest.raises(QueryParameterError, match=r"no value for .'catalogue'"):
        queries.bind("catalogue/kinds")


def test_an_unknown_value_is_named_with_the_nearest() -> None:
    with pytest.raises(QueryParameterError, match=r"'catalog'.*Did you mean 'catalogue'"):
        queries.bind("catalogue/kinds", catalogue=ox.NamedNode("urn:c"), catalog=ox.NamedNode("urn:c"))


def test_an_unknown_query_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'catalogue/kinds'"):
        queries.bind("catalogue/kind")


HEADERS = {
    "no returns": ("# T\n# reads x\n\nSELECT ?s WHERE {} ORDER BY ?s", "no 'returns' line"),
    "no reads": ("# T\n# returns ?s\n\nSELECT ?s WHERE {} ORDER BY ?s", "no 'reads' line"),
    "a parameter that is not declared": (
        "# T\n# returns ?s\n# reads x\n\nSELECT ?s WHERE { {{ s }} }",
        "without a 'param' line",
    ),
    "a parameter that is not used": (
        "# T\n# param s: IRI\n# returns ?s\n# reads x\n\nSELECT ?s WHERE {}",
        "does not use it",
    ),
    "a type that is none": (
        "# T\n# param s: text\n# returns ?s\n# reads x\n\nSELECT {{ s }} WHERE {}",
        "has type 'text'",
    ),
}


@pytest.mark.parametrize(("text", "told"), HEADERS.values(), ids=HEADERS)
def test_a_header_that_is_not_true_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "query.rq"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(QueryParameterError, match=told):
        queries.bind_file(path)


def test_an_update_says_what_it_writes(tmp_path: Path) -> None:
    path = tmp_path / "update.ru"
    path.write_text("# T\n\nDROP SILENT GRAPH <urn:x>", encoding="utf-8")
    with pytest.raises(QueryParameterError, match="no 'writes' line"):
        queries.bind_file(path)


DUMMIES: dict[str, Any] = {
    "IRI": ox.NamedNode("urn:t:iri"),
    "literal": ox.Literal('it\'s "quoted" \\ {{ }} #'),
    "term": ox.Literal("x", language="en"),
    "integer": 3,
    "number": 0.5,
    "quad": ox.Quad(
        ox.NamedNode("urn:t:s"), ox.NamedNode("urn:t:p"), ox.Literal('it\'s "}" {{ }} #'), ox.NamedNode("urn:t:g")
    ),
}


def dummy(kind: str, size: int) -> Any:
    """A value of a declared type; lists have so many items."""
    if kind == "path":
        return [DUMMIES["IRI"], ox.Literal("/"), DUMMIES["IRI"]] if size else []
    single = kind.removesuffix(" list")
    return DUMMIES[single] if single == kind else [DUMMIES[single]] * size


def test_a_quad_is_written_in_its_graph_and_without_one_it_is_refused() -> None:
    quads = [DUMMIES["quad"], ox.Quad(ox.NamedNode("urn:t:s"), ox.NamedNode("urn:t:p"), ox.Literal(1))]
    values = {"dropped": [], "gone": []}
    store = ox.Store()
    store.update(queries.bind("catalogue/exchange_terms", come=quads[:1], **values))
    assert list(store) == quads[:1]
    with pytest.raises(QueryParameterError, match="DefaultGraph"):
        queries.bind("catalogue/exchange_terms", come=quads, **values)


@pytest.mark.parametrize("size", [0, 2])
@pytest.mark.parametrize("name", queries.names())
def test_every_stored_query_parses(name: str, size: int) -> None:
    query = queries.describe(name)
    kinds = {
        parameter: "path" if parameter in {"path", "via"} else kind for parameter, kind in query.parameters.items()
    }
    text = queries.bind(name, **{parameter: dummy(kind, size) for parameter, kind in kinds.items()})
    store = ox.Store()
    try:
        store.update(text) if query.writes else store.query(text)
    except RuntimeError as error:  # it parsed; the adapter brings these functions along, and some requests are to fail
        assert "custom function" in str(error) or name in FAILS_BY_DESIGN


def test_a_statement_that_two_graphs_have_is_one_use_of_its_terms(kb: Any) -> None:
    kb.update(
        "INSERT DATA { GRAPH <urn:a> { <urn:x> a <urn:C> ; <urn:p> 1, 2 } GRAPH <urn:b> { <urn:x> a <urn:C> ; <urn:p> 2 } }"
    )
    terms = [ox.NamedNode(f"urn:{name}") for name in ("C", "p", "unused")]
    rows = kb.store.select(queries.bind("schema/usage", terms=terms)).values()
    assert [(str(row[0]), int(str(row[1]))) for row in rows] == [("urn:p", 2), ("urn:C", 1)]
