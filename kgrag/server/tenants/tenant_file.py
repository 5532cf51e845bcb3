"""The file that ``kgrag serve --tenants`` reads: knowledge bases, each with keys of its own.

::

    open = 8                                     # knowledge bases that are open at once
    ontologies = ["shared/*.ttl"]                # loaded into each, and read-only there

    [[operators]]                                # /metrics and /tenants, and no tenant's content
    name = "operations"
    sha256 = "9f86d081…"

    [[tenants]]
    name = "north"
    folder = "north.kb"                          # when left out: NAME.kb beside this file
    budget = { period = "month", tokens = 2_000_000 }

    [[tenants.keys]]                             # as of --keys
    name = "north-app"
    sha256 = "60303ae2…"
    rights = "write"
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kgrag.errors import InvalidSettings
from kgrag.llm.period_budget import Period
from kgrag.server.access_keys import Key, Rights
from kgrag.server.key_file import check_permissions, key_tables

__all__ = ["Tenant", "TenantBudget", "TenantFile", "read_tenants"]

_DEFAULT_OPEN = 8


class TenantBudget(BaseModel):
    """The most that a tenant may ask of a paid language model in a day or a month (UTC); None = no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    period: Period = "month"
    completions: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    money: float | None = Field(default=None, ge=0)


@dataclass(frozen=True)
class Tenant:
    """Somebody with a knowledge base of their own.

    Attributes:
        name: of 1 to 64 letters, digits and hyphens.
        folder: of the knowledge base.
        keys: that open it; each opens no other.
        budget: what it may ask of a paid model; None: as much as it likes.
    """

    name: str
    folder: Path
    keys: tuple[Key, ...]
    budget: TenantBudget | None = None


@dataclass(frozen=True)
class TenantFile:
    """What one server serves.

    Attributes:
        tenants: by name.
        operators: keys for what concerns all tenants.
        ontologies: files that each tenant reads.
        max_open: knowledge bases that are open at once.
    """

    tenants: dict[str, Tenant]
    operators: tuple[Key, ...] = ()
    ontologies: tuple[Path, ...] = ()
    max_open: int = _DEFAULT_OPEN


class _TenantTable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$")
    folder: Path | None = None
    budget: TenantBudget | None = None
    keys: list[dict[str, Any]] = Field(min_length=1)


class _Tables(BaseModel):
    model_config = ConfigDict(extra="forbid")

    open: int = Field(default=_DEFAULT_OPEN, ge=1, le=1000)
    ontologies: list[str] = []
    operators: list[dict[str, Any]] = []
    tenants: list[_TenantTable] = Field(min_length=1)


def read_tenants(path: Path) -> TenantFile:
    """Return what a file declares; its paths are relative to its folder.

    Raises:
        InvalidSettings: it cannot be read, or is not sound: two tenants share a name, a folder or a key, a key is
            also an operator's, no file fits an ontology's pattern, or others can read keys that it holds.
    """
    try:
        tables = _Tables.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"{path} cannot be read as TOML: {error}. Give a file of [[tenants]] tables.") from None
    except ValidationError as error:
        wrong = error.errors(include_input=False, include_url=False)
        listed = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in wrong)
        raise InvalidSettings(f"{path}: {listed}. The guide (tenants) has an example.") from None
    check_permissions(path, [*tables.operators, *(key for table in tables.tenants for key in table.keys)])
    operators = key_tables(tables.operators, f"{path}", "operators")
    tenants = [_tenant(table, path) for table in tables.tenants]
    _check_apart(tenants, operators, path)
    return TenantFile(
        {tenant.name: tenant for tenant in tenants},
        tuple(replace(key, rights=Rights.READ) for key in operators),
        tuple(_ontologies(tables.ontologies, path)),
        tables.open,
    )


def _tenant(table: _TenantTable, path: Path) -> Tenant:
    keys = key_tables(table.keys, f"{path}, tenant '{table.name}'", "tenants.keys")
    folder = path.parent / (table.folder or f"{table.name}.kb")
    return Tenant(table.name, folder.resolve(), tuple(keys), table.budget)


def _check_apart(tenants: list[Tenant], operators: list[Key], path: Path) -> None:
    """Check that no two tenants have anything in common."""
    if twice := _twice(tenant.name.lower() for tenant in tenants):
        raise InvalidSettings(f"{path} has two tenants '{twice}'. Name each differently, capitals aside.")
    if _twice(key.digest for key in [*operators, *(key for tenant in tenants for key in tenant.keys)]):
        raise InvalidSettings(f"{path} has one key in two places. A key opens one knowledge base: make another.")
    folders: dict[Path, str] = {}
    for tenant in tenants:
        folders.setdefault(tenant.folder, tenant.name)
    for tenant in tenants:
        outer = next((folders[each] for each in (tenant.folder, *tenant.folder.parents) if each in folders), "")
        around = next((folders[each] for each in tenant.folder.parents if each in folders), "")
        if outer != tenant.name or around:
            raise InvalidSettings(
                f"{path}: the folder of tenant '{tenant.name}' is, or is in, that of '{around or outer}'. Take another."
            )


def _twice(values: Any) -> Any:
    return next((value for value, count in Counter(values).items() if count > 1), None)


def _ontologies(patterns: list[str], path: Path) -> list[Path]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        files = sorted(path.parent.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
        if not files or not all(file.is_file() for file in files):
            raise InvalidSettings(f"{path}: no file fits the ontology '{pattern}'. Paths are relative to this file.")
        found |= dict.fromkeys(files)
    return list(found)
