"""The prompts that a person picks in an agent's program. Prompts read: ``agents/answer``, ``agents/sparql``."""

from __future__ import annotations

from starlette.requests import Request

from kgrag import prompting
from kgrag.errors import InputError, UnknownName
from kgrag.resources import closest
from kgrag.server.mcp.reading_tools import schema
from kgrag.server.mcp.tool_arguments import SchemaArguments

__all__ = ["PROMPTS", "prompt_text"]

PROMPTS = {
    "answer_with_citations": "Answer a question from the knowledge base, each sentence with its source",
    "write_sparql": "Write, check and run a SPARQL query for the loaded ontologies",
}
"""Name -> what it has the agent do; each takes a ``question``."""


async def prompt_text(request: Request, name: str, question: str) -> str:
    """Return the text of a prompt about a question.

    Raises:
        UnknownName: there is no such prompt.
        InputError: there is no question.
        Problem: 401, 403: a search for the classes and properties of a question costs money here.
    """
    if name not in PROMPTS:
        raise UnknownName(f"there is no prompt '{name[:100]}'. {closest(name, PROMPTS)}")
    if not question.strip():
        raise InputError(f"the prompt '{name}' needs a question. Pass it as the argument `question`.")
    if name == "answer_with_citations":
        return prompting.render("agents/answer", question=question).text
    found = await schema(request, SchemaArguments(about=question[:4000]))
    declarations, terms = found.get("prefixes", ""), found["terms"] or found["note"]
    return prompting.render("agents/sparql", question=question, declarations=declarations, slice=terms).text
