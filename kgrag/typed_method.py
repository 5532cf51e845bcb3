"""Methods with their hyper-parameters as objects that a type checker knows: ``methods.OgRag(nodes=5)``.

Such an object is a text, ``"og_rag:nodes=5"``, so it stands wherever a method is named: in ``ask``, ``build``, a
retriever of a framework, a configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, ClassVar, Self

from kgrag import plugins
from kgrag.errors import InvalidSettings

__all__ = ["WIRED", "TypedMethod", "tunable"]

_PORTS = "store spaces embedder model lexical weights open_scratch runner method workers"
WIRED = frozenset((*_PORTS.split(), "max_tokens", "read_only"))
"""Fields of a method that the knowledge base fills in; all others are hyper-parameters."""


def tunable(kind: Any) -> dict[str, Any]:
    """Return the hyper-parameters of a method's class with their defaults."""
    return {each.name: each.default for each in fields(kind) if each.name not in WIRED}


class TypedMethod(str):
    """A method by name with hyper-parameters, each checked when the object is made.

    Attributes:
        name: of the method.
        values: the hyper-parameters that differ from their defaults.
    """

    name: ClassVar[str]
    values: Mapping[str, Any]

    @classmethod
    def _spelled(cls, **values: Any) -> Self:
        """Return the object for all hyper-parameters of a method.

        Raises:
            InvalidSettings: a value is of another type than the default, or outside its range.
        """
        kind: Any = plugins.implementation(cls.name)
        defaults = tunable(kind)
        read = {key: _like(defaults[key], value, f"{cls.__name__}: {key}") for key, value in values.items()}
        ports = {each.name: None for each in fields(kind) if each.name in WIRED and each.default is MISSING}
        kind(**ports, **read)  # checks the ranges, and does nothing else
        changed = {key: value for key, value in read.items() if value != defaults[key]}
        written = ",".join(f"{key}={_written(value)}" for key, value in changed.items())
        made = str.__new__(cls, f"{cls.name}:{written}" if written else cls.name)
        made.values = changed
        return made

    def __repr__(self) -> str:
        """Return how it was made."""
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.values.items())})"


def _like(default: Any, value: Any, where: str) -> Any:
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        wanted = type(default).__name__
        raise InvalidSettings(
            f"{where} got {value!r}, a {type(value).__name__}, and is a {wanted}. Default: {default}."
        )
    return value


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
