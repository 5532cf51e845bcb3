"""Steps of a property path, as ``kgrag.sparql.select_levels`` writes them one by one."""

from __future__ import annotations

from dataclasses import dataclass

from kgrag.sparql.tokens import tokens
from kgrag.vocab import RDF

__all__ = ["PathStep", "excluded_properties"]


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path; ``excluded`` are the properties that ``!`` names, all in the direction of the step.

    ``repeats``: the engine finds it once for each graph, or for each property.
    """

    text: str
    repeats: bool
    is_inverse: bool
    excluded: tuple[str, ...] = ()


def excluded_properties(text: str) -> tuple[tuple[str, ...], set[str]]:
    """Return the properties of ``!(…)``, and the directions that they have: "" and "^"."""
    found, kinds, mark = [], set(), ""
    for token in tokens(text):
        if token.kind == "^":
            mark = "^"
        elif token.kind in ("iri", "name", "word"):
            found.append(str(RDF.type) if token.kind == "word" else token.text)
            kinds.add(mark)
            mark = ""
    return tuple(found), kinds
