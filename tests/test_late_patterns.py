"""Regular expressions are compiled when they are first used, all of them can be, and behave as compiled ones do."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest
import regex

import kgrag
from kgrag.late_patterns import LatePattern, late_re, late_regex

PLUGGED_IN = "kgrag.integrations."  # needs packages that are not installed


def late_patterns(value: object) -> Iterator[LatePattern]:
    """Yield the patterns of a module's constant, also those within lists, tuples and dictionaries."""
    if isinstance(value, LatePattern):
        yield value
    elif isinstance(value, dict):
        yield from late_patterns(list(value.values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for each in value:
            yield from late_patterns(each)


def test_every_pattern_of_the_package_compiles() -> None:
    names = [name for _, name, _ in pkgutil.walk_packages(kgrag.__path__, "kgrag.") if not name.startswith(PLUGGED_IN)]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    found = [each for module in modules for value in list(vars(module).values()) for each in late_patterns(value)]
    assert len(found) > 400
    assert [each for each in found if not each.pattern] == []
    at_once = {
        f"{module.__name__}.{name}"
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, re.Pattern | regex.Pattern) and isinstance(value.pattern, str)
    }
    assert at_once == set(), "late_re and late_regex keep commands quick to begin"


def test_a_pattern_is_compiled_once_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_ = re.compile
    monkeypatch.setattr(re, "compile", lambda text, flags=0: compiled.append(text) or compile_(text, flags))
    pattern = late_re(r"(\d+) kg", re.IGNORECASE)
    assert compiled == []
    assert pattern.sub(r"\1 t", "45 KG of 3 kg") == "45 t of 3 t"
    assert pattern.sub("", "5 kg") == ""
    assert pattern.fullmatch("45 kg")
    assert compiled == [r"(\d+) kg"]
    assert (pattern.pattern, pattern.flags & re.IGNORECASE) == (r"(\d+) kg", re.IGNORECASE)


def test_what_does_not_compile_says_so_at_its_first_use() -> None:
    with pytest.raises(regex.error):
        late_regex("(").search("")
