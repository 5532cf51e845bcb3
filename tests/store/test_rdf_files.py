"""RDF files: formats, names of graphs, errors with their place, and what would kill a parser."""

from __future__ import annotations

import gzip
import subprocess
import sys
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft
from kgrag.store import rdf_files
from kgrag.store.rdf_files import SUFFIXES, read_rdf
from kgrag.store.rdf_guard import MAX_DEPTH
from kgrag.vocab import KG, XSD, Names

NAMES = Names()
N = ox.NamedNode
RDF_XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:">'
TRIPLE = ox.Triple(N("urn:e:a"), N("urn:e:b"), ox.Literal("c"))
SAME = {
    ".ttl": '<urn:e:a> <urn:e:b> "c" .',
    ".turtle": '<urn:e:a> <urn:e:b> "c" .',
    ".n3": '<urn:e:a> <urn:e:b> "c" .',
    ".nt": '<urn:e:a> <urn:e:b> "c" .\n',
    ".nq": '<urn:e:a> <urn:e:b> "c" .\n',
    ".trig": '{ <urn:e:a> <urn:e:b> "c" }',
    ".jsonld": '{"@id": "urn:e:a", "urn:e:b": "c"}',
    ".json": '{"@id": "urn:e:a", "urn:e:b": "c"}',
    ".rdf": f'{RDF_XML}<rdf:Description rdf:about="urn:e:a"><e:b>c</e:b></rdf:Description></rdf:RDF>',
}
SAME |= dict.fromkeys((".owl", ".rdfs", ".xml"), SAME[".rdf"])


def read(folder: Path, text: str | bytes, name: str = "file.ttl", **options: object) -> list[GraphDraft]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_rdf(path, names=NAMES, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_is_read(tmp_path: Path, suffix: str) -> None:
    (draft,) = read(tmp_path, SAME[suffix], f"file{suffix}")
    (zipped,) = read(tmp_path, gzip.compress(SAME[suffix].encode()), f"file{suffix}.gz")
    assert list(draft.triples) == list(zipped.triples) == [TRIPLE]
    assert draft.iri == zipped.iri == NAMES.loaded_graph(SAME[suffix])
    assert (draft.kind, draft.mode) == (KG.DataGraph, "replace")
    assert list(draft.described) == [(KG.location, ox.Literal(str(tmp_path / f"file{suffix}")))]


@pytest.mark.parametrize("given", ["turtle", "ttl", ".ttl", "Turtle", "text/turtle", "TTL"])
def test_the_format_can_be_named(tmp_path: Path, given: str) -> None:
    assert read(tmp_path, SAME[".ttl"], "file.txt", rdf_format=given)[0].triples == [TRIPLE]


@pytest.mark.parametrize("given", ["rdfxml", "rdf/xml", "application/rdf+xml", "owl", "RDF-XML"])
def test_rdf_xml_can_be_named(tmp_path: Path, given: str) -> None:
    assert read(tmp_path, SAME[".rdf"], "file", rdf_format=given)[0].triples == [TRIPLE]


@pytest.mark.parametrize(("name", "given"), [("file.txt", None), ("file", None), ("file.ttl", "word")])
def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path, name: str, given: str | None) -> None:
    with pytest.raises(InvalidRDF, match=r"\.ttl.*known formats.*turtle"):
        read(tmp_path, SAME[".ttl"], name, rdf_format=given)


def test_an_owl_file_may_hold_turtle(tmp_path: Path) -> None:
    assert read(tmp_path, SAME[".ttl"], "file.owl")[0].triples == [TRIPLE]
    assert read(tmp_path, "@prefix e: <urn:e:> .\ne:a e:b 'c' .", "other.owl")[0].triples == [TRIPLE]


@pytest.mark.parametrize(
    "text", ["Prefix(:=<urn:e:>)\nOntology(<urn:o>)", "Prefix: : <urn:e:>", '<?xml version="1.0"?>\n<Ontology/>']
)
def test_an_owl_syntax_that_is_no_rdf_is_refused_with_a_way_out(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidRDF, match="ROBOT"):
        read(tmp_path, text, "file.owl")


ONTOLOGY = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n<urn:e:onto> a owl:Ontology .\n<urn:e:C> a owl:Class .\n"


def test_an_ontology_gives_its_graph_its_iri(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, ONTOLOGY)
    assert (draft.iri, draft.kind) == (N("urn:e:onto"), KG.OntologyGraph)


def test_the_caller_names_the_graph(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, ONTOLOGY, graph=N("urn:e:mine"))
    assert draft.iri == N("urn:e:mine")


def test_classes_without_an_ontology_make_an_ontology_graph(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, "<urn:e:C> a <http://www.w3.org/2000/01/rdf-schema#Class> .")
    assert draft.kind == KG.OntologyGraph
    assert draft.iri.value.startswith("urn:kgrag:graph/data/")


def test_named_graphs_keep_their_names(tmp_path: Path) -> None:
    text = "<urn:e:s> <urn:e:p> 1 . <urn:e:g> { <urn:e:a> <urn:e:b> <urn:e:c> } _:x { <urn:e:a> <urn:e:b> _:x }"
    own, named, blank = read(tmp_path, text, "file.trig")
    assert own.iri == NAMES.loaded_graph(text)
    assert (named.iri, len(named.triples)) == (N("urn:e:g"), 1)
    assert blank.iri.value.startswith(own.iri.value + "/")


def test_an_empty_file_gives_an_empty_draft(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, "# nothing\n")
    assert list(draft.triples) == []


def test_relative_iris_are_read_against_the_graph_or_the_content_and_never_the_path(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, "<a> <urn:e:b> <#c> .")
    base = f"{draft.iri.value}/"
    assert list(draft.triples) == [ox.Triple(N(f"{base}a"), N("urn:e:b"), N(f"{base}#c"))]
    (given,) = read(tmp_path, "<a> <urn:e:b> <#c> .", graph=N("http://e.org/g"))
    assert list(given.triples) == [ox.Triple(N("http://e.org/a"), N("urn:e:b"), N("http://e.org/g#c"))]


@pytest.mark.parametrize("suffix", [".ttl", ".jsonld", ".rdf"])
def test_blank_nodes_have_the_same_names_each_time(tmp_path: Path, suffix: str) -> None:
    text = {
        ".ttl": "<urn:e:a> <urn:e:b> [ <urn:e:c> (1 [] _:x) ] .",
        ".jsonld": '{"@id": "urn:e:a", "urn:e:b": [{"urn:e:c": 1}, {"urn:e:d": {"urn:e:f": 2}}]}',
        ".rdf": f'{RDF_XML}<rdf:Description><e:b rdf:parseType="Resource"/></rdf:Description></rdf:RDF>',
    }[suffix]
    first, second = (read(tmp_path, text, f"{place}{suffix}")[0] for place in "ab")
    assert list(first.triples) == list(second.triples)
    other = read(tmp_path, text, f"c{suffix}", graph=N("urn:e:other"))[0]
    blank = {str(triple.subject) for triple in first.triples if isinstance(triple.subject, ox.BlankNode)}
    assert blank
    assert blank.isdisjoint(str(triple.subject) for triple in other.triples)


def test_blank_nodes_in_triple_terms_are_the_same_nodes(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, "<urn:e:a> <urn:e:b> <<( _:x <urn:e:c> _:y )>> . _:x <urn:e:d> _:y .")
    term, plain = (triple for triple in draft.triples)
    assert isinstance(term.object, ox.Triple)
    assert (term.object.subject, term.object.object) == (plain.subject, plain.object)


def test_literals_are_given_as_they_are_written(tmp_path: Path) -> None:
    (draft,) = read(tmp_path, "<urn:e:a> <urn:e:b> 01.50 .")
    assert draft.triples[0].object == ox.Literal("01.50", datatype=XSD.decimal)


PLACES = {
    "file.ttl": ("<urn:e:a> <urn:e:b>\n  nonsense .", "line 2, column 3"),
    "file.nt": ("<urn:e:a> <urn:e:b> <urn:e:c> .\n<urn:e:a> .\n", "line 2, column"),
    "file.rdf": (f"{RDF_XML}\n<e:p>\n</rdf:RDF>", "line 3, column 3"),
    "file.jsonld": ('{"@id": "urn:e:a",\n "urn:e:b" 1}', "line 2, column"),
    "file.trig": ("<urn:e:g> { <urn:e:a>\n\n }", "line 3"),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_error_names_file_line_and_column(tmp_path: Path, name: str) -> None:
    text, place = PLACES[name]
    with pytest.raises(InvalidRDF, match=place) as caught:
        read(tmp_path, text, name)
    assert str(tmp_path / name) in str(caught.value)


def test_rdf_xml_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match="not well-formed"):
        read(tmp_path, SAME[".rdf"][:-12], "file.rdf")


@pytest.mark.parametrize("name", ["none.ttl", "none.ttl.gz"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidRDF, match=name):
        read_rdf(tmp_path / name, names=NAMES)


def test_a_file_that_is_no_gzip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match="gzip"):
        read(tmp_path, "plain", "file.ttl.gz")
    with pytest.raises(InvalidRDF, match="gzip"):
        read(tmp_path, gzip.compress(b"x" * 5000)[:-15], "torn.ttl.gz")


def test_bytes_that_are_no_utf_8_are_refused_with_their_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match=r"line 2: byte 0xe9 is not UTF-8"):
        read(tmp_path, b'# x\n<urn:e:a> <urn:e:b> "\xe9" .')
    with pytest.raises(InvalidRDF, match="ISO-8859-1"):
        read(tmp_path, '<?xml version="1.0" encoding="ISO-8859-1"?>' + SAME[".rdf"], "file.rdf")


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    assert read(tmp_path, b"\xef\xbb\xbf" + SAME[".ttl"].encode())[0].triples == [TRIPLE]
    assert read(tmp_path, b"\xef\xbb\xbf" + SAME[".rdf"].encode(), "file.rdf")[0].triples == [TRIPLE]


DEEP = {
    "lists.ttl": lambda n: "<urn:e:a> <urn:e:b> " + "(" * n + ")" * n + " .",
    "nodes.ttl": lambda n: "<urn:e:a> <urn:e:b> " + "[ <urn:e:b> " * n + "1" + "]" * n + " .",
    "terms.ttl": lambda n: "<urn:e:a> <urn:e:b> " + "<<( <urn:e:a> <urn:e:b> " * n + "1" + ")>>" * n + " .",
    "terms.nt": lambda n: "<urn:e:a> <urn:e:b> " + "<<( <urn:e:a> <urn:e:b> " * n + "<urn:e:c>" + ")>>" * n + " .",
    "formulas.n3": lambda n: "<urn:e:a> <urn:e:b> " + "{ <urn:e:a> <urn:e:b> " * n + "1" + "}" * n + " .",
    "objects.jsonld": lambda n: '{"urn:e:b": ' * n + "1" + "}" * n,
    "arrays.json": lambda n: "[" * n + "]" * n,
    "elements.rdf": lambda n: RDF_XML + "<rdf:Description><e:b>" * n + "</e:b></rdf:Description>" * n + "</rdf:RDF>",
}


@pytest.mark.parametrize("name", DEEP)
def test_what_is_nested_too_deep_is_refused_in_no_time(tmp_path: Path, name: str) -> None:
    read(tmp_path, DEEP[name](MAX_DEPTH // 2 - 1), name)
    begun = time.process_time()
    with pytest.raises(InvalidRDF, match=rf"line 1: .* more than {MAX_DEPTH} deep"):
        read(tmp_path, DEEP[name](100_000), name)
    assert time.process_time() - begun < 10


def test_brackets_in_strings_and_comments_and_iris_do_not_count(tmp_path: Path) -> None:
    text = f'# {"(" * 200}\n<urn:e:a> <urn:e:b(((> "{"[" * 200}", """{"{" * 200}""" .'
    assert len(read(tmp_path, text)[0].triples) == 2
    assert len(read(tmp_path, '{"@id": "urn:e:a", "urn:e:b": "' + "[" * 200 + '"}', "file.jsonld")[0].triples) == 1


def test_closing_brackets_in_strings_do_not_hide_depth(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match="deep"):
        read(tmp_path, '{"urn:e:b": ["}]", ' * 200, "file.jsonld")


def with_doctype(entities: str, text: str = "c") -> str:
    return f"<!DOCTYPE rdf:RDF [{entities}]>" + SAME[".rdf"].replace(">c<", f">{text}<")


def test_short_entities_are_expanded(tmp_path: Path) -> None:
    text = with_doctype('<!ENTITY e "urn:e:"><!ENTITY ea "&e;a">', "&ea;")
    assert read(tmp_path, text, "file.owl")[0].triples[0].object == ox.Literal("urn:e:a")


BOMBS = {
    "laughs": with_doctype(
        '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9)), "&a9;"
    ),
    "growth": with_doctype(f'<!ENTITY a "{"h" * 900}">', "&a;" * 100_000),
    "a long one": with_doctype(f'<!ENTITY a "{"h" * 5000}">', "&a;"),
    "itself": with_doctype('<!ENTITY a "&b;"><!ENTITY b "&a;">', "&a;"),
    "a file": with_doctype('<!ENTITY a SYSTEM "file:///etc/hostname">', "&a;"),
    "an address": with_doctype('<!ENTITY a SYSTEM "http://127.0.0.1:9/">', "&a;"),
    "a parameter": with_doctype('<!ENTITY % a "x">', "c"),
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_entities_that_grow_or_reach_out_are_refused(tmp_path: Path, text: str) -> None:
    begun = time.process_time()
    with pytest.raises(InvalidRDF, match=r"entit|well-formed"):
        read(tmp_path, text, "file.rdf")
    assert time.process_time() - begun < 5


def test_a_remote_context_is_not_fetched(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match="nothing is fetched"):
        read(tmp_path, '{"@context": "http://127.0.0.1:9/context", "name": "x"}', "file.jsonld")


def test_a_document_type_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    text = '<!DOCTYPE rdf:RDF SYSTEM "http://127.0.0.1:9/x.dtd">' + SAME[".rdf"]
    assert read(tmp_path, text, "file.rdf")[0].triples == [TRIPLE]


@pytest.mark.parametrize("graph", [NAMES.catalogue, NAMES.provenance, NAMES.hypernodes])
def test_graphs_that_are_ours_are_not_replaced(tmp_path: Path, graph: ox.NamedNode) -> None:
    with pytest.raises(InvalidRDF, match="kgrag import"):
        read(tmp_path, f"<urn:e:a> <urn:e:b> <urn:e:c> {graph} .", "file.nq")


def test_the_deepest_that_is_let_pass_does_not_kill_the_process(tmp_path: Path) -> None:
    for name, deep in DEEP.items():
        (tmp_path / name).write_text(deep(MAX_DEPTH // 2 - 1))
    code = (
        "import sys; from pathlib import Path\n"
        "from kgrag.store.rdf_files import read_rdf; from kgrag.vocab import Names\n"
        "from kgrag.store.oxigraph import OxigraphStore\n"
        "for path in sys.argv[1:]: OxigraphStore.open(None).publish(read_rdf(Path(path), names=Names()))"
    )
    paths = [str(tmp_path / name) for name in DEEP]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_real_ontologies_are_read_twice_alike(data: Path) -> None:
    for path in sorted((data / "ontologies").iterdir()):
        if path.suffix in SUFFIXES and path.suffix != ".json":
            first, second = (read_rdf(path, names=NAMES) for _ in range(2))
            assert first == second
            assert {draft.kind for draft in first} == {KG.OntologyGraph}


def test_a_large_file_of_lines_is_read_in_blocks_to_the_same_triples(tmp_path: Path, monkeypatch) -> None:
    lines = [f'_:n{n % 5} <urn:p> "{n}" <urn:g{n % 2}>' for n in range(30)]
    whole, packed, broken = (tmp_path / name for name in ("data.nq", "data.nq.gz", "broken.nq"))
    whole.write_text(" .\n".join([*lines, ""]), encoding="utf-8")
    packed.write_bytes(gzip.compress(whole.read_bytes()))
    broken.write_text(" .\n".join([*lines, "<urn:s> oops"]), encoding="utf-8")
    at_once = sorted(str(each.object) for each in rdf_files.read_triples(whole))
    monkeypatch.setattr(rdf_files, "_MAX_BYTES_READ_WHOLE", 0)
    monkeypatch.setattr(rdf_files, "_BLOCK_BYTES", 100)
    for path in (whole, packed):
        triples = list(rdf_files.read_triples(path))
        assert sorted(str(each.object) for each in triples) == at_once
        assert len({each.subject for each in triples}) == 5
    with pytest.raises(InvalidRDF, match=r"broken\.nq, line 31"):
        list(rdf_files.read_triples(broken))


def test_of_several_files_the_message_about_one_tells_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text(SAME[".ttl"], encoding="utf-8")
    assert len(rdf_files.read_all([tmp_path / "a.ttl", tmp_path / "a.ttl"], names=NAMES)) == 2
    with pytest.raises(InvalidRDF, match=r"b\.ttl.*Nothing was loaded of the other files either"):
        rdf_files.read_all([tmp_path / "a.ttl", tmp_path / "b.ttl"], names=NAMES)
    with pytest.raises(InvalidRDF, match=r"b\.ttl((?!other files).)*$"):
        rdf_files.read_all([tmp_path / "b.ttl"], names=NAMES)


def test_a_term_that_is_too_long_for_the_parser_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "long.ttl"
    path.write_text('<urn:a> <urn:b> "short" .\n<urn:a> <urn:b> "' + "x" * (17 << 20) + '" .\n', encoding="utf-8")
    with pytest.raises(InvalidRDF, match=r"long\.ttl, line 2: a text or an IRI is longer .*16 MiB"):
        rdf_files.read_rdf(path, names=Names())
