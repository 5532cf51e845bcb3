"""Plug-ins: what installed packages add to kgrag, found by entry points; kgrag's own parts come this way too.

==================  ==================================================================================================
group               what an entry point names
==================  ==================================================================================================
kgrag.methods       a ``kgrag.declarations.MethodDeclaration``; the entry point's name is the method's
kgrag.readers       a ``kgrag.text.readers.Reader``; the name is the suffix without its dot
kgrag.chunkers      a function like ``kgrag.text.chunking.chunk``
kgrag.embedders     a function from ``Settings`` to a ``kgrag.ports.Embedder``
kgrag.models        a function from ``Settings`` to a ``kgrag.ports.LanguageModel``
kgrag.rerankers     a function from ``Settings`` to a ``kgrag.ports.Reranker``
kgrag.stores        a function like ``kgrag.store.oxigraph.OxigraphStore.open``
kgrag.vectors       a function like ``kgrag.index.vector_folder.FolderSpaces``
kgrag.checks        a package with ``shapes/ontology/*.ttl`` (checks) and ``shapes/profiles/*.toml``
kgrag.reports       a function from ``kgrag.audit.Audit`` to text
==================  ==================================================================================================

A plug-in that cannot be imported, is not what its group asks for, or has the name of another one is left out, with the
reason in ``Plugin.problem``; it never stops the others. Using it by name raises ``PluginBroken``.

A package that registers anything may bring folders ``queries``, ``prompts``, ``shapes`` and ``ontologies``, laid out as
kgrag's. What is in them is named with a prefix, the method's or the package's: ``queries.bind("hippo:walk")`` is
``queries/walk.rq`` in the package that declares the method ``hippo``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, reduce
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kgrag.declarations import MethodDeclaration
from kgrag.errors import PluginBroken, UnknownName, closest

__all__ = ["GROUPS", "Plugin", "examined", "folders", "implementation", "load", "method", "methods", "registered"]

GROUPS = (
    "kgrag.methods",
    "kgrag.readers",
    "kgrag.chunkers",
    "kgrag.embedders",
    "kgrag.models",
    "kgrag.rerankers",
    "kgrag.stores",
    "kgrag.vectors",
    "kgrag.checks",
    "kgrag.reports",
)
_OWN = "kgrag"
_METHODS = "kgrag.methods"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point: its group and name, the object that it names, and the distribution that it is from.

    ``problem`` is "" for one that can be used.
    """

    group: str
    name: str
    target: str
    distribution: str
    version: str
    problem: str = ""

    @property
    def own(self) -> bool:
        """Whether it comes with kgrag itself."""
        return self.distribution == _OWN


@cache
def registered(group: str) -> Mapping[str, Plugin]:
    """Return the plug-ins of a group by name, in the order of names; nothing is imported."""
    found: dict[str, list[Plugin]] = {}
    for point in _points().select(group=group):
        distribution = point.dist.name if point.dist else "?"
        version = point.dist.version if point.dist else "?"
        found.setdefault(point.name, []).append(Plugin(group, point.name, point.value, distribution, version))
    first = {}
    for name, plugins in sorted(found.items()):
        owners = " and ".join(f"{each.distribution} {each.version}" for each in plugins)
        problem = f"two distributions register this name: {owners}. Uninstall one of them."
        first[name] = plugins[0] if len(plugins) == 1 else replace(plugins[0], problem=problem)
    return MappingProxyType(first)


@cache
def _points() -> Any:  # its type differs between Pythons
    """Return the entry points of all groups; to look for them reads the metadata of every package."""
    return metadata.entry_points()


@cache
def load(group: str, name: str, kind: type = object) -> Any:
    """Return the object that a plug-in names, imported when first asked for.

    Args:
        group: one of ``GROUPS``.
        name: that of the entry point.
        kind: what the object has to be an instance of.

    Raises:
        UnknownName: the group has none of this name.
        PluginBroken: it cannot be imported, is of another kind, or two distributions register the name.
    """
    known = registered(group)
    if name not in known:
        raise _unknown(group, name)
    plugin = known[name]
    if plugin.problem:
        raise _broken(plugin, plugin.problem)
    try:
        found = _imported(plugin.target)
    except Exception as error:
        raise _broken(plugin, f"{plugin.target}: {type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        raise _broken(plugin, f"{plugin.target} is a {type(found).__name__}, and a {kind.__name__} was expected.")
    return found


def _unknown(group: str, name: str) -> UnknownName:
    known = registered(group)
    hint = closest(name, known)
    if not registered(_METHODS):  # not even kgrag's own: its metadata are missing, or older than its code
        hint = "Not even kgrag's own are registered. Install kgrag again: pip install --force-reinstall --no-deps PATH"
    kind = group.removeprefix("kgrag.").removesuffix("s")
    return UnknownName(f"there is no {kind} '{name}'. {hint}")


def _broken(plugin: Plugin, problem: str) -> PluginBroken:
    origin = f"{plugin.group}, {plugin.distribution} {plugin.version}"
    return PluginBroken(f"the plug-in '{plugin.name}' ({origin}) cannot be used: {problem}")


def _reason(error: PluginBroken) -> str:
    return str(error).partition("cannot be used: ")[2]


def _imported(target: str) -> Any:
    """Return what ``module:attribute`` or ``module`` names. Raises whatever importing raises."""
    module, _, attribute = target.partition(":")
    return reduce(getattr, attribute.split(".") if attribute else (), importlib.import_module(module))


# --- methods ------------------------------------------------------------------------------------------------------


@cache
def methods() -> Mapping[str, MethodDeclaration]:
    """Return the declarations of the methods that can be used, by name."""
    usable = {name: found for name, found in _declared().items() if isinstance(found, MethodDeclaration)}
    return MappingProxyType(usable)


def method(name: str) -> MethodDeclaration:
    """Return the declaration of a method.

    Raises:
        UnknownName: there is no such method.
        PluginBroken: it is registered, and cannot be used.
    """
    found = _declared().get(name)
    if isinstance(found, MethodDeclaration):
        return found
    if found is not None:
        raise _broken(registered(_METHODS)[name], found)
    raise _unknown(_METHODS, name)


def implementation(name: str) -> type:
    """Return the class of a method, imported when first asked for.

    Raises:
        UnknownName: there is no such method.
        PluginBroken: its declaration or its class cannot be used.
    """
    declared = method(name)
    try:
        found: type = _imported(declared.implementation)
    except Exception as error:
        plugin = registered(_METHODS)[name]
        raise _broken(plugin, f"{declared.implementation}: {type(error).__name__}: {error}") from error
    return found


@cache
def _declared() -> Mapping[str, MethodDeclaration | str]:
    """Return name -> declaration, or what is wrong with it; kgrag's own come first, so that none takes their names."""
    found: dict[str, MethodDeclaration | str] = {}
    taken: dict[str, str] = {}
    for name, plugin in sorted(registered(_METHODS).items(), key=lambda item: (not item[1].own, item[0])):
        try:
            declared = load(_METHODS, name, MethodDeclaration)
        except PluginBroken as error:
            found[name] = _reason(error)
            continue
        problem = " ".join(_faults(plugin, declared, taken))
        found[name] = problem or declared
        if not problem:
            taken |= {each.iri.value: name for each in declared.graph_kinds}
            taken |= {each.name: name for each in declared.vector_spaces}
    return found


def _faults(plugin: Plugin, declared: MethodDeclaration, taken: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with a declaration."""
    if declared.name != plugin.name:
        yield f"it declares the name '{declared.name}', which should be that of its entry point."
    if not is_dataclass(declared.options) or any("help" not in each.metadata for each in fields(declared.options)):
        yield f"its options {declared.options.__name__} should be a dataclass whose fields are made by option(…)."
    kinds = [kind.iri.value for kind in declared.graph_kinds]
    spaces = [space.name for space in declared.vector_spaces]
    for name in (*kinds, *spaces):
        if name in taken:
            yield f"it declares {name}, which is of the method '{taken[name]}'."
    if not plugin.own and any(iri.startswith("https://w3id.org/kgrag/") for iri in kinds):
        yield "it declares a kind of graph in kgrag's own namespace. Use one of yours."
    if not plugin.own and not all(name.startswith(f"{plugin.name}-") for name in spaces):
        yield f"the name of each of its vector spaces should begin with '{plugin.name}-'."


def examined() -> Iterator[Plugin]:
    """Yield every plug-in of every group, each imported, with its problem where it has one."""
    for group in GROUPS:
        for name, plugin in registered(group).items():
            try:
                if group == _METHODS:
                    implementation(name)
                else:
                    load(group, name)
            except PluginBroken as error:
                yield replace(plugin, problem=_reason(error))
            else:
                yield plugin


# --- files --------------------------------------------------------------------------------------------------------


@cache
def folders() -> Mapping[str, Path]:
    """Return prefix -> folder of the package of every plug-in that is not kgrag's own; nothing is imported.

    The prefixes of a package are the names of its methods, then its own name.
    """
    found: dict[str, Path] = {}
    for group in GROUPS:
        for plugin in registered(group).values():
            if not plugin.own and (place := _folder(plugin.target.partition(":")[0])) is not None:
                found.setdefault(plugin.name if group == _METHODS else place.name, place)
                found.setdefault(place.name, place)
    return MappingProxyType(found)


def _folder(module: str) -> Path | None:
    top, *inner = module.split(".")
    spec = find_spec(top)
    if spec is None or not spec.submodule_search_locations:
        return None
    place = Path(spec.submodule_search_locations[0]).joinpath(*inner)
    return place if place.is_dir() else place.parent
