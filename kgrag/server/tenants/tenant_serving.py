"""Opens what a server of tenants needs, and listens until the process is asked to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from kgrag.errors import InvalidSettings
from kgrag.llm.costs import price_of, read_prices
from kgrag.llm.embedders import SentenceTransformerEmbedder
from kgrag.ports import Embedder, Vectors
from kgrag.server.paid_access import paid_access_of
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.startup import Access, Address, Logging, listen
from kgrag.server.tenants.tenant_file import TenantFile, read_tenants
from kgrag.server.tenants.tenant_gateway import TenantGateway
from kgrag.server.tenants.tenant_opening import TenantRules
from kgrag.settings import EXTRACTIVE, MINILM, Settings
from kgrag.store.rdf_files import read_rdf
from kgrag.vocab import KG, Names

__all__ = ["SharedEmbedder", "check_settings", "serve_tenants"]


class SharedEmbedder:
    """An embedding model that several knowledge bases ask; none of them closes it."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner

    @property
    def dimension(self) -> int:
        """That of the model."""
        return self._inner.dimension

    @property
    def identity(self) -> str:
        """That of the model."""
        return self._inner.identity

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return what the model does; nothing is kept here."""
        return self._inner.embed(texts, kind)


def serve_tenants(
    file: Path,
    settings: Settings,
    address: Address,
    *,
    access: Access | None = None,
    logging: Logging | None = None,
    limits: ServerLimits | None = None,
) -> None:
    """Serve the knowledge bases of a file of tenants until the process is asked to stop.

    Raises:
        InvalidSettings: the file, a setting or an option does not go with tenants, or the address is taken.
    """
    access, logging, limits = access or Access(), logging or Logging(), limits or ServerLimits()
    declared = read_tenants(file)
    check_settings(declared, settings)
    _check_options(access, logging)
    model = SentenceTransformerEmbedder() if settings.embedder == MINILM else None
    if model is not None:
        model.move_apart()
    rules = TenantRules(
        settings,
        None if model is None else SharedEmbedder(model),
        declared.ontologies,
        access.read_only,
        access.gate,
        access.keep_chats,
        paid_access_of(settings, address.host),
        limits,
        logging.form,
        logging.queries,
    )
    gateway = TenantGateway(declared, rules)

    def announce(url: str) -> None:
        gateway.url = url
        address.announce(url)

    try:
        listen(gateway, replace(address, announce=announce), limits)
    finally:
        if model is not None:
            model.close()


def check_settings(declared: TenantFile, settings: Settings) -> None:
    """Check that what the settings say keeps tenants apart, and that budgets can be held.

    Raises:
        InvalidSettings: they do not; or a shared ontology is none.
    """
    embedded = {"store": "oxigraph", "vectors": "hnsw"}
    for name, wanted in embedded.items():
        if getattr(settings, name) != wanted:
            raise InvalidSettings(
                f"KGRAG_{name.upper()} names a place that all tenants would share. Unset it: the content of each "
                "tenant is kept in its own folder."
            )
    if settings.index.get_secret_value():
        raise InvalidSettings(
            "KGRAG_INDEX names a database that all tenants would share. Unset it: vectors are kept in each folder."
        )
    if settings.api_keys.get_secret_value().strip(", "):
        raise InvalidSettings("KGRAG_API_KEYS are keys of no tenant. Write each into the file of tenants.")
    price = price_of(read_prices(settings.prices), settings.model)
    for tenant in declared.tenants.values():
        if tenant.budget is not None and tenant.budget.money is not None and price is None:
            raise InvalidSettings(
                f"the budget of tenant '{tenant.name}' is in money, and {settings.model} has no price. Set [prices]."
            )
        if tenant.budget is not None and settings.completions == "off" and settings.model != EXTRACTIVE:
            raise InvalidSettings('a budget needs the record of costs. Take out completions = "off".')
    _check_ontologies(declared.ontologies)


def _check_ontologies(ontologies: Sequence[Path]) -> None:
    for path in ontologies:
        for draft in read_rdf(path, names=Names()):
            if draft.kind != KG.OntologyGraph or draft.iri.value.startswith(Names().base):
                raise InvalidSettings(
                    f"{path} names no owl:Ontology: without its IRI, a change would make another graph."
                )


def _check_options(access: Access, logging: Logging) -> None:
    wrong = {
        "--keys": access.keys is not None,
        "--local-writes": access.local_writes,
        "--open-ask": access.open_ask,
        "--write-log": logging.writes is not None,
    }
    for option in [name for name, given in wrong.items() if given]:
        raise InvalidSettings(
            f"{option} does not go with --tenants: keys are in its file, nobody asks without one, and each folder has "
            "its own log of writes."
        )
