import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import MappingError
from kgrag.mapping import read_mapped
from kgrag.mapping.factual_blocks import flatten, line, statistics, strict_subsets, text_of, type_of

NORTHWEST = {
    "@type": "cropCult:Crop",
    "has name": "Soybean",
    "has growing zone": {"@type": "cropCult:CropGrowingZone", "with name": "Northwest"},
}

names = st.text(alphabet="abc", min_size=1, max_size=3)
leaves = st.text(min_size=1, max_size=5).filter(str.strip) | st.integers() | st.booleans()
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=12
)
blocks = st.dictionaries(names, trees, min_size=1, max_size=4)
edges = st.lists(st.frozensets(st.tuples(names, st.just("v")), max_size=5), max_size=25)


def leaves_of(value):
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves_of(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in leaves_of(inner)]
    return [text_of(value)]


def test_the_papers_example_is_one_fact():
    assert flatten(NORTHWEST) == [
        {("Crop has name", "Soybean"), ("Crop has growing zone CropGrowingZone with name", "Northwest")}
    ]


def test_as_published_the_outer_scalars_are_a_fact_too():
    outer, whole = flatten(NORTHWEST, as_published=True)
    assert outer == {("Crop has name", "Soybean")}
    assert outer < whole


def test_siblings_share_what_is_around_them_and_nothing_else():
    zones = [{"name": "North", "rain": "little"}, {"name": "South", "rain": "much"}]
    north, south = flatten({"@type": "Crop", "name": "Rye", "zone": zones})
    assert north & south == {("Crop name", "Rye")}


@given(blocks)
def test_every_leaf_stands_in_a_fact(block):
    said = {value for edge in flatten(block) for _, value in edge}
    assert said == set(leaves_of(block))


@given(blocks)
def test_no_fact_is_empty_or_part_of_another(block):
    found = flatten(block)
    assert all(found)
    assert not any(one < other for one in found for other in found)


@given(blocks)
def test_what_is_published_loses_only_parts_and_keeps_the_order(block):
    whole = flatten(block, as_published=True)
    assert len(whole) == len(set(whole))
    assert len(flatten(block)) <= len(whole)


def test_an_item_of_a_list_has_the_bare_attribute_as_published_and_the_type_otherwise():
    block = {"@type": "Zone", "name": "N", "region": ["a", "b"]}
    assert ("region", "a") in flatten(block, as_published=True)[1]
    assert ("Zone region", "a") in flatten(block)[0]


def test_a_brief_key_does_not_say_again_the_type_that_the_attribute_before_it_ends_with():
    block = {"@type": "crop", "has seed variety": {"@type": "seed variety", "name": "Brena"}}
    assert flatten(block, brief=True) == [frozenset({("crop has seed variety name", "Brena")})]
    assert flatten(block) == [frozenset({("crop has seed variety seed variety name", "Brena")})]


def test_null_blank_and_containers_say_nothing_of_their_own():
    block = {
        "@type": "Crop",
        "note": None,
        "size": " ",
        "zones": {"@list": [{"name": "N"}]},
        "made": {"@value": "1999"},
    }
    assert flatten(block) == [{("Crop made", "1999"), ("Crop zones  name", "N")}]


def test_as_published_a_record_without_scalars_is_an_empty_fact():
    assert flatten({"@id": "snap:eventList"}, as_published=True) == [frozenset()]
    assert flatten({"@id": "snap:eventList"}) == []


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Crop", "Crop"),
        ("cropCult:Crop", "Crop"),
        ("http://crop-cultivation.org/Crop", "Crop"),
        (["schema:Thing", "Crop"], "Thing"),
        (7, ""),
        (None, ""),
        ([], ""),
    ],
)
def test_the_type_is_the_local_name(kind, expected):
    assert type_of({"@type": kind}) == expected


def test_a_block_nested_5000_deep_is_a_mapping_error():
    block: dict = {"name": "core"}
    for _ in range(5000):
        block = {"inside": block}
    with pytest.raises(MappingError, match="nested deeper"):
        flatten(block)
    with pytest.raises(MappingError, match="nested deeper"):
        flatten(block, as_published=True)


@pytest.mark.parametrize("value", ["text", 7, None])
def test_what_is_no_object_is_refused(value):
    with pytest.raises(MappingError, match="JSON object"):
        flatten(value)


@given(edges)
def test_strict_subsets_are_those_that_comparing_all_pairs_finds(found):
    assert strict_subsets(found) == {one for one in found if any(one < other for other in found)}


def test_subsets_of_40000_facts_around_one_hub_take_no_quadratic_time():
    found = [frozenset({("hub", "h"), ("own", str(number // 2)), ("odd", str(number % 2))}) for number in range(40_000)]
    assert strict_subsets([*found, frozenset({("hub", "h")})]) == {frozenset({("hub", "h")})}


def test_a_line_does_not_depend_on_the_order_of_the_set():
    edge = frozenset({("Crop name", "Rye"), ("Crop zone name", "N"), ("Crop area", "2\nha")})
    assert line(edge) == line(sorted(edge, reverse=True)) == "Crop area: 2 ha; Crop name: Rye; Crop zone name: N"


def test_statistics_count_an_empty_edge_as_size_0():
    counted = statistics([frozenset(), frozenset({("a", "1")}), frozenset({("a", "1")})])
    assert (counted.hyperedges, counted.nodes_per_hyperedge.min, counted.degree.max) == (2, 0, 1)
    assert statistics([]).hypernodes == 0


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("news/mapped.jsonl.gz", (7497, 4573, 9.67, 0, 22, 5.90, 1, 560)),
        ("soybean/mapped", (247, 166, 6.71, 4, 9, 4.51, 1, 166)),
    ],
)
def test_table_6_comes_out_as_published(data, place, expected):
    mapped = read_mapped(data / "ograg" / place)
    found = statistics([edge for record in mapped.records for edge in flatten(list(record.blocks), as_published=True)])
    size, degree = found.nodes_per_hyperedge, found.degree
    row = (found.hypernodes, found.hyperedges, round(size.mean, 2), size.min, size.max)
    assert (*row, round(degree.mean, 2), degree.min, degree.max) == expected


def test_numbers_and_truth_values_are_text_as_json_writes_them():
    assert flatten(json.loads('{"a": 1.50, "b": true, "c": 12}')) == [{(" a", "1.5"), (" b", "true"), (" c", "12")}]
