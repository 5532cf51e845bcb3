"""Condensing: triples that say the same become one, and none is lost."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.poly_rag.condensation import Anchor, SourceTriple, condensed

MEMBER = Anchor("urn:member", "is a member of", np.ones(2, np.float32))
NAMES = st.sampled_from(["a", "b", "c"])


def test_triples_of_one_anchor_with_the_same_ends_become_one() -> None:
    stated = [
        SourceTriple("s1", "A", "works in", "Z"),
        SourceTriple("s2", "A", "is with", "Z"),
        SourceTriple("s3", "B", "is with", "Z"),
    ]
    found = condensed(stated, [MEMBER], {"s1": 0, "s2": 0}, alike=lambda *_: True)
    assert [(one.subject, one.label, one.originals) for one in found] == [
        ("A", "is a member of", ("s1", "s2")),
        ("B", "", ("s3",)),
    ]


def test_a_relation_that_is_not_alike_keeps_its_words() -> None:
    (found,) = condensed([SourceTriple("s1", "A", "sued", "Z")], [MEMBER], {"s1": 0}, alike=lambda *_: False)
    assert (found.relation, found.label) == ("sued", "")


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=30), st.sets(st.integers(0, 29)))
def test_every_triple_stands_in_exactly_one_condensed_one(rows: list[tuple[str, str, str]], near: set[int]) -> None:
    stated = [SourceTriple(f"s{number}", *row) for number, row in enumerate(rows)]
    found = condensed(stated, [MEMBER], {f"s{number}": 0 for number in near}, alike=lambda relation, _: relation != "c")
    assert sorted(original for one in found for original in one.originals) == sorted(one.statement for one in stated)
