"""Unit vectors by slot: exact ranking of all rows and of any chosen ones, wherever they lie."""

import numpy as np
import pytest

from kgrag.index.vector_table import SlotTable

DIMENSION = 8


@pytest.fixture(scope="module")
def table() -> SlotTable:
    """Rows in two blocks and a tail, 900 slots of which the first twelve are dead."""
    rows = np.random.default_rng(1).normal(size=(900, DIMENSION)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    keys = [f"urn:{slot}" for slot in range(900)]
    made = SlotTable(DIMENSION, blocks=[rows[:300], rows[300:700]], keys=keys[:700], dead=range(12))
    made.put(keys[700:], rows[700:])
    return made


@pytest.mark.parametrize(
    "slots",
    [
        [*range(20, 300, 40), *range(640, 900)],  # what a graph found, and all that it does not cover
        [*range(20, 300, 40), *range(640, 900, 2)],
        [20],
        [299, 300, 699, 700, 899],
        list(range(12, 900)),
        [],
    ],
    ids=["found-and-uncovered", "filtered", "one", "at-the-ends-of-blocks", "all", "none"],
)
def test_chosen_rows_are_ranked_as_each_of_them_by_itself(table: SlotTable, slots: list[int]) -> None:
    vector = np.full(DIMENSION, DIMENSION**-0.5, np.float32)
    cosines = {
        f"urn:{slot}": float(table.rows(np.array([slot])).astype(float)[0] @ vector.astype(float)) for slot in slots
    }
    wanted = sorted(cosines, key=lambda key: (-cosines[key], key))[:10]
    found = table.best(vector, 10, np.array(slots, np.int64))
    assert [key for key, _ in found] == wanted
    assert [cosine for _, cosine in found] == pytest.approx([cosines[key] for key in wanted], abs=1e-12)
    if len(slots) == len(table) - 12:
        assert found == table.best(vector, 10)


def test_rows_that_lie_together_are_multiplied_where_they_lie(
    table: SlotTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To copy them took seven times as long, and they are most of what a search looks at beside the graph."""
    copied: list[int] = []

    class Counted(np.ndarray):
        def __getitem__(self, key):
            rows = super().__getitem__(key)
            if self.ndim == 2 and isinstance(key, np.ndarray):
                copied.append(len(rows))
            return rows

    monkeypatch.setattr(table, "_blocks", [block.view(Counted) for block in table._blocks])
    table.best(table.rows(np.array([20]))[0], 3, np.array([20, 90, *range(500, 700)]))
    assert 0 < sum(copied) < 10
