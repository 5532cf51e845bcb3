"""The endpoint ``/proposals``: what a method proposes for the ontology, and what people decide about it."""

from __future__ import annotations

from typing import Any, Literal

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kgrag.capabilities import Proposes, capable
from kgrag.http_api.write_schemas import DecisionsRequest, ProposalsParameters
from kgrag.knowledge_base import KnowledgeBase
from kgrag.server.api.json_endpoints import read_body
from kgrag.server.api.request_parameters import read_parameters
from kgrag.server.api.write_steps import write_record, written_alone
from kgrag.server.server_state import state_of, workers_of

__all__ = ["decide", "draw", "listed"]

_Decision = Literal["accepted", "rejected", "open"]


async def listed(request: Request) -> Response:
    """Return the proposals of a method.

    Raises:
        Problem: 400.
        InvalidSettings: the method does not propose.
    """
    workers, method = workers_of(request), read_parameters(request, ProposalsParameters).method
    return JSONResponse(await workers.run(lambda: workers.alone(lambda: _proposals(workers.kb, method))))


async def decide(request: Request) -> Response:
    """Accept, reject or reopen proposals, and return all of them.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        UnknownName: there is no such proposal.
        InvalidSettings: the method does not propose.
    """
    record, workers = write_record(request, "proposals"), workers_of(request)
    body = await read_body(request, DecisionsRequest)
    decisions: tuple[tuple[_Decision, list[str]], ...] = (
        ("accepted", body.accept),
        ("rejected", body.reject),
        ("open", body.reopen),
    )

    def work() -> list[dict[str, Any]]:
        proposing = capable(workers.kb.method(body.method), Proposes, body.method)
        for decision, names in decisions:
            for name in names:
                proposing.decide(name, decision)
        workers.kb.store.flush()
        return _proposals(workers.kb, body.method)

    return JSONResponse(await written_alone(state_of(request), record, workers, work))


async def draw(request: Request) -> Response:
    """Propose anew, and return what was compared as an SVG; has no address of its own, a page of the workbench asks.

    Raises:
        Problem: 400, 401, 403, 413, 415, 422.
        InvalidSettings: the method does not propose, or too little is there to be drawn.
        NotBuilt: there is nothing to propose from.
    """
    record, workers = write_record(request, "proposals"), workers_of(request)
    method = (await read_body(request, ProposalsParameters)).method

    def work() -> str:
        drawn = capable(workers.kb.method(method), Proposes, method).proposals_picture()
        workers.kb.store.flush()
        return drawn

    picture = await written_alone(state_of(request), record, workers, work)
    return Response(picture, media_type="image/svg+xml")


def _proposals(kb: KnowledgeBase, method: str) -> list[dict[str, Any]]:
    proposing = capable(kb.method(method), Proposes, method)
    wordings = proposing.wordings()
    return [
        {
            "iri": each.iri,
            "label": each.label,
            "subject": each.subject,
            "predicate": each.predicate,
            "object": each.object,
            "weight": each.weight,
            "decision": each.decision,
            "layer": each.layer,
            "evidence": list(each.evidence),
            "wording": wordings.get(each.iri, ""),
        }
        for each in proposing.proposals()
    ]
