"""What a method declares about itself, in one place: kinds of graph, vector spaces, build options, its README row.

A method's package holds one ``MethodDeclaration`` and registers it as an entry point of the group ``kgrag.methods``
(``kgrag.plugins``). From the declarations follow the vector spaces, what ``forget`` does to each graph, the shape of
the catalogue, the options of ``kgrag build METHOD``, the labels of the web pages and the README's table of methods.

Importing a declaration must be quick: the method's class is named by a string and imported when it is first used.

>>> MethodDeclaration(name="hippo", implementation="kgrag_hippo.method:Hippo", label="facts by walk").graph_kinds
()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyoxigraph as ox

__all__ = [
    "DEFAULT_METHOD",
    "SHARE_HELP",
    "GraphKind",
    "MethodDeclaration",
    "NoOptions",
    "VectorSpace",
    "option",
    "table_of_methods",
]


DEFAULT_METHOD = "auto"
"""The method that is asked where none is named."""

SHARE_HELP = "Share of the chunks that the model is asked about, above 0: those that speak most of the ontologies."
"""The help of a build option ``share``, which ``kgrag.mapping.Triage`` takes."""


@dataclass(frozen=True, slots=True)
class GraphKind:
    """A kind of named graph.

    Args:
        iri: its class; a plug-in uses a namespace of its own.
        label: two or three words, lower case: "tree graph".
        comment: one sentence for an ontologist.
        shape: name of the file of its shapes in ``shapes/graphs``, a plug-in's with prefix ("hippo:fact" is
            ``shapes/graphs/fact.ttl`` of its package); "" = none but the catalogue's.
        when_source_goes: what ``forget`` does when what the graph was derived from (``prov:wasDerivedFrom`` of its
            catalogue entry) is deleted. "drop_if_all" drops the graph once all its sources are gone, "drop_if_any" once
            one is; "trim" never drops it; "stale" never drops it, and marks it for the method's next build. Whatever
            stays loses its statements about what is gone.
        lists_only: its statements are no evidence of their own: what only such graphs describe is gone with its source.
        subject_goes: a subject that refers to something gone goes too, with all that is stated about it.
        holds_facts: it states facts in the terms of an ontology; queries that a model writes are run over it, and
            it may contain instances of any class.
        counted: it is written in one piece, so its catalogue entry has to state the number of its triples.
        homes_of: classes whose instances belong in graphs of this kind and in no other (audit check KG-11).
    """

    iri: ox.NamedNode
    label: str
    comment: str
    shape: str = ""
    when_source_goes: Literal["drop_if_all", "drop_if_any", "trim", "stale"] = "drop_if_all"
    lists_only: bool = False
    subject_goes: bool = False
    holds_facts: bool = False
    counted: bool = True
    homes_of: tuple[ox.NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """A kind of embedded text.

    Args:
        name: letters, digits and ``-``; a plug-in's begins with the name of its method.
        kind: the kind of graph that holds the texts.
        query: the stored query that lists what is embedded (``?iri``). One with a parameter ``texts`` returns so many
            at most with their texts (``?iri ?text``), unless that is 0: a small new space is then read in one request.
        label: what is embedded, for a person: "keys of hypernodes".
        texts: the stored query that returns the text of each (``?iri ?text``).
        content_named: an IRI is made of its text, so that a known key never needs embedding again.
        on_demand: it belongs to one method, and exists once that is built.
        tree: name of the summary tree that holds the texts, where the query asks for one.
        new: the stored query that lists what came with some publications (``?iri``), so that what is there already need
            not be listed; "" for none. It needs ``count``.
        count: the stored query that counts what belongs in the space, in one row.
    """

    name: str
    kind: ox.NamedNode
    query: str
    label: str = ""
    texts: str = "spaces/texts"
    content_named: bool = True
    on_demand: bool = False
    tree: str = ""
    new: str = ""
    count: str = ""


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a method whose ``build`` has none of its own."""


def option(default: Any = None, *, help: str, flag: str = "") -> Any:  # noqa: A002 - as typer and argparse call it
    """Return a field of a dataclass of build options.

    Args:
        default: the value when the option is not set.
        help: one line for ``kgrag build METHOD --help``.
        flag: the option's name on the command line; default: the field's name with hyphens.
    """
    return field(default=default, metadata={"help": help, "flag": flag})


@dataclass(frozen=True, slots=True)
class MethodDeclaration:
    """A retrieval method.

    Args:
        name: on the command line, in Python and over HTTP.
        implementation: ``module:Class``; the class fulfils ``kgrag.ports.Method``.
        label: what it retrieves in three to five words, for the web pages.
        retrieves: the same in a sentence, for the README.
        needs: what has to be there before it can be asked.
        paper: where it is published.
        graph_kinds: the kinds of graph that it introduces.
        also_writes: further kinds that its ``build`` writes, of the platform or of another method.
        vector_spaces: the spaces that it introduces.
        build_prompts: the prompts that only its ``build`` asks; what they cost is planned for more documents.
        options: a frozen dataclass of the options of ``build``, each field made by ``option``.
        example: options with which the demonstration's world is built; paths are below ``kgrag/demo``.
    """

    name: str
    implementation: str
    label: str
    retrieves: str = ""
    needs: str = ""
    paper: str = ""
    graph_kinds: tuple[GraphKind, ...] = ()
    also_writes: tuple[ox.NamedNode, ...] = ()
    vector_spaces: tuple[VectorSpace, ...] = ()
    build_prompts: tuple[str, ...] = ()
    options: type = NoOptions
    example: Mapping[str, str] = field(default_factory=dict)


def table_of_methods(declared: Iterable[MethodDeclaration]) -> str:
    """Return the README's table of methods, in Markdown; the default comes first, then ``passages``, the baseline."""
    first = (DEFAULT_METHOD, "passages")
    ordered = sorted(declared, key=lambda method: (*(method.name != name for name in first), method.name))
    rows = [f"| `{each.name}` | {each.retrieves} | {each.needs} | {each.paper} |" for each in ordered]
    return "\n".join(["| name | what it retrieves | needs | paper |", "|---|---|---|---|", *rows]) + "\n"
