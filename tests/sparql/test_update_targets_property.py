"""Whatever text is sent: a key for one graph changes no other."""

import os

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.sparql.update_targets import written

OWN, SECRET = ox.NamedNode("urn:own"), ox.NamedNode("urn:secret")
TRIPLE = (ox.NamedNode("urn:s"), ox.NamedNode("urn:p:p"), ox.Literal(1))
BEFORE = {ox.Quad(*TRIPLE, graph) for graph in (OWN, SECRET, ox.DefaultGraph())}
PREFIXES = {"o": "urn:ow", "s": "urn:secre", "GRAPHo": "urn:ow", "SILENTs": "urn:ow", "p": "urn:p:"}

GAPS = st.sampled_from([" ", " ", " ", "", "\n", "#'\n", "#}\n"])
TERMS = ["<urn:s>", "p:p", "o:n", "s:t", "<urn:secret>", "<urn:own>", "1", "-1", "1.", "true", "'}'", '"{"', "'''}'''",
         "?s", "?p", "?o", "_:b", "a", "<urn:a#b>", "<urn:a'''>", "<urn:x('''>", "<http://x('''>", "<http://x'>", "'''", "GRAPHo:n", "<<", ">>", "@en", "^^p:t",
         "\\u007B", "<urn:\\u0061>"]  # fmt: skip
GRAPHS = ["GRAPH <urn:own>", "GRAPH o:n", "graph<urn:own>", "GRAPH <urn:secret>", "GRAPH s:t", "GRAPH ?g", "GRAPHo:n", "GRAPHs:t"]  # fmt: skip
WORDS = ["INSERT DATA", "DELETE DATA", "DELETE WHERE", "INSERT", "DELETE", "WHERE", "WITH <urn:own>", "WITH s:t", "USING <urn:own>",
         "CLEAR GRAPH <urn:own>", "CLEAR SILENT GRAPH s:t", "CLEAR ALL", "DROP NAMED", "CLEAR DEFAULT", "DROP o:n", "TO <urn:own>",
         "COPY <urn:secret>", "MOVE <urn:secret> TO o:n", "MOVE SILENTs:t TO o:n", "DROP SILENTs:t", "ADD DEFAULT", "CREATE GRAPH o:n", ";", ".", ",", "{", "}", "(", ")",
         "PREFIX o: <urn:secre>", "PREFIX o: <urn:ow>", "BASE <urn:secret>", "FILTER", "UNION", "{ ?s ?p ?o }", "{|", "|}"]  # fmt: skip
PIECES = st.sampled_from([*TERMS, *GRAPHS, *WORDS])


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """Quads in braces, mostly well formed."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        triple = draw(
            st.sampled_from(["<urn:s> p:p 1", "?s ?p ?o", "<urn:s> p:p true", "<urn:s> a 1.", "_:b p:p '''}'''"])
        )
        graph = draw(st.sampled_from(["", *GRAPHS]))
        gap = draw(GAPS)
        parts.append(f"{graph}{gap}{{{triple}}}" if graph else triple)
        parts.append(draw(st.sampled_from(["", " ", ".", " . ", " <urn:odd'''> ", draw(PIECES)])))
    return "{" + draw(GAPS).join(parts) + "}"


@st.composite
def operations(draw: st.DrawFn) -> str:
    """One operation, mostly well formed."""
    gap, one, two, where = draw(GAPS), draw(blocks()), draw(blocks()), draw(blocks())
    form = draw(st.sampled_from([
        "INSERT DATA{g}{one}", "DELETE DATA{g}{one}", "DELETE WHERE{g}{one}", "INSERT{g}{one}{g}WHERE{g}{where}",
        "DELETE{g}{one}{g}INSERT{g}{two}{g}WHERE{g}{where}", "WITH <urn:own>{g}DELETE{g}{one}{g}WHERE{g}{where}",
        "MOVE SILENTs:t{g}TO o:n", "WITH o:n{g}INSERT{g}{one}{g}USING <urn:secret>{g}WHERE{g}{where}", "WITH s:t INSERT{one}WHERE{where}", "{word}{g}{more}",
    ]))  # fmt: skip
    words = {"word": draw(PIECES), "more": draw(PIECES)}
    return form.format(g=gap, one=one, two=two, where=where, **words)


TEXTS = st.one_of(
    st.lists(operations(), min_size=1, max_size=3).map(" ; ".join),
    st.lists(operations(), min_size=1, max_size=2).map("".join),
    st.lists(st.tuples(PIECES, GAPS), min_size=1, max_size=25).map(lambda pairs: "".join(a + b for a, b in pairs)),
)
EXAMPLES = int(os.environ.get("KGRAG_TEST_EXAMPLES", "400"))


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(text=TEXTS)
def test_no_text_that_is_let_pass_for_one_graph_changes_another(text: str) -> None:
    told = written(text, PREFIXES)
    if told.graphs is None:
        return
    store = ox.Store()
    store.extend(BEFORE)
    for run in (text, told.text):
        try:
            store.update(run, prefixes=PREFIXES)
        except (SyntaxError, ValueError, RuntimeError, OSError):
            continue
        changed = set(store) ^ BEFORE
        assert {
            quad.graph_name.value if isinstance(quad.graph_name, ox.NamedNode) else "" for quad in changed
        } <= told.graphs
