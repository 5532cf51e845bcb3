"""The server: SPARQL 1.1 Protocol, Graph Store Protocol, service description, VoID; a JSON API; web pages.

One process owns the store and writes; queries run in reader processes that can be killed (``kgrag.server.readers``).
Needs the extra ``server``: ``pip install '.[server]'``.

=======================  =============================================================
module                   what it contains
=======================  =============================================================
``startup``              opens what is to be served, and listens
``app``                  routes and middleware
``server_state``         what the endpoints share; one write at a time
``document_intake``      documents into a served knowledge base, some at a time
``upload_jobs``          uploads as jobs that outlive the server
``jobs``                 what takes longer than a request may
``served_data``          a knowledge base, or a plain scratch dataset
``sparql_endpoints``     ``/sparql`` and ``/update``
``fast_path``            the shorter way to ``/sparql`` for plain requests
``protocol_requests``    reads a request of the SPARQL protocol
``update_rewriting``     the dataset of a request, and calls that may fail silently
``streaming``            from a reader process to the client
``stored_rows``          rows of stored queries, run by readers
``graph_store``          ``/graphs``
``graph_etags``          when each graph changed last
``revision_following``   names the revision in answers, and waits for one
``service_description``  the description of the service, and ``/void``
``health_endpoints``     ``/health``, ``/metrics``, ``/writes``
``access_keys``          keys and rights; keys for reading on a private server
``key_file``             the file of keys
``paid_access``          who may ask where an answer costs money
``write_gate``           refuses writes that would make ontologies worse
``gate_program``         what a write would do to ontologies, in a reader process
``write_log``            the log of writes
``request_log``          request ids, and the log of requests
``server_metrics``       what Prometheus reads
``worker_threads``       threads that work on questions
``http_transport``       one system call for head and body of a small answer
``media_types``          content negotiation
``problems``             from an error to a status and a message
``readers``              reader processes
``api``                  the JSON API
``openai_api``           the API of OpenAI
``openapi``              ``/openapi.json``: all of it described
``mcp``                  the Model Context Protocol
``pages``                the web pages
``tenants``              many knowledge bases behind one address
=======================  =============================================================
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgrag.server.app import create_app
    from kgrag.server.startup import Access, Address, Logging, serve, serve_scratch
    from kgrag.server.tenants.tenant_serving import serve_tenants

__all__ = ["Access", "Address", "Logging", "create_app", "serve", "serve_scratch", "serve_tenants"]

_HOME = dict.fromkeys(__all__, "kgrag.server.startup") | {
    "create_app": "kgrag.server.app",
    "serve_tenants": "kgrag.server.tenants.tenant_serving",
}
"""Modules are loaded when a name is asked for: the process that judges writes needs no application."""


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'kgrag.server' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
