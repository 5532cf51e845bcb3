import pytest

from kgrag.sparql.update_targets import written

EX = {"ex": "urn:ex:"}


@pytest.mark.parametrize(
    ("update", "graphs"),
    [
        ("INSERT DATA { GRAPH <urn:a> { <urn:s> a 1 } }", {"urn:a"}),
        ("insert data { graph ex:a { <urn:s> ex:p -1.5e-3 , true ; ex:q \"x\"@en , 'y'^^ex:t } }", {"urn:ex:a"}),
        ("INSERT DATA { <urn:s> <urn:p> 1 . GRAPH <urn:a> { } }", {"", "urn:a"}),
        ("INSERT DATA { <urn:s> <urn:p> 1.GRAPH <urn:a> { <urn:s> <urn:p> 1 } }", {"", "urn:a"}),
        ("INSERT DATA { }", set()),
        ("DELETE DATA { GRAPH <urn:a> { <urn:s> <urn:p> 1 } } ; INSERT DATA { GRAPH <urn:b> {} } ;", {"urn:a", "urn:b"}),
        ("DELETE WHERE { GRAPH <urn:a> { ?s ?p ?o } }", {"urn:a"}),
        ("DELETE { ?s ?p ?o } INSERT { GRAPH <urn:b> { ?s ?p 2 } } WHERE { GRAPH ?g { ?s ?p ?o } }", {"", "urn:b"}),
        ("WITH <urn:a> DELETE { ?s ?p ?o } INSERT { ?s ?p 2 } USING <urn:x> WHERE { ?s ?p ?o }", {"urn:a"}),
        ("INSERT { GRAPH <urn:a> { ?s ?p ?o } } WHERE { { GRAPH <urn:x> { ?s ?p ?o } } UNION { FILTER(?a<3) } }", {"urn:a"}),
        ("PREFIX my: <urn:my:> CLEAR GRAPH my:a ; PREFIX my: <urn:your:> DROP SILENT GRAPH my:b", {"urn:my:a", "urn:your:b"}),
        ("INSERT DATA { GRAPH <urn:a> { <http://example.org/O'Brien> <urn:p> 1 } }", {"urn:a"}),
        ("CLEAR DEFAULT", {""}),
        ("CREATE SILENT GRAPH <urn:a>", {"urn:a"}),
        ("COPY <urn:a> TO <urn:b>", {"urn:b"}),
        ("ADD SILENT GRAPH <urn:a> TO DEFAULT", {""}),
        ("MOVE <urn:a> TO GRAPH <urn:b>", {"urn:a", "urn:b"}),
        ("# CLEAR ALL\nINSERT DATA { GRAPH <urn:a#b> { <urn:s> <urn:p> \"} ; CLEAR ALL\" } }", {"urn:a#b"}),
        ("INSERT DATA { GRAPH <urn:a> { <urn:s> <urn:p> << <urn:x> <urn:y> 1 >> , ( 1 2 ) , [ <urn:q> _:b ] } }", {"urn:a"}),
    ],
)  # fmt: skip
def test_it_tells_the_graphs_that_an_update_writes_to(update: str, graphs: set[str]) -> None:
    assert written(update, EX).graphs == graphs


@pytest.mark.parametrize(
    "update",
    [
        "CLEAR ALL",
        "DROP NAMED",
        "CLEARALL",
        "INSERT { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
        "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
        "BASE <urn:a> INSERT DATA { GRAPH <b> { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { GRAPH <relative> { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { GRAPH unknown:a { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { GRAPH ex:a\\-b { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { GRAPH <urn:\\u0061> { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { <urn:s> <urn:p> true.GRAPH <urn:b> { <urn:s> <urn:p> 1 } }",
        "PREFIX graphex: <urn:x:> INSERT DATA { GRAPHex:a { <urn:s> <urn:p> 1 } }",
        "PREFIX silentex: <urn:x:> MOVE SILENTex:a TO ex:b",
        "INSERT DATA { GRAPH <urn:it's> { <urn:s> <urn:p> 1 } }",
        "INSERT DATA { GRAPH <urn:a> { <urn:s> <urn:p> 1 {| <urn:q> 2 |} } }",
        "INSERT DATA { GRAPH <urn:a> { <urn:s> <urn:p> 1 }",
        "INSERT DATA { GRAPH <urn:a> { <urn:s> <urn:p> 'open } }",
        "INSERT { GRAPH <urn:a> { ?s ?p ?o } } WHERE { FILTER(?s <urn:x('''>, ''') } ; CLEAR ALL ; # ''') } ",
        "INSERT DATA { GRAPH <urn:a> {} } CLEAR DEFAULT",
        "ex:a ex:b ex:c",
        "WITH <urn:a> WHERE { ?s ?p ?o }",
    ],
)
def test_what_the_text_does_not_tell_is_left_undecided_with_its_line(update: str) -> None:
    told = written(update, EX)
    assert told.graphs is None
    assert told.reason.startswith("line 1: ")


def test_the_engine_reads_what_was_looked_at() -> None:
    import pyoxigraph as ox

    text = (
        "PREFIX ex:<urn:ex:>#comment\nINSERT DATA{GRAPH ex:a{<urn:s#1>ex:p'a#b'@en,-5,1.5e-3,\"x\"^^ex:t,true.}};"
        "DELETE{GRAPH ex:b{?s?p?o}}WHERE{GRAPH ex:a{?s?p?o FILTER(?o<3&&?o>=-5||?o!=1)}}"
    )
    one, two = ox.Store(), ox.Store()
    one.update(text)
    two.update(written(text, {}).text)
    assert set(one) == set(two)
    assert len(one) == 5
