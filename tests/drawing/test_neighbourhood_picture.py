"""The picture of a chunk and of what is linked to it: what is shown, and that no text becomes markup."""

import pytest

from kgrag.drawing.neighbourhood_picture import LinkedChunk, neighbourhood_page

EVIL = '<script>alert("x")</script> & \' {{ 7 * 7 }}'


def linked(number: int, **changes: object) -> LinkedChunk:
    values = {"title": EVIL, "text": EVIL, "link": "cites it", "weight": 0.5, "outgoing": False, "colour": "#0b5cad"}
    return LinkedChunk(f"urn:c{number}<b>", **(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_every_neighbour_has_a_box_and_a_row_and_no_text_becomes_markup(count: int) -> None:
    page = neighbourhood_page("urn:<i>", EVIL, EVIL, [linked(number) for number in range(count)])
    assert "<script" not in page
    assert "<i>" not in page
    assert "{{ 7 * 7 }}" in page
    assert page.count("<g>") == count
    assert ("Nothing is linked to this chunk." in page) == (count == 0)


def test_an_edge_points_where_it_leads_and_a_reference_is_dashed() -> None:
    into = neighbourhood_page("urn:m", "M", "m", [linked(0)])
    out = neighbourhood_page("urn:m", "M", "m", [linked(0, outgoing=True, dashed=True)])
    assert ("marker-start" in into, "marker-end" in into, "stroke-dasharray" in into) == (True, False, False)
    assert ("marker-start" in out, "marker-end" in out, "stroke-dasharray" in out) == (False, True, True)
