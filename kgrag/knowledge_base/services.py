"""Services that the settings name: language models, embedders, any OpenAI-compatible service, a SPARQL server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kgrag import plugins
from kgrag.errors import InvalidSettings

if TYPE_CHECKING:
    from kgrag.llm.embedders import SentenceTransformerEmbedder
    from kgrag.llm.extractive import ExtractiveModel
    from kgrag.llm.openai_chat import OpenAIModel
    from kgrag.llm.openai_embeddings import OpenAIEmbedder
    from kgrag.ports import Embedder, OpenedStore, Validator
    from kgrag.settings import Settings
    from kgrag.store.postgres_connection import PostgresServer
    from kgrag.store.server_profile import ServerProfile
    from kgrag.store.sparql_connection import SparqlConnection

__all__ = [
    "chat_service",
    "configured_embedder",
    "embedding_service",
    "extractive",
    "index_server",
    "minilm",
    "server_profile",
    "store_on_server",
]

_IN_PROCESS = "sentence-transformers"


def extractive(settings: Settings) -> ExtractiveModel:  # noqa: ARG001 - the form of a registered model
    """Return the model that copies from the texts that it is given."""
    from kgrag.llm.extractive import ExtractiveModel

    return ExtractiveModel()


def minilm(settings: Settings) -> SentenceTransformerEmbedder:  # noqa: ARG001 - the form of a registered embedder
    """Return the embedding model that is installed with kgrag."""
    from kgrag.llm.embedders import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder()


def chat_service(settings: Settings) -> OpenAIModel:
    """Return the chat model that ``model`` names, at ``base_url``."""
    from kgrag.llm.openai_chat import OpenAIModel

    return OpenAIModel(
        settings.model,
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value(),
        concurrency=settings.concurrency,
        timeout=settings.timeout,
        max_tokens=settings.max_tokens,
    )


def configured_embedder(settings: Settings) -> Embedder:
    """Return the registered embedder that ``embedder`` names, else the embedding model of that name at ``base_url``.

    ``sentence-transformers:NAME`` is a model that runs in this process, by its name or its folder.

    Raises:
        InvalidSettings: no model is named behind ``sentence-transformers:``.
        PluginBroken: the registered one cannot be used.
    """
    kind, _, source = settings.embedder.partition(":")
    if kind == _IN_PROCESS:
        if not source:
            raise InvalidSettings(f"embedder '{_IN_PROCESS}' names no model. Write {_IN_PROCESS}:NAME or its folder.")
        from kgrag.llm.local_embedders import LocalEmbedder

        return LocalEmbedder(source)
    if settings.embedder in plugins.registered("kgrag.embedders"):
        made: Embedder = plugins.load("kgrag.embedders", settings.embedder)(settings)
        return made
    return embedding_service(settings)


def embedding_service(settings: Settings) -> OpenAIEmbedder:
    """Return the embedding model that ``embedder`` names, at ``base_url``."""
    from kgrag.llm.openai_embeddings import OpenAIEmbedder

    key = settings.api_key.get_secret_value()
    return OpenAIEmbedder(settings.embedder, base_url=settings.base_url, api_key=key)


def store_on_server(
    settings: Settings, folder: Path | None, *, base: str | None, validator: Validator, read_only: bool
) -> OpenedStore:
    """Return the store on the SPARQL server whose address ``store`` is; ``folder`` is where an embedded one would be.

    Raises:
        InvalidSettings: the address or the key is in no known form.
        StorageFailed: the server cannot be reached, or refuses the key.
    """
    from kgrag.store.sparql_server import ServerStore

    return ServerStore.open(_connection(settings), folder, base=base, validator=validator, read_only=read_only)


def server_profile(settings: Settings) -> ServerProfile:
    """Ask the SPARQL server whose address ``store`` is what it does.

    Raises:
        InvalidSettings: the address or the key is in no known form.
        StorageFailed: the server cannot be reached, or refuses the key.
    """
    from kgrag.store.server_profile import probe

    connection = _connection(settings)
    try:
        return probe(connection)
    finally:
        connection.close()


def index_server(settings: Settings) -> PostgresServer | None:
    """Return the PostgreSQL server whose address ``index`` is; None where it is unset.

    Raises:
        InvalidSettings: the address is in no known form.
    """
    from kgrag.store.postgres_connection import PostgresServer

    address = settings.index.get_secret_value()
    return PostgresServer(address) if address else None


def _connection(settings: Settings) -> SparqlConnection:
    from kgrag.store.sparql_connection import ServerAddress, SparqlConnection, key_of

    key = key_of(settings.store_auth.get_secret_value())
    return SparqlConnection(ServerAddress.of(settings.store), key=key, seconds=settings.timeout)
