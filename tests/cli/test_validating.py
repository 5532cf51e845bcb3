"""The command ``validate`` and ``KnowledgeBase.validate``: plain validation of data against shapes."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pyoxigraph as ox
import pytest

from kgrag import Document, KnowledgeBase, cli
from kgrag.errors import InputError
from kgrag.text import documents
from kgrag.vocab import AUDIT, PROV

HEAD = """
@prefix ex: <https://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
"""
DATA = 'ex:ada a ex:Person ; ex:name "Ada" . ex:bob a ex:Person ; rdfs:label "Robert"@en . ex:tool ex:name 5 .'
NAMED = "ex:Named a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:name ; sh:minCount 1 ] ."
SHORT = "ex:Short a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:name ; sh:maxLength 3 ] ."
UNREAD = "ex:Odd a sh:NodeShape ; sh:targetClass ex:Person ; sh:nodekind sh:IRI ."
INT = "http://www.w3.org/2001/XMLSchema#int"
PREFIXES = {"sh": "http://www.w3.org/ns/shacl#", "aud": AUDIT.prefix}
BOB, NAMED_SHAPE = "https://example.org/bob", "https://example.org/Named"


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Write the data and the shapes into a folder, and go there."""
    monkeypatch.chdir(tmp_path)
    texts = {"data": DATA, "named": NAMED, "short": SHORT, "unread": UNREAD}
    texts["aimless"] = "ex:Named a sh:NodeShape ; sh:property [ sh:path ex:name ; sh:minCount 1 ] ."
    texts["both"] = f"<both.ttl> owl:imports <named.ttl> , <https://example.org/elsewhere> . {SHORT}"
    texts["pointing"] = f"{DATA} <> sh:shapesGraph <named.ttl> ."
    texts["rdfs"] = f"<rdfs.ttl> sh:entailment <http://www.w3.org/ns/entailment/RDFS> . {SHORT}"
    texts["foo"] = f"<foo.ttl> sh:entailment <http://www.w3.org/ns/entailment/Foo> . {SHORT}"
    texts["traced"] = NAMED.replace("minCount 1", "minCount 1 ; sh:severity sh:Trace")
    for name, text in texts.items():
        Path(f"{name}.ttl").write_text(HEAD + text, encoding="utf-8")


@pytest.fixture
def run(files: None, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]):
    """Run ``kgrag validate`` and return its exit code and output."""

    def go(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["kgrag", "validate", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0), capfd.readouterr().out

    return go


TRACED = ("data.ttl", "--shapes", "traced.ttl")
CODES = {
    "a result that may be": (TRACED, 0),
    "a result that may not be": (
        (*TRACED, "--conformance-disallows", "Warning", "--conformance-disallows", "Trace"),
        1,
    ),
    "a severity of one's own": ((*TRACED, "--conformance-disallows", "https://example.org/Blocker"), 0),
    "from a severity on": ((*TRACED, "--fail-on", "Info"), 1),
    "a severity that is none": ((*TRACED, "--conformance-disallows", "Blocker"), 2),
    "conforms": (("data.ttl", "--shapes", "short.ttl"), 0),
    "violates": (("data.ttl", "--shapes", "named.ttl"), 1),
    "violates, and something is not decided": (("data.ttl", "--shapes", "named.ttl", "--shapes", "unread.ttl"), 1),
    "not decided": (("data.ttl", "--shapes", "short.ttl", "--shapes", "unread.ttl"), 3),
    "nothing has a target": (("data.ttl", "--shapes", "aimless.ttl"), 3),
    "a shape without a target, and a node": (
        ("data.ttl", "-s", "aimless.ttl", "--shape", NAMED_SHAPE, "--focus", BOB),
        1,
    ),
    "one shape, and another that cannot be read": (
        ("data.ttl", "-s", "short.ttl", "-s", "unread.ttl", "--shape", "https://example.org/Short"),
        0,
    ),
    "an entailment that is not applied": (("data.ttl", "--shapes", "rdfs.ttl"), 3),
    "an entailment that is applied": (("data.ttl", "--shapes", "rdfs.ttl", "--inference", "rdfs"), 0),
    "an entailment that nobody covers": (("data.ttl", "--shapes", "foo.ttl", "--inference", "rdfs"), 3),
    "no such shape": (("data.ttl", "--shapes", "short.ttl", "--shape", NAMED_SHAPE), 2),
    "no shapes": (("data.ttl",), 3),
    "shapes that the data name": (("pointing.ttl",), 1),
    "shapes that are imported": (("data.ttl", "--shapes", "both.ttl"), 1),
    "another focus": (("data.ttl", "--shapes", "named.ttl", "--focus", "https://example.org/ada"), 0),
    "no such file": (("none.ttl", "--shapes", "named.ttl"), 2),
}


@pytest.mark.parametrize(("arguments", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_says_whether_data_conform(run, arguments: tuple[str, ...], code: int) -> None:
    assert run(*arguments)[0] == code


def test_no_check_of_ontologies_is_run_on_data(run) -> None:
    _, out = run("data.ttl", "--shapes", "named.ttl", "--format", "json")
    assert [(each["check"], each["focus"]) for each in json.loads(out)["findings"]] == [(NAMED_SHAPE, BOB)]


def test_what_is_imported_and_not_at_hand_is_named(run) -> None:
    _, out = run("data.ttl", "--shapes", "both.ttl", "--format", "json")
    assert [each["check"] for each in json.loads(out)["not_decided"]] == ["https://example.org/elsewhere"]


def test_data_do_not_conform_to_shapes_of_which_an_import_is_not_at_hand_but_do_once_it_is(run, tmp_path: Path) -> None:
    Path("part.ttl").write_text(f"{HEAD} <part.ttl> owl:imports <https://example.org/elsewhere> . {SHORT}", "utf-8")
    code, out = run("data.ttl", "--shapes", "part.ttl", "--format", "json")
    assert (code, json.loads(out)["conforms"], json.loads(out)["findings"]) == (3, False, [])
    Path("elsewhere.ttl").write_text(f"{HEAD} <https://example.org/elsewhere> a owl:Ontology .", encoding="utf-8")
    assert run("data.ttl", "--shapes", "part.ttl", "--shapes", "elsewhere.ttl")[0] == 0


CATALOGUE = """<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
  <uri name="https://example.org/elsewhere" uri="unread.ttl"/></catalog>"""


@pytest.mark.parametrize(("name", "options"), [("catalog-v001.xml", ()), ("mine.xml", ("--catalog", "mine.xml"))])
def test_what_is_imported_comes_from_a_catalogue(run, name: str, options: tuple[str, ...]) -> None:
    Path(name).write_text(CATALOGUE, encoding="utf-8")
    _, out = run("data.ttl", "--shapes", "both.ttl", "--format", "json", *options)
    assert [each["check"] for each in json.loads(out)["not_decided"]] == ["https://example.org/Odd"]


def test_junit_has_a_case_for_every_shape_whether_it_fails_passes_or_is_not_decided(run) -> None:
    _, out = run("data.ttl", "-s", "named.ttl", "-s", "short.ttl", "-s", "unread.ttl", "--format", "junit")
    cases = {case.get("name", ""): [part.tag for part in case] for case in ElementTree.fromstring(out).iter("testcase")}
    assert cases == {
        "https://example.org/Named": ["failure"],
        "https://example.org/Odd": ["error"],
        "https://example.org/Short": [],
    }


def test_a_result_says_where_its_node_is_stated(run) -> None:
    Path("data.ttl").write_text(HEAD + DATA.replace("ex:bob a", "\nex:bob a"), encoding="utf-8")
    place = f"data.ttl:{HEAD.count(chr(10)) + 2}"
    code, out = run("data.ttl", "--shapes", "named.ttl")
    assert (code, f"  [{place}]" in out) == (1, True)
    assert place in run("data.ttl", "--shapes", "named.ttl", "--format", "html")[1]
    (finding,) = json.loads(run("data.ttl", "--shapes", "named.ttl", "--format", "json")[1])["findings"]
    assert (finding["place"], finding["component"]) == (place, "minCount")
    with KnowledgeBase() as kb:
        kb.load("data.ttl")
        found = kb.validate(shapes=["named.ttl"])
        assert found.sources == {BOB: "data.ttl"}
        document = Document("Robert is a person.", title="Letter")
        names, iri = kb.store.names, documents.document_iri(document, kb.store.names)
        kb.add(document)
        (graph,) = kb.load("data.ttl", graph="urn:taken").published
        source = ox.Quad(ox.NamedNode(graph), PROV.wasDerivedFrom, names.chunk(iri, 0, 19), names.catalogue)
        kb.store.update(f"INSERT DATA {{ GRAPH {source.graph_name} {{ {source.triple} }} }}")
        assert kb.validate(graphs=[graph], shapes=["named.ttl"]).sources == {BOB: "Letter"}


def test_a_pattern_is_decided_by_who_can_read_it_or_not_at_all(run) -> None:
    body = "ex:{} a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:name ; sh:pattern '{}' ] ."
    patterns = {"Read": "^A", "Behind": "^Ada(?<!b)$", "Xml": r"^\\i\\c*$", "Torn": "^[a"}
    shapes = "\n".join(body.format(name, pattern) for name, pattern in patterns.items())
    Path("patterns.ttl").write_text(HEAD + shapes, encoding="utf-8")
    code, out = run("data.ttl", "--shapes", "patterns.ttl", "--format", "json")
    assert (code, json.loads(out)["findings"]) == (3, [])
    assert [each["check"].rpartition("/")[2] for each in json.loads(out)["not_decided"]] == ["Torn"]


def test_shapes_whose_targets_match_nothing_are_named_and_change_no_verdict(run) -> None:
    aims = {"Typo": "targetClass ex:Persom", "By": "targetSubjectsOf ex:nam", "Of": "targetObjectsOf ex:nam"}
    aims |= {"Right": "targetSubjectsOf ex:name", "Node": "targetNode ex:nobody", "Bad": "targetClass ex:Person"}
    body = "ex:{} sh:{} ; sh:property [ sh:path ex:name ; sh:maxCount 1 ] .\n"
    bad = "ex:Bad sh:property [ sh:path ex:age ; sh:minCount 1 ] ."
    aimed = "".join(body.format(*each) for each in aims.items())
    Path("aims.ttl").write_text(HEAD + aimed + bad, encoding="utf-8")
    names = ["https://example.org/By", "https://example.org/Of", "https://example.org/Typo"]
    code, out = run("data.ttl", "--shapes", "aims.ttl", "--format", "json")
    assert (code, json.loads(out)["without_nodes"]) == (1, names)
    assert json.loads(run("data.ttl", "--shapes", "aims.ttl", "--format", "jsonl")[1].splitlines()[-1])["without_nodes"]
    assert "3 of 6 shapes had no node to check: " in run("data.ttl", "--shapes", "aims.ttl")[1]
    for form in ("html", "markdown"):
        out = run("data.ttl", "--shapes", "aims.ttl", "--format", form)[1]
        assert "3 of 6 shapes had no node to check" in out
        assert names[2] in out.replace("\\", "")
    Path("aims.ttl").write_text(HEAD + body.format("Typo", aims["Typo"]), encoding="utf-8")
    code, out = run("data.ttl", "--shapes", "aims.ttl")
    assert (code, "1 of 1 shape had no node to check" in out) == (0, True)


def test_no_report_says_that_data_conform_of_which_a_shape_is_not_decided(run) -> None:
    asked = ("data.ttl", "-s", "short.ttl", "-s", "unread.ttl", "--format")
    assert json.loads(run(*asked, "json")[1])["conforms"] is False
    assert json.loads(run(*asked, "jsonl")[1].splitlines()[-1])["conforms"] is False
    code, out = run(*asked, "shacl")
    report = ox.Store()
    report.load(out.encode(), format=ox.RdfFormat.TURTLE)
    assert code == 3
    assert report.query("ASK { ?r a sh:ValidationReport ; sh:conforms false }", prefixes=PREFIXES)
    assert report.query("ASK { [] aud:notDecided/sh:sourceShape <https://example.org/Odd> }", prefixes=PREFIXES)
    assert json.loads(run(*asked, "sarif")[1])["runs"][0]["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("form", ["text", "markdown", "html", "sarif"])
def test_every_form_of_report_names_the_shape_and_the_node(run, form: str) -> None:
    code, out = run("data.ttl", "--shapes", "named.ttl", "--format", form)
    assert code == 1
    assert "bob" in out
    assert "Named" in out
    assert form == "sarif" or "Robert" in out


@pytest.mark.usefixtures("files")
def test_a_graph_is_validated_by_shapes_of_a_graph() -> None:
    with KnowledgeBase() as kb:
        kb.load("data.ttl", graph="https://example.org/data")
        kb.load("named.ttl", graph="https://example.org/shapes")
        found = kb.validate(graphs=["https://example.org/data"], shapes=["https://example.org/shapes"])
        assert [(each.check, each.focus) for each in found.findings] == [(NAMED_SHAPE, BOB)]
        assert not found.conforms
        with pytest.raises(InputError, match="no graph"):
            kb.validate(graphs=["https://example.org/none"], shapes=["named.ttl"])


def test_what_follows_from_the_data_is_validated_too(run, tmp_path: Path) -> None:
    of_class = (
        "ex:Person rdfs:subClassOf ex:Agent . ex:name rdfs:domain ex:Thing . ex:nick rdfs:subPropertyOf ex:name ."
    )
    text = f"{HEAD}@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . {of_class} {DATA} [] ex:name 'x' . ex:eve ex:nick 007 ."
    Path("more.ttl").write_text(text, encoding="utf-8")
    shape = "ex:Of a sh:NodeShape ; sh:targetClass ex:Thing ; sh:property [ sh:path ex:name ; sh:pattern '^00' ] ."
    Path("of.ttl").write_text(HEAD + shape, encoding="utf-8")
    assert run("more.ttl", "--shapes", "of.ttl")[0] == 0
    code, out = run("more.ttl", "--shapes", "of.ttl", "--inference", "rdfs", "--format", "json")
    # ada, the tool and the blank node are Things, and so is eve, whose number is read as it was written
    assert (code, len(json.loads(out)["findings"])) == (1, 3)


def test_a_select_may_use_the_prefixes_of_its_file_and_a_file_may_have_an_iri_that_is_none(run) -> None:
    select = "SELECT $this WHERE { $this ex:name ?name . FILTER(?name = 'Ada') }"
    text = f'ex:Select a sh:NodeShape ; sh:targetClass ex:Person ; sh:sparql [ sh:select "{select}" ] .'
    odd = "<https://example.org/a#b#c> a sh:NodeShape ; sh:nodeKind sh:IRI ."
    Path("select.ttl").write_text(f"{HEAD} {text} {odd}", encoding="utf-8")
    assert run("data.ttl", "--shapes", "select.ttl")[0] == 1


def test_jsonl_has_a_line_per_result_and_the_counts_at_the_end(run, tmp_path: Path) -> None:
    Path("many.ttl").write_text(f"{HEAD} ex:a a ex:Person . ex:b a ex:Person . ex:c a ex:Person .", encoding="utf-8")
    code, out = run("many.ttl", "--shapes", "named.ttl", "--format", "jsonl", "--limit", "2")
    *results, summary = map(json.loads, out.splitlines())
    assert code == 1
    assert [result["check"] for result in results] == [NAMED_SHAPE] * 2
    assert (summary["conforms"], summary["counts"]["Violation"]) == (False, 3)
    run("many.ttl", "--shapes", "named.ttl", "--format", "jsonl", "-o", "report.jsonl")
    assert len(Path("report.jsonl").read_text(encoding="utf-8").splitlines()) == 4


def test_with_a_limit_the_first_results_of_each_shape_are_listed_in_the_order_of_the_whole_report(run) -> None:
    nodes = " ".join(f"ex:n{number} a ex:Person ." for number in range(250))
    Path("many.ttl").write_text(HEAD + nodes, encoding="utf-8")
    whole, few = (
        json.loads(run("many.ttl", "--shapes", "named.ttl", "--format", "json", *limit)[1])
        for limit in ((), ("--limit", "7"))
    )
    assert few["findings"] == whole["findings"][:7]
    assert few["counts"] == whole["counts"]


def test_data_on_disk_give_the_results_of_data_in_memory(run, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"_:n{n} <https://example.org/name> " + (f'"{n}"', f'"0{n % 9}"^^<{INT}>')[n % 2] for n in range(40)]
    types = [
        f"_:n{n} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <https://example.org/Person>" for n in range(60)
    ]
    Path("many.nt").write_text(" .\n".join([*lines, *types, ""]), encoding="utf-8")
    shape = 'ex:S a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:name ; sh:pattern "^0" ] .'
    Path("own.ttl").write_text(f"{HEAD}{shape}", encoding="utf-8")
    arguments = ("many.nt", "--shapes", "own.ttl", "--shapes", "named.ttl", "--format", "json")
    in_memory = json.loads(run(*arguments)[1])
    monkeypatch.setattr("kgrag.audit.validating._BATCH", 7)
    monkeypatch.setattr("kgrag.audit.validating._MAX_TRIPLES_IN_MEMORY", 20)
    monkeypatch.setattr("kgrag.store.rdf_files._MAX_BYTES_READ_WHOLE", 0)
    monkeypatch.setattr("kgrag.store.rdf_files._BLOCK_BYTES", 200)
    on_disk = json.loads(run(*arguments)[1])
    assert in_memory["counts"]["Violation"] == 39
    assert on_disk["counts"] == in_memory["counts"]
    assert {each["fingerprint"] for each in on_disk["findings"]} == {
        each["fingerprint"] for each in in_memory["findings"]
    }


def test_a_graph_gets_the_verdict_of_its_file(files: None) -> None:
    """A store keeps ``xsd:int`` as ``xsd:integer``; what an update leaves open is not decided."""
    Path("age.ttl").write_text(HEAD + "ex:a a ex:P ; ex:age 300 .", encoding="utf-8")
    shapes = Path("int.ttl")
    shape = "ex:S a sh:NodeShape ; sh:targetClass ex:P ; sh:property [ sh:path ex:age ; {} ] ."
    alone, nested = f"sh:datatype <{INT}>", f'sh:not [ sh:in ( "300"^^<{INT}> ) ]'
    with KnowledgeBase("kb") as kb:
        kb.load("age.ttl", graph="urn:g")
        for stated in (alone, nested):
            shapes.write_text(HEAD + shape.format(stated), encoding="utf-8")
            of_file = kb.validate("age.ttl", shapes=[shapes])
            of_graph = kb.validate(graphs=["urn:g"], shapes=[shapes])
            assert of_graph.conforms is of_file.conforms is (stated == nested)
        kb.update(f'INSERT DATA {{ GRAPH <urn:g> {{ <urn:b> a <https://example.org/P> ; <urn:p> "5"^^<{INT}> }} }}')
        for stated in (alone, nested):
            shapes.write_text(HEAD + shape.format(stated), encoding="utf-8")
            left_open = kb.validate(graphs=["urn:g"], shapes=[shapes])
            assert not left_open.conforms and "after an update" in left_open.not_decided[0].reason
        # so it is of shapes that are left to pyshacl
        target = 'sh:target [ a sh:SPARQLTarget ; sh:select "SELECT ?this { ?this a <https://example.org/P> }" ]'
        shapes.write_text(f"{HEAD} ex:S a sh:NodeShape ; {target} ; sh:property [ sh:path ex:age ; {nested} ] .")
        left_open = kb.validate(graphs=["urn:g"], shapes=[shapes])
        assert not left_open.conforms and "after an update" in left_open.not_decided[0].reason
