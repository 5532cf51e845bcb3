"""Values of one cited text: a sentence may not give one thing's to another."""

import pytest

from kgrag.answering.exchanged_values import exchanged
from kgrag.answering.support import Ground, unsupported

ZONES = (
    "In the Northern zone apply 65 kg of nitrogen per hectare; in the Eastern zone apply 80 kg. Irrigate after 21 days."
)
KEEPERS = "The light was kept by Ann Lee from 1911 to 1924, and by Bo Ek from 1925 to 1931. Cy Fox was born in 1902."
RULES = (
    "Battery capacity must be 100% at start of calibration.\nLoad must be above 25%.\n"
    "Load must not fluctuate more than 5%.\nThe unit must be allowed to run down to 25% battery capacity."
)
MOVED = "Its keeper Ann Lee came in 1911, and left for Hull in 1924. In York she met Bo Ek in 1930."


@pytest.mark.parametrize(
    ("sentence", "cited", "values"),
    [
        ("In the Northern zone apply 80 kg.", ZONES, ["80 kg"]),
        ("The Eastern zone gets 65 kg per hectare.", ZONES, ["65 kg per hectare"]),
        ("Ann Lee kept it until 1925.", KEEPERS, ["1925"]),
        ("Bo Ek kept it from 1911.", KEEPERS, ["1911"]),
        ("For the calibration of a unit, the load must be above 100%.", RULES, ["100%"]),
        ("For the calibration of a unit, the load must not fluctuate more than 25%.", RULES, ["25%"]),
    ],
)
def test_a_value_of_another_thing_is_exchanged(sentence: str, cited: str, values: list[str]) -> None:
    assert exchanged(sentence, cited) == values
    assert set(values) <= set(unsupported(sentence, Ground((cited,))))


@pytest.mark.parametrize(
    ("sentence", "cited"),
    [
        ("The Eastern zone gets 80 kg, the Northern zone 65 kg.", ZONES),
        ("Irrigate the Northern zone after 21 days.", ZONES),
        ("It is 80 kg in the Eastern zone.", ZONES),
        ("Unlike the Northern zone, the Eastern zone gets 80 kg.", ZONES),
        ("Ann Lee kept it from 1911, and the next keeper from 1925.", KEEPERS),
        ("The last keeper left in 1931.", KEEPERS),
        ("Ann Lee left in 1924.", MOVED),
        ("Ann Lee met her partner in 1930.", MOVED),
        ("Apply 80 kg.", ZONES),
        ("For the calibration of a unit, the load must be above 25%.", RULES),
        ("The load must be above 25%, the battery capacity 100% at start.", RULES),
        ("At the start of the calibration the battery capacity must be 100%.", RULES),
        ("The load of a dumb unit must be 30%.", "Load must be above 25%.\nA dumb unit has a load of 30%."),
        ("Apply 65 kg.", "In the Northern zone apply 65 kg."),
    ],
)
def test_what_is_given_to_its_own_thing_or_to_none_is_not(sentence: str, cited: str) -> None:
    assert exchanged(sentence, cited) == []
