"""Stored queries ask only what every SPARQL engine answers alike."""

import re

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.vocab import KG, RDF, Names

GROUP = re.compile(r"\{([^{}]*)\}")
PATTERN = re.compile(r"^(\?\w+)\s+(\S*[*+]\S*)\s+(\?\w+)$")
CLASSES = "og_rag/ontology_terms"
WITH_PATHS = [
    CLASSES,
    "forgetting/standing_on",
    "sire_rag/leaves",
    *(f"audit/pro_{n}" for n in ("02", "07", "09", "11")),
]


def _free_paths(text: str) -> list[str]:
    """Return the patterns with a path of any length of which no other pattern of the group binds an end."""
    free: list[str] = []
    while groups := GROUP.findall(text):
        for group in groups:
            patterns = [" ".join(pattern.split()) for pattern in re.split(r"\s\.(?=\s|$)|\n\s*UNION\s", group)]
            for pattern in filter(None, patterns):
                ends = PATTERN.match(pattern)
                others = " ".join(other for other in patterns if other is not pattern and not PATTERN.match(other))
                if ends and not {ends[1], ends[3]} & set(re.findall(r"\?\w+", others)):
                    free.append(pattern)
        text = GROUP.sub(lambda found: " ".join(set(re.findall(r"\?\w+", found[1]))) + " .", text)
    return free


@pytest.mark.parametrize("name", WITH_PATHS)
def test_a_path_of_any_length_has_an_end_that_another_pattern_binds(name: str) -> None:
    query = queries.describe(name)
    node = ox.NamedNode("urn:x")
    kinds = query.parameters.items()
    text = queries.bind(name, **{key: [node] if kind.endswith("list") else node for key, kind in kinds})
    text = re.sub(r"^\s*#.*$|FILTER *\(.*\)$", "", text, flags=re.MULTILINE)
    if name == CLASSES:  # the classes above each class are its last part; ends of the others are bound before OPTIONAL
        text = "{" + text.rpartition("UNION")[2]
    assert _free_paths(text) == []
    assert re.findall(r"\S*[*+]/\S*|\S*\?/\(\S*", text) == []  # nor can the next step bind it


def test_the_facts_and_chunks_of_an_edge_come_in_one_order() -> None:
    store, names, edge = ox.Store(), Names(), ox.NamedNode("urn:edge")
    derived = ox.NamedNode("http://www.w3.org/ns/prov#wasDerivedFrom")
    store.add(ox.Quad(edge, RDF.type, KG.HyperedgeGraph, names.catalogue))
    for number in range(20):
        node = ox.NamedNode(f"urn:node:{number:02}")
        store.add(ox.Quad(node, ox.NamedNode(f"{KG.prefix}key"), ox.Literal("k"), edge))
        store.add(ox.Quad(node, ox.NamedNode(f"{KG.prefix}value"), ox.Literal("v"), edge))
        store.add(ox.Quad(edge, derived, node, names.catalogue))
    for text, column in (
        (queries.bind("og_rag/facts", edges=[edge]), "node"),
        (queries.bind("og_rag/all_spans", catalogue=names.catalogue), "chunk"),
    ):
        rows = store.query(text)
        assert isinstance(rows, ox.QuerySolutions)
        found = [str(row[column]) for row in rows]
        assert found == sorted(found)


def test_a_variable_is_assigned_once_and_no_engine_hashes_a_text() -> None:
    node = ox.NamedNode("urn:x")
    profiles = re.sub(r"^#.*$", "", queries.bind("audit/log_08", target=node), flags=re.MULTILINE)
    assert re.findall(r"\?value\b", profiles) == ["?value"] * 3  # projected, assigned, ordered by
    assert "HAVING" not in profiles
    assert "SHA256" not in queries.bind("audit/kg_05", catalogue=node)
