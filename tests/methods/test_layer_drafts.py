"""What counts as a value, and which datatype it gets."""

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.poly_rag.layer_drafts import Fact, Origin, refusal, triples_draft, typed
from kgrag.vocab import RDF, Names


@pytest.mark.parametrize(
    "noise", ["A", ")", "", " - ", "x" * 201, "He was born in Bath in 1960 and has lived there ever since then."]
)
def test_noise_is_refused(noise: str) -> None:
    assert refusal(noise)


@pytest.mark.parametrize("value", ["Bath", "7", "686.0 (square kilometres)", "東", "É", "U.S.", "AC/DC"])
def test_values_are_taken(value: str) -> None:
    assert refusal(value) == ""


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_the_store_gives_a_typed_value_back_as_it_was_written(text: str) -> None:
    import pyoxigraph as ox

    graph, node = ox.NamedNode("urn:g"), ox.NamedNode("urn:s")
    store = ox.Store()
    store.add(ox.Quad(node, node, typed(text), graph))
    assert [quad.object.value for quad in store] == [text]


@pytest.mark.parametrize("text", ["42", "-7", "0", "3.25", "1999-12-31", "2024-02-29"])
def test_numbers_and_dates_come_back_as_they_were_written(text: str) -> None:
    import pyoxigraph as ox

    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), typed(text)))
    (quad,) = store
    assert (quad.object.value, quad.object.datatype.value.endswith("#string")) == (text, False)


def test_relations_that_differ_in_a_number_or_its_sign_are_two() -> None:
    relations = ["uses, if -1 is specified,", "uses, if 1 is specified,", "is 0.5 of", "is 0 5 of"]
    facts = [Fact("the server", relation, "the default") for relation in relations]
    draft = triples_draft(facts, Origin(ox.NamedNode("urn:chunk"), ox.NamedNode("urn:activity"), "model=m"), Names())
    said = {triple.object for triple in draft.triples if triple.predicate == RDF.predicate}
    assert len(said) == 4
