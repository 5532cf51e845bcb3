"""The JSON API: what the commands ask, retrieve, check and audit do, over HTTP, with an OpenAPI document.

==================  ====================================================================
module              what it contains
==================  ====================================================================
``json_endpoints``  ``/ask``, ``/retrieve``, ``/check``, ``/audit``; reads JSON strictly
``json_schemas``    what is taken and returned, as pydantic models
``openapi``         ``/openapi.json``
==================  ====================================================================
"""

from __future__ import annotations

from starlette.routing import Route

from kgrag.server.api import json_endpoints
from kgrag.server.api.openapi import openapi

__all__ = ["ROUTES"]

ROUTES = (
    Route("/ask", json_endpoints.ask, methods=["POST"]),
    Route("/retrieve", json_endpoints.retrieve, methods=["POST"]),
    Route("/check", json_endpoints.check, methods=["POST"]),
    Route("/audit", json_endpoints.audit, methods=["POST"]),
    Route("/openapi.json", openapi, methods=["GET"]),
)
