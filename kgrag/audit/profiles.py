"""Profiles: which families of checks run, and how bad their findings are.

Those that ship stand in ``shapes/profiles/<name>.toml``. A user's own file has the same form, and may extend one::

    extends = "publish"
    families = ["met", "ann"]          # instead of those of the profile that is extended
    namespace = "https://example.org/o#"
    shapes = ["ours.ttl"]              # beside this file: checks, or plain SHACL
    reasoner = true                    # ask a reasoner, as --reasoner does

    [severities]
    "ANN-02" = "Warning"
    "NAM-02" = "Off"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kgrag.audit.checks import OFF, SEVERITIES, Catalogue, Check, load_catalogue, shipped
from kgrag.errors import InvalidSettings, UnknownName
from kgrag.resources import closest, find, listing

__all__ = ["Profile", "catalogue_of", "load_profile", "profile_names"]

_KEYS = {
    "description": str,
    "extends": str,
    "families": list,
    "namespace": str,
    "reasoner": bool,
    "severities": dict,
    "shapes": list,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile; ``base`` is the shipped one that checks' own severities go by, ``severities`` win over these.

    With ``reasoner``, a reasoner is asked in every audit, whether or not the audit's options ask for it.
    """

    name: str
    base: str
    families: tuple[str, ...] = ()
    severities: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[Path, ...] = ()
    namespace: str = ""
    description: str = ""
    reasoner: bool = False

    def severity(self, check: Check) -> str:
        """Give how bad the findings of a check are; "Off" when it is not run."""
        if check.identifier in self.severities:
            return self.severities[check.identifier]
        return check.severity_in(self.base) if check.family in self.families else OFF


def profile_names() -> list[str]:
    """Return the names of the profiles that ship, and of those of plug-ins, with prefix: ``hippo:strict``."""
    found = []
    for name in listing("shapes", (".toml",)):
        prefix, colon, local = name.rpartition(":")
        if local.startswith("profiles/"):
            found.append(f"{prefix}{colon}{local.removeprefix('profiles/')}")
    return found


def load_profile(name: str) -> Profile:
    """Give a profile by its name, or from the TOML file at a path.

    Raises:
        UnknownName: there is no profile of this name, and no file.
        InvalidSettings: the file is no TOML, or has a key or a value that is not known.
    """
    if name.endswith(".toml") or Path(name).is_file():
        return _own(Path(name))
    if name not in profile_names():
        packaged = [f"'{each}'" for each in profile_names() if each.endswith(f":{name}")]
        hint = f"Did you mean {' or '.join(packaged)}? " if packaged else closest(name, profile_names())
        raise UnknownName(f"there is no profile '{name}'. {hint.strip()} Or name a .toml file.")
    prefix, colon, local = name.rpartition(":")
    path = find("shapes", f"{prefix}{colon}profiles/{local}", (".toml",))
    read = _read(path)
    base = load_profile(_beside(read["extends"], path)) if "extends" in read else Profile(name, name)
    return replace(_changed(base, read, path), name=name)


def catalogue_of(profile: Profile) -> Catalogue:
    """Return the checks that a profile chooses from: those that ship, those of plug-ins, and those of its own files.

    Raises:
        InvalidRDF: a file of checks does not parse, or contains an incomplete check.
        UnknownName: the profile names a family or a check that is not there; an audit would run less than it says.
    """
    catalogue = shipped()
    if profile.shapes:
        catalogue = load_catalogue((*catalogue.files, *profile.shapes))
    for kind, named, known in (
        ("family", profile.families, {check.family for check in catalogue.checks}),
        ("check", profile.severities, {check.identifier for check in catalogue.checks}),
    ):
        for name in named:
            if name not in known:
                raise UnknownName(f"profile '{profile.name}': there is no {kind} '{name}'. {closest(name, known)}")
    return catalogue


def _own(path: Path) -> Profile:
    read = _read(path)
    base = load_profile(_beside(read.get("extends", "default"), path))
    return replace(_changed(base, read, path), name=path.stem)


def _beside(name: str, path: Path) -> str:
    return str(path.parent / name) if name.endswith(".toml") else name


def _read(path: Path) -> dict[str, Any]:
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSettings(f"{path}: {error}. A profile is a TOML file; see shapes/profiles/.") from error
    for key, value in read.items():
        if key not in _KEYS:
            raise InvalidSettings(f"{path}: '{key}' is no key of a profile. {closest(key, _KEYS)}")
        if not isinstance(value, _KEYS[key]):
            raise InvalidSettings(
                f"{path}: '{key}' is a {type(value).__name__}, and a {_KEYS[key].__name__} was expected."
            )
    return read


def _changed(base: Profile, read: Mapping[str, Any], path: Path) -> Profile:
    given = dict(read.get("severities", {}))
    for check, severity in given.items():
        if severity not in (*SEVERITIES, OFF):
            known = ", ".join((*SEVERITIES, OFF))
            raise InvalidSettings(f"{path}: {check} has the severity '{severity}'. Use one of {known}.")
    return replace(
        base,
        families=tuple(read.get("families", base.families)),
        severities={**base.severities, **given},
        shapes=(*base.shapes, *(path.parent / each for each in read.get("shapes", ()))),
        namespace=read.get("namespace", base.namespace),
        description=read.get("description", base.description),
        reasoner=read.get("reasoner", base.reasoner),
    )
