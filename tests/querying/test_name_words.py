"""Names that a question has in another case, or only a word of, and words of it that no name has."""

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.model import GraphDraft
from kgrag.querying.text_to_sparql import NameWords, mentions, name_words
from kgrag.vocab import KG, RDF, RDFS

NS = "https://example.org/distribution#"
RELEASES = ("Debian 3.1 Sarge", "Debian 6.0 Squeeze", "Debian 5.0 Lenny", "Debian 2.1 Slink", "Debian 1.3 Bo")


@pytest.fixture
def releases(kb: KnowledgeBase) -> KnowledgeBase:
    kind = ox.NamedNode(f"{NS}Release")
    triples = []
    for number, label in enumerate(RELEASES):
        release = ox.NamedNode(f"urn:r{number}")
        triples += [ox.Triple(release, RDF.type, kind), ox.Triple(release, RDFS.label, ox.Literal(label))]
    triples.append(ox.Triple(ox.NamedNode("urn:r2"), ox.NamedNode(f"{NS}aliasName"), ox.Literal("Old Faithful")))
    kb.store.publish([GraphDraft(ox.NamedNode("urn:g"), KG.DataGraph, triples, mode="replace")])
    return kb


def linked(kb: KnowledgeBase, question: str) -> NameWords:
    return name_words(question, mentions(question, kb.store), kb.store)


@pytest.mark.parametrize(
    ("question", "text", "value", "entity"),
    [
        ("When was Squeeze frozen?", "Squeeze", RELEASES[1], "urn:r1"),
        ("Sarge's packages?", "Sarge", RELEASES[0], "urn:r0"),
        ("Who led when debian 5.0 lenny came out?", "debian 5.0 lenny", RELEASES[2], "urn:r2"),
        ("When did old faithful come out?", "old faithful", "Old Faithful", "urn:r2"),
    ],
)
def test_a_word_or_another_spelling_of_a_name_links_to_its_thing(
    releases: KnowledgeBase, question: str, text: str, value: str, entity: str
) -> None:
    (one,) = linked(releases, question).linked
    assert (one.text, one.value, one.entity) == (text, value, entity)
    assert question[one.start : one.end] == text
    assert linked(releases, question).unlinked == ()


def test_words_that_no_name_has_are_told_and_words_of_the_schema_or_of_many_names_are_not(
    releases: KnowledgeBase,
) -> None:
    found = linked(releases, "How many packages did Bullseye have, of all Releases of Debian?")
    assert found == NameWords((), ("Bullseye",))


def test_a_name_that_is_there_letter_by_letter_is_not_linked_twice(releases: KnowledgeBase) -> None:
    assert linked(releases, "When was Debian 6.0 Squeeze released?") == NameWords()
