"""R2RML and RML: a process of its own maps databases and files. A small one of ours stands in for morph-kgc."""

import json
import os
import sqlite3
import sys
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, cli
from kgrag.errors import InputError, InvalidRDF, ServiceUnavailable
from kgrag.mapping.relational_mapping import mapped_file
from kgrag.testing import HashEmbedder

MAPPING = """@prefix rr: <http://www.w3.org/ns/r2rml#> .
@prefix ex: <http://example.org/> .
<#Staff> a rr:TriplesMap ; rr:logicalTable [ rr:tableName "staff" ] ;
  rr:subjectMap [ rr:template "http://example.org/staff/{id}" ; rr:class ex:Person ] ;
  rr:predicateObjectMap [ rr:predicate ex:name ; rr:objectMap [ rr:column "name" ] ] .
"""
STAND_IN = """import configparser, json, os, sys
read = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
read.read(sys.argv[1])
found = {name: dict(read[name]) for name in read.sections()}
with open(os.environ["SEEN"], "w") as seen:
    json.dump({**found, "cwd": os.getcwd(), "secret": os.environ.get("KGRAG_API_KEY", "")}, seen)
if "broken" in found["Source"]["mappings"]:
    sys.exit("Traceback\\nValueError: the table staff is not there")
with open(found["CONFIGURATION"]["output_file"], "w") as out:
    out.write(os.environ.get("QUADS", "<http://example.org/staff/1> <http://example.org/name> \\"Ann\\" .\\n"))
"""
TRIPLE = 'ASK { GRAPH ?g { <http://example.org/staff/1> <http://example.org/name> "Ann" } }'


@pytest.fixture
def mapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A Python in whose environment a module morph_kgc writes down what it is given."""
    packages = tmp_path / "packages"
    packages.mkdir()
    (packages / "morph_kgc.py").write_text(STAND_IN, encoding="utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{packages}" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    monkeypatch.setenv("SEEN", str(tmp_path / "seen.json"))
    (tmp_path / "staff.ttl").write_text(MAPPING, encoding="utf-8")
    return str(python)


@pytest.fixture
def kb() -> KnowledgeBase:
    return KnowledgeBase(embedder=HashEmbedder())


def test_what_a_mapping_makes_is_a_graph_that_the_next_mapping_replaces(
    tmp_path: Path, mapper: str, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGRAG_API_KEY", "secret")
    (graph,) = kb.load_mapping(tmp_path / "staff.ttl", database="sqlite:///a$b.db", mapper=mapper).published
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen["Source"] == {"mappings": str(tmp_path / "staff.ttl"), "db_url": "sqlite:///a$b.db"}
    assert (seen["cwd"], seen["secret"]) == (str(tmp_path), "")
    assert bool(kb.query(TRIPLE))
    monkeypatch.setenv("QUADS", "")
    assert kb.load_mapping(tmp_path / "staff.ttl", mapper=mapper).published == (graph,)
    assert not bool(kb.query(TRIPLE))


def test_a_mapping_names_its_graphs(
    tmp_path: Path, mapper: str, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUADS", "<urn:a> <urn:p:p> <urn:b> <urn:named> .\n<urn:a> <urn:p:p> <urn:c> .\n")
    loaded = kb.load_mapping(tmp_path / "staff.ttl", mapper=mapper, graph="urn:rest")
    assert {str(each).strip("<>") for each in loaded.published} == {"urn:named", "urn:rest"}


def test_a_mapping_that_fails_says_why_and_loads_nothing(
    tmp_path: Path, mapper: str, kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(kb.store)
    (tmp_path / "broken.ttl").write_text(MAPPING, encoding="utf-8")
    with pytest.raises(InputError, match="the table staff is not there"):
        kb.load_mapping(tmp_path / "broken.ttl", mapper=mapper)
    with pytest.raises(InputError, match="no such file"):
        kb.load_mapping(tmp_path / "none.ttl", mapper=mapper)
    monkeypatch.setenv("QUADS", "<relative> <urn:p:p> <urn:b> .\n")
    with pytest.raises(InvalidRDF):
        kb.load_mapping(tmp_path / "staff.ttl", mapper=mapper)
    assert len(kb.store) == before


def test_where_morph_kgc_is_not_installed_the_way_to_it_is_said(tmp_path: Path, kb: KnowledgeBase) -> None:
    (tmp_path / "staff.ttl").write_text(MAPPING, encoding="utf-8")
    for python in (sys.executable, str(tmp_path / "nowhere")):
        with pytest.raises(ServiceUnavailable, match="pip install 'morph-kgc"):
            kb.load_mapping(tmp_path / "staff.ttl", mapper=python)
    with (
        pytest.raises(ServiceUnavailable, match="more than"),
        mapped_file(tmp_path / "staff.ttl", mapper=sys.executable, seconds=1e-4),
    ):
        pass


def test_load_takes_files_or_a_mapping(
    tmp_path: Path, mapper: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["kgrag", "load", *arguments])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return int(stop.value.code or 0)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KGRAG_MAPPER", mapper)
    monkeypatch.setenv("KGRAG_DATABASE", "sqlite:///staff.db")
    assert run("--mapping", "staff.ttl", "--kb", "kb") == 0
    assert capsys.readouterr().out.startswith("loaded ")
    assert json.loads((tmp_path / "seen.json").read_text())["Source"]["db_url"] == "sqlite:///staff.db"
    assert (run("--kb", "kb"), run("staff.ttl", "--mapping", "staff.ttl")) == (2, 2)


@pytest.mark.skipif(
    "MORPH_KGC_PYTHON" not in os.environ, reason="MORPH_KGC_PYTHON names no Python with morph-kgc[sqlite]"
)
def test_morph_kgc_maps_a_database(tmp_path: Path, kb: KnowledgeBase) -> None:
    with sqlite3.connect(tmp_path / "staff.db") as database:
        database.executescript(
            "CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO staff VALUES (1, 'Ann')"
        )
    (tmp_path / "staff.ttl").write_text(MAPPING, encoding="utf-8")
    kb.load_mapping(
        tmp_path / "staff.ttl", database=f"sqlite:///{tmp_path / 'staff.db'}", mapper=os.environ["MORPH_KGC_PYTHON"]
    )
    assert bool(kb.query(TRIPLE))
