"""What was inferred before a change of its source is named: by status, here and through a server, and by audits."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.http_api.content_schemas import StatusReply
from kgrag.testing import HashEmbedder

BEFORE = "@prefix o: <http://www.w3.org/2002/07/owl#> . @prefix r: <http://www.w3.org/2000/01/rdf-schema#> .\n"
ONTOLOGY = f"{BEFORE} <urn:o> a o:Ontology . <urn:A> a o:Class ; r:subClassOf <urn:B> . <urn:B> a o:Class"


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "o.ttl").write_text(f"{ONTOLOGY} ; r:subClassOf <urn:C> .")
    with KnowledgeBase(embedder=HashEmbedder()) as opened:
        opened.load(tmp_path / "o.ttl")
        yield opened


def checks(kb: KnowledgeBase) -> list[str]:
    return [finding.check for finding in kb.audit(profile="kg").findings]


def test_an_inference_is_named_once_its_source_changed_and_no_longer_when_it_is_drawn_anew(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    graph = kb.reason(profile="rdfs").graph
    assert (kb.status()["stale"], checks(kb)) == ([], [])
    (tmp_path / "o.ttl").write_text(f"{ONTOLOGY} .")
    kb.load(tmp_path / "o.ttl")
    assert (kb.status()["stale"], checks(kb)) == ([graph], ["KG-17"])
    assert StatusReply(**kb.status()).stale == [graph]
    kb.reason(profile="rdfs")
    assert (kb.status()["stale"], checks(kb)) == ([], [])
