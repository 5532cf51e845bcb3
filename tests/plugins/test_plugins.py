"""Plug-ins: found by entry points, used by the code that makes that kind of part, and never a danger to the others."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, plugins, prompting, queries
from kgrag.audit import audit_triples, load_profile, profile_names
from kgrag.audit.checks import check_named
from kgrag.audit.reports import forms, written
from kgrag.errors import PluginBroken, QueryParameterError, UnknownName, UnreadableDocument
from kgrag.settings import Settings
from kgrag.store.scratch import OxigraphScratch
from kgrag.testing import HashEmbedder, check_method
from kgrag.text import readers

Install = Callable[..., Path]
DECLARED = """
import pyoxigraph as ox
from kgrag.declarations import *
"""
EMPTY_SPACE = 'VectorSpace("{name}", ox.NamedNode("urn:acme:Graph"), "spaces/chunk")'


def method(install: Install, name: str, body: str, points: str = "acme") -> None:
    """Install a package that registers one method, whose declaration is in ``body``."""
    install(name, {"kgrag.methods": {points: f"{name}:DECLARATION"}}, {f"{name}/__init__.py": DECLARED + body})


def problem(name: str) -> str:
    with pytest.raises(PluginBroken) as stop:
        plugins.method(name)
    return str(stop.value)


# --- broken ones ------------------------------------------------------------------------------------------------------


def test_a_plug_in_that_cannot_be_imported_is_named_with_its_reason_and_breaks_no_other(install: Install) -> None:
    method(install, "acme_broken", "import no_such_module_at_all")
    assert "'acme' (kgrag.methods, acme_broken 1.0) cannot be used" in problem("acme")
    assert "ModuleNotFoundError: No module named 'no_such_module_at_all'" in problem("acme")
    assert "acme" not in plugins.methods()
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.method("passages")
        with pytest.raises(PluginBroken, match="no_such_module_at_all"):
            kb.retrieve("Who sows?", method="acme")


def test_two_distributions_with_one_name_are_refused_and_both_are_named(install: Install) -> None:
    method(install, "acme_one", 'DECLARATION = MethodDeclaration("acme", "acme_one:X", "one")')
    method(install, "acme_two", 'DECLARATION = MethodDeclaration("acme", "acme_two:X", "two")')
    assert "acme_two 1.0 and acme_one 1.0" in problem("acme")
    assert len(plugins.methods()) == 7


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ('DECLARATION = "acme"', "is a str, and a MethodDeclaration was expected"),
        ('DECLARATION = MethodDeclaration("other", "x:Y", "z")', "declares the name 'other'"),
        ('DECLARATION = MethodDeclaration("acme", "x:Y", "z", options=int)', "options int should be a dataclass"),
        (
            'KG = ox.NamedNode("https://w3id.org/kgrag/ns#TreeGraph")\n'
            'DECLARATION = MethodDeclaration("acme", "x:Y", "z", graph_kinds=(GraphKind(KG, "a", "b"),))',
            "which is of the method 'sire_rag'",
        ),
        (
            f'DECLARATION = MethodDeclaration("acme", "x:Y", "z", vector_spaces=({EMPTY_SPACE.format(name="triple")},))',
            "which is of the method 'poly_rag'",
        ),
        (
            f'DECLARATION = MethodDeclaration("acme", "x:Y", "z", vector_spaces=({EMPTY_SPACE.format(name="chunk")},))',
            "should begin with 'acme-'",
        ),
    ],
)
def test_a_declaration_that_is_not_sound_is_left_out_with_the_reason(install: Install, body: str, told: str) -> None:
    method(install, "acme_wrong", body)
    assert told in problem("acme")
    assert len(plugins.methods()) == 7


def test_a_class_that_cannot_be_imported_is_found_by_the_listing_and_by_its_first_use(install: Install) -> None:
    method(install, "acme_late", 'DECLARATION = MethodDeclaration("acme", "acme_late.method:Acme", "late")')
    (found,) = [each for each in plugins.examined() if each.problem]
    assert (found.name, "acme_late.method" in found.problem) == ("acme", True)
    with pytest.raises(PluginBroken, match=r"acme_late\.method"), KnowledgeBase(settings=Settings()) as kb:
        kb.method("acme")


def test_an_unknown_name_is_refused_with_the_nearest_of_its_group() -> None:
    with pytest.raises(UnknownName, match="there is no chunker 'pauzes'. Did you mean 'pauses'"):
        plugins.load("kgrag.chunkers", "pauzes")


def test_the_command_lists_every_plug_in_and_fails_when_one_is_broken(install: Install, capsys, monkeypatch) -> None:
    from kgrag import cli

    method(install, "acme_broken", "raise ValueError('out of order')")
    monkeypatch.setattr("sys.argv", ["kgrag", "plugins", "--format", "json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    rows = json.loads(capsys.readouterr().out)
    broken = [row for row in rows if row["problem"]]
    assert stop.value.code == 1
    assert [(row["name"], row["distribution"], row["version"]) for row in broken] == [("acme", "acme_broken", "1.0")]
    assert "ValueError: out of order" in broken[0]["problem"]
    assert {row["group"] for row in rows} == set(plugins.GROUPS) - {"kgrag.rerankers"}


def test_files_that_do_not_parse_are_left_out_and_those_of_others_are_read(install: Install, caplog) -> None:
    from kgrag.store.rdf_files import plugin_quads

    points = {"kgrag.checks": {"acme_torn": "acme_torn"}}
    files = {
        "acme_torn/__init__.py": "",
        "acme_torn/ontologies/torn.ttl": "<urn:a> <urn:b> .",
        "acme_torn/ontologies/whole.ttl": "<urn:a> <urn:b> <urn:c> .",
        "acme_torn/shapes/ontology/torn.ttl": "no Turtle",
    }
    install("acme_torn", points, files)
    assert [quad.object.value for quad in plugin_quads("ontologies")] == ["urn:c"]
    assert check_named("KG-01").family == "kg"
    assert "torn.ttl of a plug-in is left out" in caplog.text
    assert "The checks of the plug-in 'acme_torn' are left out" in caplog.text


# --- each group is in use ---------------------------------------------------------------------------------------------

PARTS = """
import numpy as np
from dataclasses import replace
from kgrag.index.vector_folder import FolderSpaces
from kgrag.llm.extractive import ExtractiveModel
from kgrag.model import Chunk
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder
from kgrag.text.readers import Reader


def _read(source):
    yield source.document(source.text().upper())


SHOUTED = Reader(_read, "text/x-shouted")


def lines(document, *, tokens):
    found, start = [], 0
    for number, line in enumerate(document.text.split("\\n")):
        found.append(Chunk(line, start, start + len(line), number, len(line.split())))
        start += len(line) + 1
    return [each for each in found if each.text]


def embedder(settings):
    return HashEmbedder(32)


class Model(ExtractiveModel):
    identity = "acme-model"


def model(settings):
    return Model()


class Reversed:
    def rerank(self, question, hits):
        return [replace(hit, score=float(number)) for number, hit in enumerate(hits)][::-1]


def reranker(settings):
    return Reversed()


class Store(OxigraphStore):
    pass


class Spaces(FolderSpaces):
    pass


def count(audit):
    return f"{sum(audit.counts.values())} in all"
"""
POINTS = {
    "kgrag.readers": {"shout": "acme_parts:SHOUTED"},
    "kgrag.chunkers": {"lines": "acme_parts:lines"},
    "kgrag.embedders": {"acme-embedder": "acme_parts:embedder"},
    "kgrag.models": {"acme-model": "acme_parts:model"},
    "kgrag.rerankers": {"reversed": "acme_parts:reranker"},
    "kgrag.stores": {"acme-store": "acme_parts:Store.open"},
    "kgrag.vectors": {"acme-vectors": "acme_parts:Spaces"},
    "kgrag.checks": {"acme_parts": "acme_parts"},
    "kgrag.reports": {"count": "acme_parts:count"},
}
QUERY = "# The catalogue\n#\n# param catalogue: IRI  it\n# returns ?graph  one\n# reads the catalogue\n\n"
FILES = {
    "acme_parts/__init__.py": PARTS,
    "acme_parts/queries/listed.rq": QUERY
    + 'SELECT ?graph WHERE { {% include "acme_parts:inner.part" %} } ORDER BY ?graph\n',
    "acme_parts/queries/inner.part": "GRAPH {{ catalogue }} { ?graph a ?kind }",
    "acme_parts/prompts/ask.j2": "{#\nAsk\n\nSource  ours\ninput text: text  it\noutput  text\n#}\nSay {{ text }}.",
    "acme_parts/shapes/profiles/loud.toml": 'description = "Labels only"\nfamilies = ["acm"]\n',
    "acme_parts/shapes/ontology/acm.ttl": """
@prefix aud: <https://w3id.org/kgrag/audit#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix acme: <https://example.org/acme#> .
@prefix check: <https://w3id.org/kgrag/checks#> .

check:ACM-01
  a aud:Check ;
  dcterms:identifier "ACM-01" ;
  rdfs:label "A class without a label" ;
  aud:severity sh:Warning ;
  aud:rationale "People read labels." ;
  aud:mend "Add one." ;
  aud:violating "<urn:a> a <http://www.w3.org/2002/07/owl#Class> ." ;
  aud:conforming "<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> 'a' ; a <http://www.w3.org/2002/07/owl#Class> ." ;
  aud:shape acme:Labelled .

acme:Labelled
  a sh:NodeShape ;
  sh:targetClass owl:Class ;
  sh:property [ sh:path rdfs:label ; sh:minCount 1 ; sh:message "It has no label." ] .
""",
}


@pytest.fixture
def parts(install: Install) -> Path:
    return install("acme_parts", POINTS, FILES)


def test_nothing_of_it_is_broken(parts: Path) -> None:
    assert [each for each in plugins.examined() if each.problem] == []


def test_a_file_is_read_by_the_reader_of_its_suffix_also_zipped(parts: Path, tmp_path: Path) -> None:
    import gzip

    (tmp_path / "a.shout").write_text("rye\n")
    (tmp_path / "b.shout.gz").write_bytes(gzip.compress(b"oats\n"))
    found = list(readers.read_paths([tmp_path / "a.shout", tmp_path / "b.shout.gz"]))
    assert [(each.text, each.media_type) for each in found] == [
        ("RYE\n", "text/x-shouted"),
        ("OATS\n", "text/x-shouted"),
    ]


def test_a_broken_reader_spoils_the_files_of_its_suffix_and_no_other(install: Install, tmp_path: Path) -> None:
    install("acme_reader", {"kgrag.readers": {"shout": "acme_reader:NOTHING"}}, {"acme_reader/__init__.py": ""})
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.shout").write_text("rye")
    (folder / "b.txt").write_text("oats")
    broken: dict[Path, str] = {}
    assert [each.text for each in readers.read_paths([folder], broken=broken)] == ["oats"]
    assert "acme_reader 1.0) cannot be used" in broken[folder / "a.shout"]
    with pytest.raises(UnreadableDocument, match="cannot be used"):
        list(readers.read_path(folder / "a.shout"))


FAILING = """
from kgrag.text.readers import Reader


def _read(source):
    yield source.document("first")
    raise ValueError("odd line 3")


ODD = Reader(_read, "text/x-odd")
"""


def test_a_reader_that_fails_breaks_its_file_and_no_other_and_is_named_with_its_package(
    install: Install, tmp_path: Path
) -> None:
    install("acme_odd", {"kgrag.readers": {"odd": "acme_odd:ODD"}}, {"acme_odd/__init__.py": FAILING})
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.odd").write_text("x")
    (folder / "b.txt").write_text("oats")
    broken: dict[Path, str] = {}
    assert [each.text for each in readers.read_paths([folder], broken=broken)] == ["first", "oats"]
    assert "a.odd: the reader 'odd' of acme_odd 1.0 failed: ValueError: odd line 3" in broken[folder / "a.odd"]
    with pytest.raises(UnreadableDocument, match="ValueError: odd line 3"):
        list(readers.read_path(folder / "a.odd"))


def test_documents_are_cut_by_the_chunker_that_is_asked_for_and_cut_again_by_another(
    parts: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("Rye is sown.\nOats are mown.\n")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        assert kb.ingest(tmp_path / "a.txt", chunker="lines").chunks == 2
        assert kb.ingest(tmp_path / "a.txt", chunker="lines").unchanged == 1
        assert kb.ingest(tmp_path / "a.txt").replaced == 1
        with pytest.raises(UnknownName, match="no chunker 'words'"):
            kb.ingest(tmp_path / "a.txt", chunker="words")


def test_settings_name_embedder_model_store_and_vectors(parts: Path, tmp_path: Path) -> None:
    settings = Settings(
        embedder="acme-embedder", model="acme-model", store="acme-store", vectors="acme-vectors", kb=tmp_path / "a.kb"
    )
    (tmp_path / "a.txt").write_text("Rye is sown in autumn.")
    with KnowledgeBase(settings.kb, settings=settings) as kb:
        kb.ingest(tmp_path / "a.txt")
        answer = kb.ask("When is rye sown?")
        assert (type(kb.store).__name__, type(kb.spaces).__name__) == ("Store", "Spaces")
        assert (kb.embedder.dimension, kb.model.identity) == (32, "acme-model")
        assert answer.citations[0].quote == "Rye is sown in autumn."


def test_hits_are_reranked_by_name_and_come_from_more_candidates(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps({"title": f"T{n}", "text": f"Rye {n}."}) for n in range(8)))
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.ingest(tmp_path / "a.jsonl")
        plain = kb.retrieve("rye", k=8)
        assert [hit.iri for hit in kb.retrieve("rye", k=2, rerank="reversed")] == [hit.iri for hit in plain[:-3:-1]]
        assert kb.ask("Where is rye?", k=2, rerank="reversed").hits[0].iri == plain[-1].iri
        with pytest.raises(UnknownName, match="no reranker 'best'. Known: cross-encoder:NAME, model, reversed"):
            kb.retrieve("rye", rerank="best")


def test_checks_and_profiles_of_a_package_are_audited_by(parts: Path) -> None:
    import pyoxigraph as ox

    from kgrag.audit import AuditOptions

    assert "acme_parts:loud" in profile_names()
    assert load_profile("acme_parts:loud").severity(check_named("ACM-01")) == "Warning"
    assert load_profile("default").severity(check_named("ACM-01")) == "Off"
    triples = list(ox.parse("<urn:a> a <http://www.w3.org/2002/07/owl#Class> .", format=ox.RdfFormat.TURTLE))
    found = audit_triples(
        [quad.triple for quad in triples], name="x", bench=OxigraphScratch(), options=AuditOptions("acme_parts:loud")
    )
    assert [(finding.check, finding.focus) for finding in found.findings] == [("ACM-01", "urn:a")]
    assert "count" in forms()
    assert written(found, "count").endswith(" in all")


def test_a_profile_of_a_package_is_offered_where_the_package_is_left_out(parts: Path) -> None:
    with pytest.raises(UnknownName, match="no profile 'loud'. Did you mean 'acme_parts:loud'"):
        load_profile("loud")


def test_a_profile_file_extends_one_of_a_package(parts: Path, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('extends = "acme_parts:loud"\n[severities]\n"ANN-01" = "Info"\n')
    profile = load_profile(str(tmp_path / "p.toml"))
    assert [profile.severity(check_named(name)) for name in ("ACM-01", "ANN-01", "ANN-02")] == [
        "Warning",
        "Info",
        "Off",
    ]


def test_queries_parts_and_prompts_of_a_package_are_named_with_its_prefix(parts: Path) -> None:
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        catalogue = kb.store.names.catalogue
        assert len(kb.store.select(queries.bind("acme_parts:listed", catalogue=catalogue))) >= 1
    assert "acme_parts:listed" in queries.names()
    assert queries.describe("acme_parts:listed").title == "The catalogue"
    prompt = prompting.render("acme_parts:ask", text="rye")
    assert (prompt.name, prompt.text) == ("acme_parts:ask", "Say rye.")
    with pytest.raises(UnknownName, match="acme_parts:listed"):
        queries.bind("acme_parts:list", catalogue=catalogue)
    with pytest.raises(QueryParameterError, match="acme_parts:listed"):
        queries.bind("acme_parts:listed")


# --- the checks of methods can fail -----------------------------------------------------------------------------------

CARELESS = (
    DECLARED
    + """
GRAPH = ox.NamedNode("urn:acme:Graph")
DECLARATION = MethodDeclaration("acme", "acme_careless.method:Careless", "whatever comes")
"""
)
METHOD = """
from dataclasses import dataclass
from typing import ClassVar
from kgrag.declarations import NoOptions
from kgrag.errors import NotBuilt
from kgrag.methods.passages.method import Passages
from kgrag.model import BuildReport, GraphDraft, Hit
import pyoxigraph as ox


@dataclass(frozen=True)
class Careless(Passages):
    name: ClassVar[str] = "acme"
{body}
"""
FAULTS = {
    "a name that is not the registered one": ('    name: ClassVar[str] = "emca"', "its name is 'emca'"),
    "a second build that writes": (
        "    def build(self, options=NoOptions(), *, progress=None, dry_run=False):\n"
        "        if not dry_run:\n"
        '            self.store.update(f"INSERT DATA {{ GRAPH <urn:x> {{ <urn:s> <urn:p> {self.store.revision} }} }}")\n'
        '        return BuildReport("acme", dict.fromkeys(("completions", "input_tokens", "output_tokens"), 0))',
        "building_again_changes_nothing",
    ),
    "a dry run that writes": (
        "    def build(self, options=NoOptions(), *, progress=None, dry_run=False):\n"
        "        Passages.build(self)\n"
        '        return BuildReport("acme", dict.fromkeys(("completions", "input_tokens", "output_tokens"), 0))',
        "a_dry_run_writes_nothing: the store or the vectors are not what they were",
    ),
    "hits without sources": (
        "    def retrieve(self, question, k):\n"
        "        return [Hit(hit.iri, 'x', hit.text, hit.score) for hit in Passages.retrieve(self, question, k)]",
        "without sources or text",
    ),
    "the worst first": (
        "    def retrieve(self, question, k):\n        return Passages.retrieve(self, question, k)[::-1]",
        "not in descending order",
    ),
    "no refusal before a build": (
        "    def retrieve(self, question, k):\n"
        "        try:\n            return Passages.retrieve(self, question, k)\n"
        "        except NotBuilt:\n            return []",
        "nothing was raised, and NotBuilt was expected",
    ),
    "a graph of a kind that is not declared": (
        "    def build(self, options=NoOptions(), *, progress=None, dry_run=False):\n"
        "        report = Passages.build(self, options, progress=progress, dry_run=dry_run)\n"
        "        graph, kind = ox.NamedNode('urn:acme:g'), ox.NamedNode('https://w3id.org/kgrag/ns#DataGraph')\n"
        "        if not dry_run:\n"
        "            self.store.publish([GraphDraft(graph, kind, [ox.Triple(graph, kind, kind)])])\n"
        "        return BuildReport('acme', report.counts)",
        "which is not declared",
    ),
    "a graph of a kind that nobody declares": (
        "    def build(self, options=NoOptions(), *, progress=None, dry_run=False):\n"
        "        report = Passages.build(self, options, progress=progress, dry_run=dry_run)\n"
        "        graph, kind = ox.NamedNode('urn:acme:g'), ox.NamedNode('urn:acme:Graph')\n"
        "        if not dry_run:\n"
        "            self.store.publish([GraphDraft(graph, kind, [ox.Triple(graph, kind, kind)])])\n"
        "        return BuildReport('acme', report.counts)",
        "kind <urn:acme:Graph> is not in the declaration's graph_kinds",
    ),
    "what outlives its document": (
        "    def build(self, options=NoOptions(), *, progress=None, dry_run=False):\n"
        "        report = Passages.build(self, options, progress=progress, dry_run=dry_run)\n"
        "        if not dry_run:\n"
        "            hits = Passages.retrieve(self, 'Quillfeather', 5)\n"
        "            graph, kind = ox.NamedNode('urn:acme:g'), ox.NamedNode('https://w3id.org/kgrag/ns#DataGraph')\n"
        "            said = [ox.Triple(graph, kind, ox.Literal(hit.text)) for hit in hits if 'Quill' in hit.text]\n"
        "            self.store.publish([GraphDraft(graph, kind, said)] if said else [])\n"
        "        return BuildReport('acme', report.counts)",
        "after forgetting, <urn:acme:g> still states",
    ),
}


@pytest.mark.parametrize(("body", "told"), FAULTS.values(), ids=FAULTS)
def test_a_method_that_does_not_keep_to_the_port_fails_a_check_that_says_why(
    install: Install, body: str, told: str
) -> None:
    declared = CARELESS
    if "outlives" in told or "forgetting" in told:
        data = 'also_writes=(ox.NamedNode("https://w3id.org/kgrag/ns#DataGraph"),)'
        declared = CARELESS.replace('"whatever comes"', f'"whatever comes", {data}')
    files = {"acme_careless/__init__.py": declared, "acme_careless/method.py": METHOD.format(body=body)}
    install("acme_careless", {"kgrag.methods": {"acme": "acme_careless:DECLARATION"}}, files)
    with pytest.raises(AssertionError, match=".*") as stop:
        check_method("acme")
    assert told in str(stop.value)
