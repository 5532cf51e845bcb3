"""What every adapter of ``Leases`` keeps, asked through two connections to one place."""

import pytest

from kgrag.errors import StoreLocked
from kgrag.ports import Leases

__all__ = ["check_leases"]


def check_leases(one: Leases, other: Leases) -> None:
    """Fail where two connections to one place do not keep the rules of the port; a lease of 0 seconds ends at once."""
    first = one.acquire("store a", "loader 1", 600)
    assert other.acquire("store b", "loader 2", 600) > 0, "another resource is free"
    with pytest.raises(StoreLocked, match="loader 1"):
        other.acquire("store a", "loader 2", 600)
    one.renew("store a", first, 600)
    again = other.acquire("store a", "loader 1", 600)
    assert again > first, "the same holder takes its lease over, and the old number is behind"
    with pytest.raises(StoreLocked, match="loader 1"):
        one.renew("store a", first, 600)
    one.release("store a", first)
    with pytest.raises(StoreLocked, match="loader 1"):
        one.acquire("store a", "loader 2", 600)  # what was taken over is not released by whoever had it before
    other.renew("store a", again, 0)
    other.renew("store a", again, 0)  # it has ended, and is nobody else's
    third = one.acquire("store a", "loader 2", 600)
    assert third > again
    with pytest.raises(StoreLocked, match="loader 2"):
        other.renew("store a", again, 600)
    one.release("store a", third)
    with pytest.raises(StoreLocked):
        one.renew("store a", third, 600)
    assert other.acquire("store a", "loader 3", 600) > third, "no number is used twice"
