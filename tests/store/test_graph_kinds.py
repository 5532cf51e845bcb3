"""Kinds of graph are declared once; shapes, vocabulary and files follow the declarations."""

import pyoxigraph as ox
import pytest

from kgrag import plugins
from kgrag.declarations import GraphKind
from kgrag.resources import folder
from kgrag.store import graph_kinds
from kgrag.vocab import KG, RDFS
from tests.conftest import ROOT

OWN = [kind for kind in graph_kinds.kinds().values() if kind.iri.value.startswith(KG.prefix)]


def test_every_kind_of_the_vocabulary_is_declared() -> None:
    named = {term for name, term in KG.all().items() if name.endswith("Graph") and name[0].isupper()} - {KG.Graph}
    assert {kind.iri for kind in OWN} == named - {KG.all().get("intendedGraph")}


def test_the_shapes_that_list_kinds_are_what_the_declarations_say(golden) -> None:
    golden(ROOT / "shapes" / "graphs" / "kinds.ttl", graph_kinds.catalogue_shapes(OWN))


@pytest.mark.parametrize("kind", OWN, ids=lambda kind: kind.label)
def test_the_vocabulary_has_the_label_and_the_comment_of_a_declared_kind(kind: GraphKind) -> None:
    vocabulary = ox.Dataset(ox.parse(path=folder("ontologies") / "kgrag.ttl"))
    stated = {quad.predicate: quad.object for quad in vocabulary.quads_for_subject(kind.iri)}
    assert stated[RDFS.label] == ox.Literal(kind.label, language="en")
    assert stated[RDFS.comment] == ox.Literal(kind.comment, language="en")


@pytest.mark.parametrize("kind", [kind for kind in OWN if kind.shape], ids=lambda kind: kind.label)
def test_the_shapes_of_a_declared_kind_are_there(kind: GraphKind) -> None:
    assert (folder("shapes") / "graphs" / f"{kind.shape}.ttl").is_file()


def test_every_file_of_graph_shapes_belongs_to_a_declared_kind() -> None:
    files = {path.stem for path in (folder("shapes") / "graphs").glob("*.ttl")}
    assert files == {kind.shape for kind in OWN if kind.shape} | {"kinds"}


def test_a_method_says_of_which_known_kinds_it_writes_graphs() -> None:
    known = {kind.iri for kind in OWN}
    assert all(set(method.also_writes) <= known for method in plugins.methods().values())
