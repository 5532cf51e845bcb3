"""Every registered method passes the checks that ship for methods."""

import pytest

from kgrag import plugins
from kgrag.testing import MethodCheck, method_checks

CHECKS = [pytest.param(check, id=f"{name}-{check}") for name in plugins.methods() for check in method_checks(name)]


@pytest.mark.parametrize("check", CHECKS)
def test_a_method_conforms(check: MethodCheck) -> None:
    check()
