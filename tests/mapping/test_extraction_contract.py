"""The slices of an ontology for many texts: what does not depend on a text is made once."""

from kgrag.mapping import Concept, Ontology, Property, Slices, contract, described, slice_for
from kgrag.testing import HashEmbedder

PROPERTY = Property("urn:name", "name", domains=("urn:crop",))


def ontology(classes: int) -> Ontology:
    concepts = {f"urn:c{number}": Concept(f"urn:c{number}", f"class {number}") for number in range(classes)}
    return Ontology(concepts | {"urn:crop": Concept("urn:crop", "crop")}, {PROPERTY.iri: PROPERTY})


def test_a_slice_that_has_all_classes_is_made_once_and_shown_once() -> None:
    few = ontology(3)
    slices = Slices(few, HashEmbedder())
    first = slices.of(["Rye grows."])
    assert slices.of(["Wheat is sown."]) is first
    assert first.part == slice_for(few, [], embedder=HashEmbedder())
    assert (first.described, first.contract) == (described(first.part), contract(first.part))
    assert first.contract is first.contract


def test_a_slice_of_a_larger_ontology_is_that_of_its_text() -> None:
    slices = Slices(ontology(60), HashEmbedder(256), limit=10)
    for text in ("all about class 7", "all about class 44"):
        assert slices.of([text]).part == slice_for(slices.ontology, [text], embedder=HashEmbedder(256), limit=10)
    assert slices.of(["all about class 7"]).part != slices.of(["all about class 44"]).part
