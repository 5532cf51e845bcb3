"""What a program hands to ``KnowledgeBase(model=…, embedder=…, reranker=…)``: an object, a function, a name, a folder.

It is looked at when the knowledge base is made: what cannot work says so there, and not in the middle of a build.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from kgrag import plugins
from kgrag.errors import InvalidSettings
from kgrag.ports import Embedder, LanguageModel, Reranker
from kgrag.resources import closest
from kgrag.settings import Settings

__all__ = ["GivenEmbedder", "GivenModel", "GivenReranker", "given_embedder", "given_model", "given_reranker"]

GivenModel: TypeAlias = LanguageModel | Callable[[str], str] | str | None
GivenEmbedder: TypeAlias = Embedder | Callable[[list[str]], Any] | str | Path | None
GivenReranker: TypeAlias = Reranker | str | None

_MODEL_PARTS = ("identity", "complete", "as_completed")
_MODEL_FILES = ("modules.json", "config.json")
_EMBEDDER_PARTS = ("identity", "dimension", "embed")
_RERANKER_PARTS = ("rerank",)


def given_model(given: GivenModel) -> LanguageModel | None:
    """Return the language model that was handed over; of a function, one that calls it with a prompt's text.

    Raises:
        InvalidSettings: it is neither a language model nor a function of one text.
    """
    if given is None or _has(given, _MODEL_PARTS):
        return given  # type: ignore[return-value]
    if isinstance(given, str):
        raise InvalidSettings(f"model={given!r} is a name. Models are named by settings: Settings(model={given!r}).")
    if not _is_function_of_one(given):
        raise _unfit("model", given, _MODEL_PARTS, "a function from the text of a prompt to the text of the reply")
    from kgrag.llm.function_models import FunctionModel

    return FunctionModel(given)  # type: ignore[arg-type]


def given_embedder(given: GivenEmbedder, settings: Settings) -> Embedder | None:
    """Return the embedder that was handed over.

    A name is that of a registered embedder; else a folder, or a model of sentence-transformers by its name.

    Raises:
        InvalidSettings: it is neither an embedder, nor a function of a list of texts, nor a name; or a folder that is
            not there.
    """
    if given is None or _has(given, _EMBEDDER_PARTS):
        return given  # type: ignore[return-value]
    if isinstance(given, str | Path):
        if str(given) in plugins.registered("kgrag.embedders"):
            made: Embedder = plugins.load("kgrag.embedders", str(given))(settings)
            return made
        return _local(given)
    if not _is_function_of_one(given):
        raise _unfit("embedder", given, _EMBEDDER_PARTS, "a function from a list of texts to one row of numbers each")
    from kgrag.llm.function_models import FunctionEmbedder

    return FunctionEmbedder(given)  # type: ignore[arg-type]


def given_reranker(given: GivenReranker) -> Reranker | str | None:
    """Return the reranker that was handed over, or its name as of ``retrieve``.

    Raises:
        InvalidSettings: it is neither.
    """
    if given is None or isinstance(given, str) or _has(given, _RERANKER_PARTS):
        return given
    raise _unfit("reranker", given, _RERANKER_PARTS, "the name of a reranker")


def _local(given: str | Path) -> Embedder:
    from kgrag.llm.local_embedders import LocalEmbedder

    is_path = isinstance(given, Path) or str(given).startswith((".", "/", "~"))
    path = Path(given).expanduser()
    if is_path and not path.is_dir():
        raise InvalidSettings(f"embedder={str(given)!r} is no folder. Name one with a model of sentence-transformers.")
    if path.is_dir() and not any((path / name).is_file() for name in _MODEL_FILES):
        raise InvalidSettings(
            f"embedder={str(given)!r} is a folder without a model: it has none of {', '.join(_MODEL_FILES)}. Name one "
            "with a model of sentence-transformers."
        )
    known = plugins.registered("kgrag.embedders")
    if not is_path and not path.is_dir() and "/" not in str(given):
        raise InvalidSettings(
            f"embedder={str(given)!r} is neither a registered embedder, nor a folder, nor a model's whole name "
            f"(owner/name). {closest(str(given), known)}"
        )
    return LocalEmbedder(str(path) if path.is_dir() else str(given))


def _has(given: object, parts: tuple[str, ...]) -> bool:
    """Return whether an object has all of these attributes; a property is not computed for it."""
    return not isinstance(given, type) and not _missing(given, parts)


def _missing(given: object, parts: tuple[str, ...]) -> list[str]:
    absent = object()
    unseen = [part for part in parts if inspect.getattr_static(given, part, absent) is absent]
    return [part for part in unseen if not hasattr(given, part)]


def _is_function_of_one(given: object) -> bool:
    if not callable(given) or isinstance(given, type):
        return False
    try:
        inspect.signature(given).bind("")
    except TypeError:
        return False
    except ValueError:  # a function written in C may have no signature
        return True
    return True


def _unfit(role: str, given: object, parts: tuple[str, ...], function: str) -> InvalidSettings:
    kind = given.__name__ if isinstance(given, type) else type(given).__name__
    if isinstance(given, type):
        return InvalidSettings(f"{role}={kind} is a class. Hand over an object of it: {role}={kind}(…).")
    lacking = ", ".join(_missing(given, parts))
    return InvalidSettings(
        f"{role}= got a {kind}, which lacks {lacking}. An object for {role} has {', '.join(parts)} (kgrag.ports); "
        f"instead of one, hand over {function}."
    )
