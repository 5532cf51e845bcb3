"""Dumps line by line: what a filter lets through, what is broken, and what becomes of it."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import InputError, KnowledgeBase
from kgrag.errors import InvalidRDF
from kgrag.knowledge_base import dump_runs
from kgrag.settings import Settings
from kgrag.store.triple_streams import TripleStream, read_filter
from kgrag.testing import HashEmbedder

WD, WDT, DBO = "http://www.wikidata.org/entity/", "http://www.wikidata.org/prop/direct/", "http://dbpedia.org/ontology/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
DUMP = f"""# a dump
<{WD}Q42> <{LABEL}> "Douglas Adams"@en .
<{WD}Q42> <{LABEL}> "Douglas Adams"@de .
<{WD}Q42> <{LABEL}> "Douglas Adams"@en-GB .
<{WD}Q42> <{WDT}P31> <{WD}Q5> .
<{WD}Q42> <{WDT}P2048> "+1.96"^^<http://www.w3.org/2001/XMLSchema#decimal> .
<{WD}Q42\\u0030> <{WDT}P31> <{WD}Q6> .

<http://example.org/x> <{DBO}abstract> "A text"@fr .
this is no triple
_:b <{WDT}P31> <{WD}Q5> .
"""


def kept(tmp_path: Path, *only: str) -> list[ox.Triple]:
    file = tmp_path / "dump.nt"
    file.write_text(DUMP, encoding="utf-8")
    stream = TripleStream(file, read_filter(only), scope="s")
    found = [triple for batch in stream.batches(2) for triple in batch]
    assert (stream.lines, stream.kept) == (11, len(found))
    return found


@pytest.mark.parametrize(
    ("only", "count"),
    [
        ([], 8),
        (["language=en"], 6),
        (["predicate=rdfs:label", "language=en"], 2),
        (["predicate=rdfs:label,dbo:abstract"], 4),
        (["subject=wd:*"], 6),
        ([f"subject={WD}Q42"], 5),
        (["object=wd:Q5"], 7),
        (["object=wd:Q5", "predicate=wdt:P31"], 2),
        (["predicate=wdt:*", "object=wd:*"], 4),
        (["subject=wd:Q420"], 1),
    ],
)
def test_a_filter_lets_through_what_it_names(tmp_path: Path, only: list[str], count: int) -> None:
    assert len(kept(tmp_path, *only)) == count


def test_a_name_with_an_escape_is_compared_by_what_it_means(tmp_path: Path) -> None:
    assert ox.NamedNode(f"{WD}Q420") in {triple.subject for triple in kept(tmp_path, "subject=wd:Q420")}


def test_lines_that_are_no_triples_are_counted_and_the_others_read(tmp_path: Path) -> None:
    file = tmp_path / "dump.nt"
    file.write_text("\n".join([*(f"<urn:s{n}> <urn:p> <urn:o> ." for n in range(5000)), "broken line here", "x y z"]))
    stream = TripleStream(file, read_filter([]))
    assert sum(map(len, stream.batches(1000))) == 5000
    assert (stream.lines, stream.broken) == (5002, 2)


@pytest.mark.parametrize("text", ["language", "lang=en", "subject=", "subject=Q42", "predicate=nope:label"])
def test_a_filter_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"part=value|is no IRI"):
        read_filter([text])


@pytest.mark.parametrize(
    ("suffix", "packed"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_a_dump_is_loaded_as_one_graph_and_loading_it_again_replaces_that(
    tmp_path: Path, suffix: str, packed: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_runs, "_TRIPLES_AT_ONCE", 2)
    file = tmp_path / f"dump.nt{suffix}"
    file.write_bytes(packed(DUMP.encode()))
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        done = kb.load_dump(file, graph="urn:dump", only=["subject=wd:*"])
        assert (done.kept, done.lines, done.broken) == (6, 11, 0)
        assert len(kb.graph("urn:dump")) == 6
        assert kb.query(f"ASK {{ <{WD}Q42> <{WDT}P2048> 1.96 }}") is True
        kb.load_dump(file, graph="urn:dump", only=["language=en", "predicate=rdfs:label"])
        assert len(kb.graph("urn:dump")) == 2
        assert kb.stats()["graphs"]["DataGraph"] == 1


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.nt", b"", "none of its 0 lines passes"),
        ("a.nt", DUMP.encode(), "none of its 11 lines passes. Ask for more"),
        ("a.nt", b"no triples at all\n", "none of its 1 lines passes"),
        ("a.nt.gz", b"no gzip", "cannot be read"),
        ("a.nt.bz2", bz2.compress(DUMP.encode() * 20)[:-9], "cannot be read"),
        ("a.ttl", b"", "needs N-Triples or N-Quads"),
    ],
)
def test_a_file_that_has_nothing_or_is_cut_short_is_refused(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb, pytest.raises(InvalidRDF, match=said):
        kb.load_dump(tmp_path / name, only=["subject=http://nobody.example/*"])
