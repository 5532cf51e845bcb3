import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import StorageFailed
from kgrag.index.array_files import Iris, KeptPlaces, packed, read_arrays, unpacked, write_arrays

NAMES = st.text(st.characters(exclude_characters="\x00\n", exclude_categories=["Cs"]), max_size=6)


@given(st.sets(NAMES), st.lists(NAMES))
def test_iris_are_given_back_and_found_by_their_place(names, others):
    held = sorted(f"urn:{name}" for name in names)
    iris = Iris.of(held)
    assert iris.at(range(len(iris))) == held == [iris[place] for place in range(len(iris))]
    asked = [*held, *others, *(f"urn:{name}" for name in others)]
    expected = [held.index(iri) if iri in held else -1 for iri in asked]
    assert iris.places(asked).tolist() == expected
    assert iris.known_places(asked).tolist() == list(range(len(held)))
    assert iris.known_places(set(others)).tolist() == [place for place, iri in enumerate(held) if iri in others]
    many = frozenset([*held[:1], *(f"urn:other/{number}" for number in range(100))])
    assert iris.known_places(many).tolist() == list(range(len(held[:1])))


NUMBERS = st.frozensets(st.integers(0, 40), max_size=6)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6))
def test_places_of_a_set_that_changed_a_little_are_those_of_a_set_looked_up_anew(changes):
    iris = Iris.of([f"urn:{number:02}" for number in range(0, 40, 2)])
    kept, keys = KeptPlaces(lasting=True), frozenset(f"urn:{number:02}" for number in range(100))
    for gone, come in changes:
        keys = keys - {f"urn:{number:02}" for number in gone} | {f"urn:{number:02}" for number in come}
        assert kept.of(keys, iris.known_places).tolist() == iris.known_places(keys).tolist()


@given(st.lists(NAMES))
def test_lines_are_given_back(lines):
    assert unpacked(packed(lines)) == lines


def test_arrays_are_given_back_and_nothing_else_is_left_in_the_folder(tmp_path):
    write_arrays(tmp_path / "deep" / "a.npz", Iris.of(["urn:a", "urn:b"]).members("iris"))
    assert Iris.restored(read_arrays(tmp_path / "deep" / "a.npz"), "iris").at([1]) == ["urn:b"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.npz"]


def test_a_disk_that_refuses_is_said_with_what_to_do(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StorageFailed, match="Free space or make the folder writable"):
        write_arrays(tmp_path / "file" / "a.npz", {})
