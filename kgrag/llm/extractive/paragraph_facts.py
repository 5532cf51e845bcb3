"""Instances and triples of numbered paragraphs: fulfils ``poly_rag/facts``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kgrag.llm.extractive.instances import instances
from kgrag.llm.extractive.triples import triples
from kgrag.text.sentences import content_words

__all__ = ["facts"]

_STEM_LETTERS = 5


def facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """List things of the classes that have each attribute, and triples, with the numbers of their paragraphs.

    A paragraph without any has an empty thing.
    """
    things: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    classes = variables["slice"]["classes"]
    attributes = dict.fromkeys(
        (str(term["label"]), str(term["range_label"])) for concept in classes for term in concept["properties"]
    )
    for paragraph in variables["paragraphs"]:
        number, text = paragraph["number"], str(paragraph["text"])
        for subject, label, value in instances(attributes, text):
            stated = [{"attribute": label, "value": value}]
            things += [
                {"paragraph": number, "name": subject, "class": name, "attributes": stated}
                for name in _classes_with(label, classes, text)
            ]
        if variables["triples"]:
            found += [{"paragraph": number, **triple} for triple in triples(str(variables["title"]), text)]
        if not any(entry["paragraph"] == number for entry in (*things[-1:], *found[-1:])):
            things.append({"paragraph": number, "name": "", "class": "", "attributes": []})
    return {"things": things, "triples": found}


def _classes_with(label: str, classes: Iterable[Mapping[str, Any]], text: str) -> list[str]:
    """Return the classes that have an attribute: as their own, or by inheritance where the text names the class."""
    words = _stems(text)
    owners = [
        str(concept["label"])
        for concept in classes
        for term in concept["properties"]
        if term["label"] == label and (term["own"] or _stems(concept["label"]) <= words)
    ]
    return owners or ["Thing"]


def _stems(text: str) -> set[str]:
    return {word[:_STEM_LETTERS] for word in content_words(text) if len(word) > 2}
