"""Options of ``build``, as people write them, into the dataclass that a method declares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from kgrag import plugins
from kgrag.errors import InvalidSettings, closest

__all__ = ["read_options"]


def read_options(method: str, values: Mapping[str, Any]) -> Any:
    """Return a method's build options.

    A text is taken for a path, and a list or a single value for a tuple, where the option asks for that.

    Args:
        method: its name, with or without hyper-parameters.
        values: option -> value.

    Raises:
        UnknownName: there is no such method.
        InvalidSettings: it has no such option, or a value is of the wrong type.
    """
    declared = plugins.method(method.partition(":")[0])
    known = {field.name: field for field in fields(declared.options)}
    if unknown := values.keys() - known.keys():
        hint = closest(min(unknown), known) if known else "It has none."
        raise InvalidSettings(f"method '{declared.name}' has no build option {min(unknown)!r}. {hint}")
    several = {name for name, field in known.items() if isinstance(field.default, tuple)}
    typed = {
        name: (value,) if name in several and not isinstance(value, list | tuple) else value
        for name, value in values.items()
    }
    try:
        return TypeAdapter(declared.options).validate_python(typed)
    except ValidationError as error:
        wrong = "; ".join(f"{each['loc'][0]}={values[str(each['loc'][0])]!r}: {each['msg']}" for each in error.errors())
        raise InvalidSettings(f"method '{declared.name}' cannot be built with {wrong}.") from None
