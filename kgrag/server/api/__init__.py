"""The JSON API: what commands do, over HTTP, with an OpenAPI document.

=========================  ====================================================================
module                     what it contains
=========================  ====================================================================
``json_endpoints``         ``/ask``, ``/ask/cost``, ``/retrieve``, ``/check``, ``/validate``, ``/audit``; reads JSON
``document_endpoints``     ``/documents``, ``/vacuum``
``content_endpoints``      the list of documents, ``/sources``, ``/stats``, ``/profile``, ``/tree`` ...
``reasoning_endpoints``    ``/why``, ``/reason``
``job_endpoints``          ``/build``, ``/jobs``
``proposal_endpoints``     ``/proposals``
``saved_query_endpoints``  ``/saved-queries``
``index_endpoints``        ``/indexes``
``write_steps``            the turn of a write, and the reply that names a job
``request_parameters``     reads the parameters of an address
``protocol_operations``    describes SPARQL, the Graph Store and the protocol of agents
=========================  ====================================================================
"""

from __future__ import annotations

from starlette.routing import Route

from kgrag.server.api import (
    content_endpoints,
    document_endpoints,
    index_endpoints,
    job_endpoints,
    json_endpoints,
    proposal_endpoints,
    reasoning_endpoints,
    saved_query_endpoints,
)

__all__ = ["ROUTES"]

ROUTES = (
    Route("/ask", json_endpoints.ask, methods=["POST"]),
    Route("/ask/cost", json_endpoints.ask_cost, methods=["POST"]),
    Route("/retrieve", json_endpoints.retrieve, methods=["POST"]),
    Route("/check", json_endpoints.check, methods=["POST"]),
    Route("/validate", json_endpoints.validate, methods=["POST"]),
    Route("/audit", json_endpoints.audit, methods=["POST"]),
    Route("/documents", document_endpoints.post, methods=["POST"]),
    Route("/documents", content_endpoints.listed, methods=["GET"]),
    Route("/documents/{id:path}", document_endpoints.put, methods=["PUT"]),
    Route("/documents/{id:path}", document_endpoints.delete, methods=["DELETE"]),
    Route("/documents/{id:path}", document_endpoints.get, methods=["GET"]),
    Route("/build/{method}", job_endpoints.build, methods=["POST"]),
    Route("/jobs", job_endpoints.listed, methods=["GET"]),
    Route("/jobs/{id}", job_endpoints.job, methods=["GET"]),
    Route("/jobs/{id}", job_endpoints.cancel, methods=["DELETE"]),
    Route("/proposals", proposal_endpoints.listed, methods=["GET"]),
    Route("/proposals", proposal_endpoints.decide, methods=["POST"]),
    Route("/indexes", index_endpoints.listed, methods=["GET"]),
    Route("/indexes/{name}", index_endpoints.get, methods=["GET"]),
    Route("/indexes/{name}", index_endpoints.put, methods=["PUT"]),
    Route("/indexes/{name}", index_endpoints.remove, methods=["DELETE"]),
    Route("/saved-queries", saved_query_endpoints.listed, methods=["GET"]),
    Route("/saved-queries/{name}", saved_query_endpoints.get, methods=["GET"]),
    Route("/saved-queries/{name}", saved_query_endpoints.put, methods=["PUT"]),
    Route("/saved-queries/{name}", saved_query_endpoints.text, methods=["POST"]),
    Route("/saved-queries/{name}", saved_query_endpoints.remove, methods=["DELETE"]),
    Route("/sources", content_endpoints.sources, methods=["GET"]),
    Route("/sources/{name}", content_endpoints.change_source, methods=["POST"]),
    Route("/stats", content_endpoints.stats, methods=["GET"]),
    Route("/status", content_endpoints.status, methods=["GET"]),
    Route("/costs", content_endpoints.costs, methods=["GET"]),
    Route("/plugins", content_endpoints.plugins, methods=["GET"]),
    Route("/conversations", content_endpoints.conversations, methods=["GET"]),
    Route("/receipts", content_endpoints.receipts, methods=["GET"]),
    Route("/profile", content_endpoints.profile, methods=["GET"]),
    Route("/profile", content_endpoints.keep_profile, methods=["POST"]),
    Route("/tree", content_endpoints.tree, methods=["GET"]),
    Route("/why", reasoning_endpoints.why, methods=["POST"]),
    Route("/reason", reasoning_endpoints.reason, methods=["POST"]),
    Route("/vacuum", document_endpoints.vacuum, methods=["POST"]),
)
