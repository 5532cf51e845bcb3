"""OpenTelemetry spans: ask, retrieve, SPARQL, and each request to a model, by the conventions for generative AI.

Spans are recorded where a program has loaded ``opentelemetry`` and given it a provider (or is started by
``opentelemetry-instrument``); otherwise this does nothing, and loads nothing. Spans never contain texts: no question,
no query, no prompt, no reply.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial, wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from opentelemetry.trace import Span

__all__ = ["Attributes", "in_context", "span", "spanned"]

Attributes = Mapping[str, str | int | float | bool]
_Given = ParamSpec("_Given")
_Returned = TypeVar("_Returned")
_API = "opentelemetry.trace"


@contextmanager
def span(name: str, attributes: Attributes, *, client: bool = False) -> Iterator[Callable[[Attributes], None]]:
    """Record what happens in a block as a span; an error is noted by its type, and goes on.

    Args:
        name: of few values: an operation and what it is done with.
        attributes: known at the beginning.
        client: whether the block waits for another service.

    Returns:
        What adds attributes that are known later.
    """
    api = sys.modules.get(_API)
    if api is None:
        yield _add_nothing
        return
    kind = api.SpanKind.CLIENT if client else api.SpanKind.INTERNAL
    tracer = api.get_tracer("kgrag")
    with tracer.start_as_current_span(
        name, kind=kind, attributes=dict(attributes), record_exception=False, set_status_on_exception=False
    ) as recorded:
        try:
            yield partial(_add, recorded)
        except BaseException as error:
            recorded.set_attribute("error.type", type(error).__name__)
            recorded.set_status(api.StatusCode.ERROR)
            raise


def _add_nothing(_: Attributes) -> None:
    pass


def _add(recorded: Span, attributes: Attributes) -> None:
    for name, value in attributes.items():
        recorded.set_attribute(name, value)


def spanned(
    name: str, operation: str, counted: Callable[[_Returned], Attributes]
) -> Callable[[Callable[_Given, _Returned]], Callable[_Given, _Returned]]:
    """Decorate a call that answers or retrieves, so that it is recorded with its method.

    Args:
        name: of the span; the method is put behind it.
        operation: ``gen_ai.operation.name``.
        counted: attributes of what it returned.
    """

    def decorate(call: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
        @wraps(call)
        def recorded(*given: _Given.args, **named: _Given.kwargs) -> _Returned:
            if _API not in sys.modules:
                return call(*given, **named)
            method = str(named.get("method", "")).partition(":")[0]
            attributes = {"gen_ai.operation.name": operation, "gen_ai.provider.name": "kgrag"}
            attributes |= {"kgrag.method": method} if method else {}
            with span(f"{name} {method}".strip(), attributes) as add:
                returned = call(*given, **named)
                add(counted(returned))
                return returned

        return recorded

    return decorate


def in_context(work: Callable[_Given, _Returned]) -> Callable[_Given, _Returned]:
    """Return a function that does the same in another thread, within the span that is current now."""
    return partial(copy_context().run, work)
