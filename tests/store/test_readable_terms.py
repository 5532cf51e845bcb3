"""Whatever enters a store can be read again from its dump; what could not be does not enter."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kgrag.errors import InvalidRDF, InvalidSPARQL, StateError
from kgrag.model import GraphDraft
from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.gate import check_update
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.plain_dataset import PlainStore
from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import KG, RDF, Names

S, P, G = (ox.NamedNode(f"urn:t:{name}") for name in "spg")
UNREADABLE: list[ox.Literal | ox.BlankNode | ox.Triple] = [
    ox.Literal("a", datatype=datatype) for datatype in (RDF.langString, RDF.dirLangString)
]
UNREADABLE += [ox.Triple(S, P, UNREADABLE[0]), ox.BlankNode("a:b"), ox.Triple(ox.BlankNode("a:b"), P, S)]


@pytest.mark.parametrize("value", UNREADABLE, ids=str)
@pytest.mark.parametrize("mode", ["new", "replace", "append"])
def test_such_a_term_is_not_published(value: ox.Literal, mode: str) -> None:
    store = OxigraphStore.open(None)
    draft = GraphDraft(iri=G, kind=KG.DataGraph, triples=[ox.Triple(S, P, value)], mode=mode)  # type: ignore[arg-type]
    with pytest.raises(InvalidRDF, match="which nothing reads back"):
        store.publish([draft])
    assert store.graphs() == [store.names.catalogue.value]


TYPED = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"
UPDATES = {
    "with the whole IRI": f'INSERT DATA {{ <urn:t:s> <urn:t:p> "a"^^{TYPED} }}',
    "with an escape in the IRI": f'INSERT DATA {{ <urn:t:s> <urn:t:p> "a"^^{TYPED.replace("S", chr(92) + "u0053")} }}',
    "with a known prefix": 'INSERT DATA { <urn:t:s> <urn:t:p> "a" ^^ # note\n rdf:langString }',
    "with a direction": 'INSERT DATA { <urn:t:s> <urn:t:p> "a"^^rdf:dirLangString }',
    "with a prefix of its own": f'PREFIX r: {TYPED[:-7]}> INSERT DATA {{ <urn:t:s> <urn:t:p> "a"^^r:String }}',
    "with a base": f'BASE {TYPED[:-11]}> INSERT DATA {{ <urn:t:s> <urn:t:p> "a"^^<#langString> }}',
    "in a pattern": 'INSERT { <urn:t:s> <urn:t:p> ?o } WHERE { VALUES ?o { "a"^^rdf:langString } }',
    "in a triple term": 'INSERT DATA { <urn:t:s> <urn:t:p> <<( <urn:t:s> <urn:t:p> "a"^^rdf:langString )>> }',
    "by STRDT": 'INSERT { <urn:t:s> <urn:t:p> ?o } WHERE { BIND(strdt("a", rdf:langString) AS ?o) }',
    "by STRDT, another each time": "INSERT { <urn:t:s> <urn:t:p> ?o } WHERE "
    '{ BIND(STRDT("a", IF(RAND() < 0.5, rdf:langString, xsd:date)) AS ?o) }',
    "by STRDT, hidden by a comparison": "INSERT { <urn:t:s> <urn:t:p> ?o } WHERE "
    "{ BIND(1 AS ?a) BIND(IF(?a<STR(1),STRDT(STR(?a),rdf:langString),?d>1) AS ?o) }",
}


@pytest.mark.parametrize("update", UPDATES.values(), ids=UPDATES)
def test_an_update_with_such_a_literal_is_refused(update: str) -> None:
    with pytest.raises(InvalidSPARQL, match=r"line \d+, column \d+"):
        OxigraphStore.open(None).update(update)


COPY = """INSERT { GRAPH <urn:t:copy> { ?s ?p ?typed } }
WHERE { GRAPH <urn:t:g> { ?s ?p ?o } BIND(STRDT(STR(?o), DATATYPE(?o)) AS ?typed) }"""


def test_a_datatype_that_is_computed_makes_no_such_literal(tmp_path: Path) -> None:
    store, plain = OxigraphStore.open(None), PlainStore(tmp_path / "plain")
    xsd = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    values = '"a"@en, "a"@en--ltr, "2026-11-28"^^xsd:date, "plain"'
    for update in (f"{xsd} INSERT DATA {{ GRAPH <urn:t:g> {{ <urn:t:s> <urn:t:p> {values} }} }}", COPY):
        store.update(update)
        plain.update(update)
    copied = {value.value for quads in (store._store, plain._store) for *_, value, _ in _copies(quads)}
    assert copied == {"plain", "2026-11-28"}


def _copies(store: ox.Store) -> list[ox.Quad]:
    return list(store.quads_for_pattern(None, None, None, ox.NamedNode("urn:t:copy")))


def test_a_blank_node_of_an_update_has_a_label_that_can_be_read_again() -> None:
    store = OxigraphStore.open(None)
    store.update("""INSERT { GRAPH <urn:t:copy> { ?node <urn:t:p> ?key } } WHERE {
      VALUES ?key { "urn:t:x" "a b" "urn:t:x" } BIND(BNODE(?key) AS ?node) }""")
    labels = {quad.subject.value for quad in _copies(store._store)}
    assert labels
    assert not any(":" in label for label in labels)


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (
            "rdf",
            f'<rdf:RDF xmlns:rdf="{RDF.prefix}" xmlns:t="urn:t:"><rdf:Description rdf:about="urn:t:s">'
            f'<t:p xml:lang="en" rdf:datatype="{RDF.prefix}langString">a</t:p></rdf:Description></rdf:RDF>',
        ),
        ("jsonld", json.dumps({"@id": "urn:t:s", "urn:t:p": {"@value": "a", "@type": f"{RDF.prefix}dirLangString"}})),
        ("n3", f'<urn:t:s> <urn:t:p> "a"^^{TYPED} .'),
        ("ttl", f'<urn:t:s> <urn:t:p> "a"^^{TYPED} .'),
    ],
)
def test_a_file_with_such_a_literal_is_refused_by_its_name(suffix: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidRDF, match=f"data.{suffix}"):
        read_rdf(path, names=Names())


@pytest.mark.parametrize("value", UNREADABLE, ids=str)
def test_a_store_that_has_one_is_not_dumped(value: ox.Literal, tmp_path: Path) -> None:
    target = tmp_path / "dump.nq"
    store = OxigraphStore.open(None)
    quoted = ox.Literal(f'\\"^^{TYPED} "x"^^{TYPED} _:a:b \\', datatype=ox.NamedNode("urn:t:_:type:"))
    store._store.extend(ox.Quad(S, P, each, G) for each in (quoted, ox.Literal("a", language="en"), ox.BlankNode("b")))
    count = store.dump(target)  # what only looks like one, within a string, is none
    assert OxigraphStore.open(None).load(target) == count
    before = target.read_bytes()
    store._store.extend([ox.Quad(S, P, value, G)])
    with pytest.raises(StateError, match="doctor"):
        store.dump(target)
    assert (target.read_bytes(), list(tmp_path.iterdir())) == (before, [target])


TEXTS = st.sampled_from(
    ["", "a", "en", "en us", "x-y", "http://a/b", "http://a/ b", 'é"\\n\u0085', "\u0001\ufffe", "_:b"]
)
DATATYPE_TERMS = st.sampled_from(["xsd:int", "rdf:langString", "rdf:dirLangString", TYPED, "<urn:t:type>", "rdf:HTML"])


def _quoted(text: str) -> str:
    return str(ox.Literal(text))


def _calls(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("STRDT({}, {})".format, parts, parts),
        st.builds("STRLANG({}, {})".format, parts, parts),
        st.builds("STRLANGDIR({}, {}, {})".format, parts, parts, st.sampled_from(['"ltr"', '"x"'])),
        st.builds("IRI({})".format, parts),
        st.builds("BNODE({})".format, parts),
        st.builds("DATATYPE({})".format, parts),
        st.builds("STR({})".format, parts),
        st.builds("IF({}, {}, {})".format, st.sampled_from(["true", "RAND() < 0.5"]), parts, parts),
        st.builds("TRIPLE(<urn:t:s>, <urn:t:p>, {})".format, parts),
    )


TERMS = st.one_of(
    TEXTS.map(_quoted),
    st.builds('"a"^^{}'.format, DATATYPE_TERMS),
    st.sampled_from(['"a"@en', '"a"@en--ltr', "1e400", "-0.0", "?unbound"]),
    DATATYPE_TERMS,
)


@settings(max_examples=120, deadline=None)
@given(st.recursive(TERMS, _calls, max_leaves=6))
@example('STRDT("a", DATATYPE("a"@en))')
@example('TRIPLE(<urn:t:s>, <urn:t:p>, STRDT("a", IF(true, rdf:langString, xsd:int)))')
def test_what_the_gate_accepts_is_the_same_after_a_dump_and_reading_it(expression: str) -> None:
    update = f"""PREFIX rdf: <{RDF.prefix}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
    INSERT {{ GRAPH <urn:t:g> {{ <urn:t:s> <urn:t:p> ?o }} }} WHERE {{ BIND({expression} AS ?o) }}"""
    store = ox.Store()
    with suppress(InvalidSPARQL, SyntaxError):
        check_update(update)
        store.update(with_readable_terms(update))
    for form in (ox.RdfFormat.N_QUADS, ox.RdfFormat.TRIG):
        assert set(ox.parse(store.dump(format=form) or b"", form)) == set(store)
