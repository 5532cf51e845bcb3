"""The command ``check``: where does a query depart from an ontology?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgrag.cli.options import JsonFormat, KbOption, is_iri, named_kb, open_kb
from kgrag.cli.printing import note, print_json
from kgrag.cli.query_results import read_sparql
from kgrag.errors import InputError

if TYPE_CHECKING:
    from kgrag.ports import TripleStore
    from kgrag.querying.ontology_check import Check, OntologyIndex

__all__ = ["register"]


class Profile(StrEnum):
    """Which rules are run."""

    DEFAULT = "default"
    PAPER = "paper"


class Head(StrEnum):
    """How bad a selected identifier is."""

    WARNING = "warning"
    ERROR = "error"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(check)


def check(
    query: Annotated[str, typer.Argument(help="A SPARQL file, - for standard input, or the query itself.")],
    ontology: Annotated[
        list[str] | None,
        typer.Option("--ontology", help="Ontology file, or IRI of a graph of the knowledge base; may be repeated."),
    ] = None,
    data: Annotated[
        list[Path] | None, typer.Option("--data", help="RDF file with data to look at; may be repeated.")
    ] = None,
    kb: KbOption = None,
    profile: Annotated[
        Profile, typer.Option("--profile", help="default, or exactly the eight rules of the OBQC paper.")
    ] = Profile.DEFAULT,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Folder with rules (*.rq) of your own.", show_default=False)
    ] = None,
    head: Annotated[Head, typer.Option("--head", help="How bad a selected identifier is.")] = Head.WARNING,
    allow_namespace: Annotated[
        list[str] | None, typer.Option("--allow-namespace", help="Terms of this namespace count as defined.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what is certain; what is left, the configured model may repair.")
    ] = False,
    question: Annotated[str, typer.Option("--question", help="With --repair: what the query is to answer.")] = "",
    format_: Annotated[JsonFormat, typer.Option("--format", help="text or one JSON document.")] = JsonFormat.TEXT,
) -> None:
    """Report where a query departs from an ontology, and from data with --data or --kb; exit code 1 on an error."""
    from kgrag.querying.ontology_check import Options

    text = read_sparql(query)
    options = Options(profile.value, rules, head.value, tuple(allow_namespace or ()))
    with _sources(ontology or [], data or [], named_kb(kb)) as sources:
        found, after = _checked(text, sources, options, repair=repair)
        repaired = after.query if after.query != text else None
        if repair and not after.valid:
            repaired = _by_the_model(after.query, question, ontology or [], named_kb(kb)) or repaired
    if format_ is JsonFormat.JSON:
        print_json({**found.to_json(), **({} if repaired is None else {"repaired": repaired})})
    else:
        _print(found, repaired)
    if not found.valid:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Sources:
    index: OntologyIndex
    data: TripleStore | None


def _by_the_model(text: str, question: str, ontologies: list[str], kb: Path | None) -> str | None:
    """Return a query as the configured model repaired it; None without a model, or when it found no valid one."""
    from kgrag.knowledge_base import KnowledgeBase
    from kgrag.settings import EXTRACTIVE, read_settings

    settings = read_settings()
    if settings.model == EXTRACTIVE:
        note("what is left needs a language model: set KGRAG_MODEL (and KGRAG_BASE_URL, KGRAG_API_KEY).")
        return None
    with KnowledgeBase(settings=settings) if kb is None else open_kb(kb, access="either") as opened:
        if kb is None:
            opened.load(*ontologies)
        asker: Any = opened.method("obqc:data=false" if kb is None else "obqc")
        outcome = asker.mended(text, question=question)
    for reason in () if outcome.known else outcome.reasons:
        note(f"not repaired: {reason}")
    return str(outcome.best.sparql) if outcome.known else None


def _checked(text: str, sources: _Sources, options: Any, *, repair: bool) -> tuple[Check, Check]:
    """Return the check of a query, and that of its mended form (the same one where nothing was mended)."""
    from kgrag.querying import ontology_check
    from kgrag.store.scratch import OxigraphScratch

    view = None if sources.data is None else ontology_check.DataView(sources.data)

    def once(asked: str) -> Check:
        return ontology_check.check(asked, sources.index, open_scratch=OxigraphScratch, data=view, options=options)

    found = once(text)
    return found, ontology_check.mended(found, once) if repair else found


def _print(found: Check, repaired: str | None) -> None:
    from kgrag.querying.ontology_check import as_text

    typer.echo(as_text(found))
    if repaired is not None:
        note("repaired:")
        typer.echo(f"\n{repaired}")


@contextmanager
def _sources(ontologies: list[str], data: list[Path], kb: Path | None) -> Iterator[_Sources]:
    """Open what is checked against: ontologies from files and graphs, data from files or the knowledge base."""
    from kgrag.querying import ontology_check
    from kgrag.vocab import Names

    files = [Path(name) for name in ontologies if not is_iri(name)]
    graphs = [name for name in ontologies if is_iri(name)]
    if kb is None:
        if graphs or not files:
            what = f"{graphs[0]} is a graph of a knowledge base" if graphs else "there is no ontology to check against"
            raise InputError(f"{what}. Give --ontology FILE, or --kb with an ontology in it.")
        yield _Sources(ontology_check.index_of_files(files, names=Names()), _data_store(data))
        return
    with open_kb(kb, access="read") as opened:
        yield _Sources(_index(opened.store, files, graphs), _data_store(data) or opened.store)


def _index(store: TripleStore, files: list[Path], graphs: list[str]) -> OntologyIndex:
    import pyoxigraph as ox

    from kgrag.querying import ontology_check

    if files and graphs:
        raise InputError("--ontology names a file and a graph. Load the file first (kgrag load), or name files only.")
    if files:
        return ontology_check.index_of_files(files, names=store.names)
    nodes = [ox.NamedNode(name) for name in graphs] or ontology_check.ontology_graphs(store)
    for node in nodes:
        if not store.described(node):
            raise InputError(f"there is no graph {node}. `kgrag query` with queries/catalogue/graphs lists them.")
    return ontology_check.index_of_graphs(store, nodes)


def _data_store(files: list[Path]) -> TripleStore | None:
    if not files:
        return None
    from kgrag.store.oxigraph import OxigraphStore
    from kgrag.store.rdf_files import read_rdf

    store = OxigraphStore.open(None)
    store.publish([draft for path in files for draft in read_rdf(path, names=store.names)])
    return store
