"""The text of a statement is the names of its ends, whatever marks stand around its relation in the source."""

import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.audit.recomputation import recomputed
from kgrag.methods.poly_rag.layer_drafts import Fact, Origin, triples_draft
from kgrag.model import Document
from kgrag.testing import HashEmbedder


def test_a_relation_with_marks_around_it_is_no_departure() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.add(Document("Nicki Minaj's rapping is distinctive for British accents.", id="1"))
        (chunk,) = kb.spaces.space("chunk").keys() if kb.retrieve("rapping") else ()
        facts = [
            Fact("Nicki Minaj", "'s rapping is distinctive for", "British"),
            Fact("Canadian", "- born", "First Nations"),
            Fact("Island", "meaning'", "Transfiguration"),
        ]
        origin = Origin(ox.NamedNode(chunk), ox.NamedNode("urn:activity"), "model=x")
        kb.store.publish([triples_draft(facts, origin, kb.store.names)])
        assert [row["message"] for row in recomputed(kb.store)] == []
