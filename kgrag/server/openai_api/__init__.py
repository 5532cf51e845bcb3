"""The API of OpenAI under ``/v1``: a method of the knowledge base is a model, its answers are cited completions.

=====================  =====================================================================
module                 what it contains
=====================  =====================================================================
``model_list``         ``/v1/models``; which method a model is
``chat_completions``   ``/v1/chat/completions``
``responses``          ``/v1/responses``
``embeddings``         ``/v1/embeddings``
``request_bodies``     what is taken, and what of it is refused
``written_answers``    a conversation to an answer: text, annotations, evidence, usage
``v1_operations``      describes all of it
``side_tasks``         titles and tags that chat programs ask for besides questions
=====================  =====================================================================
"""

from __future__ import annotations

from starlette.routing import Route

from kgrag.server.openai_api import chat_completions, embeddings, model_list, responses

__all__ = ["ROUTES"]

ROUTES = (
    Route("/v1/models", model_list.models, methods=["GET"]),
    Route("/v1/models/{name:path}", model_list.model, methods=["GET"]),
    Route("/v1/chat/completions", chat_completions.create, methods=["POST"]),
    Route("/v1/responses", responses.create, methods=["POST"]),
    Route("/v1/embeddings", embeddings.create, methods=["POST"]),
    Route("/v1/{rest:path}", model_list.unknown_address, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
)
