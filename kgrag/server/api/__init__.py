"""The JSON API: what commands do, over HTTP, with an OpenAPI document.

=======================  ====================================================================
module                   what it contains
=======================  ====================================================================
``json_endpoints``       ``/ask``, ``/retrieve``, ``/check``, ``/validate``, ``/audit``; reads JSON
``document_endpoints``   ``/documents``, ``/build``, ``/jobs``
``request_parameters``   reads the parameters of an address
``protocol_operations``  describes SPARQL, the Graph Store and the protocol of agents
=======================  ====================================================================
"""

from __future__ import annotations

from starlette.routing import Route

from kgrag.server.api import document_endpoints, json_endpoints

__all__ = ["ROUTES"]

ROUTES = (
    Route("/ask", json_endpoints.ask, methods=["POST"]),
    Route("/retrieve", json_endpoints.retrieve, methods=["POST"]),
    Route("/check", json_endpoints.check, methods=["POST"]),
    Route("/validate", json_endpoints.validate, methods=["POST"]),
    Route("/audit", json_endpoints.audit, methods=["POST"]),
    Route("/documents", document_endpoints.post, methods=["POST"]),
    Route("/documents/{id:path}", document_endpoints.put, methods=["PUT"]),
    Route("/documents/{id:path}", document_endpoints.delete, methods=["DELETE"]),
    Route("/documents/{id:path}", document_endpoints.get, methods=["GET"]),
    Route("/build/{method}", document_endpoints.build, methods=["POST"]),
    Route("/jobs/{id}", document_endpoints.job, methods=["GET"]),
)
