import pytest

from kgrag.server.access_keys import Keys
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
