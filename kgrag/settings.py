"""Settings of a process: ``KGRAG_*`` environment variables, else ``kgrag.toml`` in the current folder, else defaults.

Read once, by the command line and by ``KnowledgeBase``. The key of a language-model service comes from the environment
only (``KGRAG_API_KEY``, else ``OPENAI_API_KEY``), and so do the keys of the server (``KGRAG_API_KEYS``). What a paper
calls a hyper-parameter is an argument of its method.
"""

from __future__ import annotations

import difflib
import json
import logging
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from kgrag.errors import InvalidSettings
from kgrag.vocab import DEFAULT_BASE

__all__ = ["EXTRACTIVE", "MINILM", "Settings", "as_toml", "folder_of", "is_address", "read_settings"]

EXTRACTIVE = "extractive"
MINILM = "all-MiniLM-L6-v2"
_FILE = Path("kgrag.toml")
_SECRETS = ("api_key", "api_keys", "store_auth", "index")
_LOG = logging.getLogger(__name__)
_READ_ELSEWHERE = frozenset(
    {
        *("SERVER_KEY", "DATABASE", "MAPPER", "LINKML"),  # by commands and clients
        *("FILES", "SHAPES", "ONTOLOGY", "PROFILE", "BASELINE", "SUPPRESS", "FAIL_ON", "SARIF"),
        *("PACKAGE", "PULL_REQUEST", "EXIT_CODE"),  # by pipelines that audit, as those before
        "DATA",  # by tests and benchmarks
    }
)
"""What of ``KGRAG_*`` in the environment is no setting, and means something all the same."""
_NAMED: set[str] = set()


class Settings(BaseSettings):
    """What a knowledge base is opened with; every field has a default that needs neither key nor network."""

    model_config = SettingsConfigDict(env_prefix="KGRAG_", toml_file=_FILE, frozen=True, extra="forbid")

    kb: Path = Field(default=Path("kgrag.kb"), description="folder of the knowledge base")
    base_iri: str = Field(
        default=DEFAULT_BASE, description="base of every minted IRI, fixed when the folder is created"
    )
    store: str = Field(
        default="oxigraph",
        description="name of a registered triple store, or the address of a SPARQL server: `http://host:7878`, below "
        "which `/query` and `/update` are, or these two addresses with a space between",
    )
    store_auth: SecretStr = Field(
        default=SecretStr(""),
        description="key of that server: `basic NAME:PASSWORD`, `digest NAME:PASSWORD` or `bearer KEY`; environment "
        "only",
    )
    vectors: str = Field(default="hnsw", description="name of a registered vector index")
    index: SecretStr = Field(
        default=SecretStr(""),
        description="PostgreSQL database with pgvector for what is made again from the store: "
        "`postgresql://NAME:PASSWORD@host:5432/database`; unset: files in the folder; environment only",
    )
    model: str = Field(
        default=EXTRACTIVE, description="'extractive', another registered model, or a chat model's name at `base_url`"
    )
    base_url: str | None = Field(default=None, description="any OpenAI-compatible service; unset: OpenAI's own")
    api_key: SecretStr = Field(default=SecretStr(""), description="key of that service; environment only")
    api_keys: SecretStr = Field(
        default=SecretStr(""), description="keys that may write to `kgrag serve`, comma between; environment only"
    )
    embedder: str = Field(
        default=MINILM,
        description=f"'{MINILM}' (in process, English), 'sentence-transformers:NAME' or a folder, another registered "
        "embedder, or an embedding model at `base_url`",
    )
    reranker: str = Field(
        default="",
        description="puts hits into its order: 'model', 'cross-encoder:NAME' or a folder, another registered one; "
        "unset: none",
    )
    concurrency: int = Field(default=8, ge=1, le=256, description="requests under way at once")
    timeout: float = Field(
        default=120.0, gt=0, description="seconds that one attempt of a request may take; six are made, within 600 s"
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="the longest reply of the chat model, in its tokens; unset: the service's own limit",
    )
    signing_key: Path | None = Field(
        default=None,
        description="file of the Ed25519 key (PEM) that receipts of erasures are signed with; unset: `signing.key` in "
        "the folder of the knowledge base, made when it is first needed",
    )
    prices: dict[str, dict[str, float]] = Field(
        default={}, description="price of a million tokens of a model: `prices.NAME = { input = 0.15, output = 0.60 }`"
    )
    completions: Literal["record", "replay", "off"] = Field(
        default="record", description="keep paid completions and reuse them; only reuse them; neither"
    )

    @field_validator("prices")
    @classmethod
    def whole_prices(cls, prices: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
        """Return prices that are all of two numbers, neither below 0. Raises ValueError."""
        for model, row in prices.items():
            if row.keys() != {"input", "output"} or not all(0 <= value < math.inf for value in row.values()):
                raise ValueError(f"the price of {model!r} is {row}. Write {{ input = 0.15, output = 0.60 }}")
        return prices

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the hook's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources by rank: arguments, then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def read_settings(**overrides: Any) -> Settings:
    """Read the settings; ``overrides`` that are None are left out.

    Raises:
        InvalidSettings: a value is outside its range, unknown, or the file contains a secret.
    """
    values = {name: value for name, value in overrides.items() if value is not None}
    try:
        _refuse_secrets_in_file()
        if (
            "api_key" not in values
            and not os.environ.get("KGRAG_API_KEY")
            and (key := os.environ.get("OPENAI_API_KEY"))
        ):
            values["api_key"] = SecretStr(key)
        settings = Settings(**values)
    except UnicodeDecodeError as error:
        raise InvalidSettings(f"{_FILE} is not UTF-8, at byte {error.start}. Save it as UTF-8.") from None
    except (ValidationError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(_explain(error)) from None
    except SettingsError as error:  # its text has the name of the field, and that it is from the environment
        name = re.findall(r"field \"(\w+)\"", str(error))
        raise InvalidSettings(
            f"KGRAG_{''.join(name[:1]).upper()} is no JSON. In the environment a table is written as JSON, for example "
            f'KGRAG_PRICES=\'{{"gpt-4o": {{"input": 2.5, "output": 10}}}}\'; in {_FILE}, as TOML.'
        ) from None
    folder_of(settings.kb)
    _name_unknown()
    return settings


def _name_unknown() -> None:
    """Log a warning for each ``KGRAG_*`` variable that nothing reads, once per process: a slip sets nothing."""
    settings = [name.upper() for name in Settings.model_fields]
    for variable in sorted(set(os.environ) - _NAMED):
        name = variable.removeprefix("KGRAG_").upper()
        if variable == name or not variable.startswith("KGRAG_") or name in (*settings, *_READ_ELSEWHERE):
            continue
        _NAMED.add(variable)
        near = difflib.get_close_matches(name, [*settings, *sorted(_READ_ELSEWHERE)], 1)
        meant = f"Did you mean KGRAG_{near[0]}?" if near else "Known: " + ", ".join(sorted(settings)) + "."
        _LOG.warning("%s in the environment is read by nothing. %s", variable, meant)


def folder_of(kb: str | Path) -> Path:
    """Return the folder of a knowledge base.

    Raises:
        InvalidSettings: it is the address of a server, which would become a folder ``http:``.
    """
    address = re.fullmatch(r"(https?):/+(.*)", str(kb), flags=re.IGNORECASE | re.DOTALL)
    if address is None:
        return Path(kb)
    scheme, host = address[1].lower(), address[2].rpartition("@")[2]  # it may contain a name and a password
    raise InvalidSettings(
        f"kb: {scheme}://{host} is an address, and a knowledge base is a folder. To work through a kgrag server, write "
        f"--server {scheme}://{host} (in Python: kgrag.client). To keep the triples in a SPARQL server, set "
        f"KGRAG_STORE={scheme}://{host} and name a folder for the rest."
    )


def is_address(store: str) -> bool:
    """Return whether the setting ``store`` is the address of a server, not the name of a registered store."""
    return store.startswith(("http://", "https://"))


def as_toml(settings: Settings) -> str:
    """Return the settings that were set, as the text of a ``kgrag.toml``: no secret, and not where the folder is."""
    shown = settings.model_fields_set - {"kb", *_SECRETS}
    values = settings.model_dump(mode="json", include=shown, exclude_none=True)
    if "base_url" in values:  # it may contain a name and a password
        address = urlsplit(values["base_url"])
        values["base_url"] = address._replace(netloc=address.netloc.rpartition("@")[2], query="").geturl()
    # a string, a number and a truth value are written in TOML as they are in JSON
    return "".join(f"{name} = {_toml(value)}\n" for name, value in sorted(values.items()))


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(item)}" for name, item in value.items()) + " }"
    return json.dumps(value)


def _refuse_secrets_in_file() -> None:
    written = tomllib.loads(_FILE.read_text(encoding="utf-8")) if _FILE.is_file() else {}
    for name in _SECRETS:
        if name in written:
            raise InvalidSettings(
                f"{_FILE} holds '{name}'. Take it out, and set KGRAG_{name.upper()} in the environment instead."
            )


def _explain(error: ValidationError | tomllib.TOMLDecodeError) -> str:
    if isinstance(error, tomllib.TOMLDecodeError):
        return f"{_FILE} is not valid TOML: {error}"
    known = ", ".join(sorted(Settings.model_fields))
    wrong = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors(include_input=False))
    return f"settings (KGRAG_* or {_FILE}): {wrong}. Known settings: {known}."
