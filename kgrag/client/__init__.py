"""A client of ``kgrag serve``, for other processes and machines: ``Client``, and ``AsyncClient`` for asyncio.

It needs neither a store nor a model, and returns what the API returns as typed objects
(``kgrag.http_api.json_schemas``).

=======================  =====================================================================
module                   what it contains
=======================  =====================================================================
``server_client``        ``Client``, ``AsyncClient``: SPARQL, graphs, jobs, uploads
``json_operations``      operations of the JSON API, generated from their description
``content_calls``        those about the content: documents, sources, figures, trees, proofs
``async_operations``     the first for asyncio
``async_content_calls``  the second for asyncio
``client_generator``     generates them: ``python -m kgrag.client.client_generator``
``server_connection``    one request: key, proxies, errors
=======================  =====================================================================
"""

from __future__ import annotations

from kgrag.client.server_client import AsyncClient, Client
from kgrag.client.server_connection import NotThere

__all__ = ["AsyncClient", "Client", "NotThere"]
