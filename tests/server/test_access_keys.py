import pytest

from kgrag.server import access_keys as module
from kgrag.server.access_keys import Key, Keys, digest_of
from kgrag.server.problems import Problem


@pytest.mark.parametrize("header", ["Bearer one", "bearer two", "Bearer  two"])
def test_each_known_key_may_write(header: str) -> None:
    Keys("one, two").check(header)


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer three", "Bearer one, two", "Basic one", "Bearer é"]
)
def test_another_key_may_not(header: str) -> None:
    with pytest.raises(Problem) as refused:
        Keys("one, two").check(header)
    assert refused.value.status == 401


@pytest.mark.parametrize("keys", [Keys(), Keys(" , "), Keys("one", writing="never")])
def test_without_keys_nobody_may_write(keys: Keys) -> None:
    with pytest.raises(Problem) as refused:
        keys.check("Bearer one")
    assert refused.value.status == 403


@pytest.mark.parametrize("sent", ["Bearer one", "Bearer none", "Bearer ", "Bearer " + "x" * 10_000, ""])
def test_every_key_is_compared_by_digests_of_one_length(monkeypatch: pytest.MonkeyPatch, sent: str) -> None:
    compared: list[tuple[int, int]] = []

    class _Watched:
        @staticmethod
        def compare_digest(one: bytes, two: bytes) -> bool:
            compared.append((len(one), len(two)))
            return one == two

    monkeypatch.setattr(module, "hmac", _Watched)
    keys = Keys("one, twelve characters", more=[Key("three", digest_of("3" * 1000))])
    try:
        keys.check(sent)
    except Problem as refused:
        assert refused.status == 401
    assert compared == [(32, 32)] * 3


def test_an_empty_key_is_no_key() -> None:
    for header in ("Bearer ", "Basic Og==", ""):
        with pytest.raises(Problem):
            Keys("one", private=True).reader(header)


def test_the_password_of_basic_reads_and_does_not_write() -> None:
    keys = Keys("one", private=True)
    assert keys.reader("Basic dTpvbmU=").name == "key-1"
    with pytest.raises(Problem) as refused:
        keys.check("Basic dTpvbmU=")
    assert refused.value.status == 401


def test_a_key_for_some_graphs_does_not_pass_where_any_graph_may_be_written() -> None:
    keys = Keys(more=[Key("loader", digest_of("one"), graphs=("urn:a",))])
    assert keys.writer("Bearer one").name == "loader"
    with pytest.raises(Problem) as refused:
        keys.check("Bearer one")
    assert refused.value.status == 403
