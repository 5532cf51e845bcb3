"""The JSON API: what commands do, over HTTP, with an OpenAPI document.

======================  ====================================================================
module                  what it contains
======================  ====================================================================
``json_endpoints``      ``/ask``, ``/retrieve``, ``/check``, ``/audit``; reads JSON strictly
``document_endpoints``  ``/documents``, ``/build``, ``/jobs``
``json_schemas``        what is taken and returned, as pydantic models
``openapi``             ``/openapi.json``
======================  ====================================================================
"""

from __future__ import annotations

from starlette.routing import Route

from kgrag.server.api import document_endpoints, json_endpoints
from kgrag.server.api.openapi import openapi

__all__ = ["ROUTES"]

ROUTES = (
    Route("/ask", json_endpoints.ask, methods=["POST"]),
    Route("/retrieve", json_endpoints.retrieve, methods=["POST"]),
    Route("/check", json_endpoints.check, methods=["POST"]),
    Route("/audit", json_endpoints.audit, methods=["POST"]),
    Route("/documents", document_endpoints.post, methods=["POST"]),
    Route("/documents/{id:path}", document_endpoints.put, methods=["PUT"]),
    Route("/documents/{id:path}", document_endpoints.delete, methods=["DELETE"]),
    Route("/documents/{id:path}", document_endpoints.get, methods=["GET"]),
    Route("/build/{method}", document_endpoints.build, methods=["POST"]),
    Route("/jobs/{id}", document_endpoints.job, methods=["GET"]),
    Route("/openapi.json", openapi, methods=["GET"]),
)
