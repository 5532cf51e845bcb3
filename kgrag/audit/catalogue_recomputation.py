"""The catalogue and the provenance, computed again: what their entries say of each other and of the graphs they list.

An entry of a graph whose name kgrag made is compared with the declaration of its kind, with its sources, with the
activity that generated it, and with the changes of the store. What has no second account in the store (where a file
was read from) is not looked at.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

import pyoxigraph as ox

from kgrag import plugins
from kgrag.audit.account_recomputation import first_account
from kgrag.audit.stated_content import StatedNode, differing, fault, unless_missing
from kgrag.audit.step_input import Row
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.vocab import DCTERMS, KG, PROV, RDF, RDFS, SCHEMA_VERSION, Names, local_name

__all__ = ["activity_rows", "catalogue_rows"]

_WITH_PARAMETERS = (KG.CitationGraph, KG.DocumentGraph, KG.PropositionGraph, KG.TreeGraph, KG.TripleGraph)
_OF_ONE_SOURCE = (KG.LexicalGraph, KG.PropositionGraph)
_GENERATED = (KG.HyperedgeGraph, KG.PropositionGraph)
_DIGEST = late_re(r"[0-9a-f]{20}")
_CHANGES = (KG.Publication, KG.Rewrite)
_IN_TRANSIT = (KG.leaves, KG.yields)


@cache
def _method_of_kind() -> Mapping[Term, str]:
    """Return kind of graph -> the method that declares it."""
    return {kind.iri: name for name, method in plugins.methods().items() for kind in method.graph_kinds}


def catalogue_rows(entries: Mapping[Term, StatedNode], names: Names) -> Iterator[Row]:
    """Yield what is wrong with the catalogue's entries.

    Args:
        entries: what the catalogue states, by subject.
        names: of the knowledge base.
    """
    yield from unless_missing(_identity(entries, names))
    yield from _shared_places(entries.values())
    times = {plain(entry.iri): entry.all(DCTERMS.created) for entry in entries.values() if entry.is_a(*_CHANGES)}
    yield from _changes(entries, times, names)
    founded = min((time for written in times.values() for time in written), default="")
    for entry in entries.values():
        if plain(entry.iri).startswith(f"{names.base}build/"):
            yield from unless_missing(_build(entry, names, founded))
        elif plain(entry.iri).startswith(f"{names.base}source/"):
            yield from unless_missing(_source(entry, names, founded))
        elif KG.publication in entry.values:
            written = {time for change in entry.all(KG.publication) for time in times.get(change, ())}
            if written.isdisjoint(entry.all(DCTERMS.created)):
                yield fault(entry, DCTERMS.created, "was created at none of the times at which it was written")
            if plain(entry.iri).startswith(names.base):
                yield from unless_missing(_graph(entry, entries, names))


def _changes(entries: Mapping[Term, StatedNode], changes: Iterable[str], names: Names) -> Iterator[Row]:
    """Yield what is wrong with the changes of the store: numbers, the list of them, the lineage of the writer."""
    for name in changes:
        if entries[ox.NamedNode(name)].all(KG.revision) != [local_name(name)]:
            yield fault(name, KG.revision, "has another number than its name")
    if names.catalogue in entries and set(entries[names.catalogue].all(KG.publication)) != set(changes):
        yield fault(names.catalogue.value, KG.publication, "was written by other changes than the store had")
    if first_account(entries.values()) == 0:
        yield fault(names.catalogue.value, KG.lineage, "names no writer of the first change that has a checksum")


def _identity(entries: Mapping[Term, StatedNode], names: Names) -> Iterator[Row]:
    identified = [entry for entry in entries.values() if entry.is_a(KG.KnowledgeBase)]
    if [entry.iri for entry in identified] != [names.knowledge_base]:
        yield fault(names.knowledge_base.value, RDF.type, "is not the only knowledge base of its catalogue")
        return
    yield from differing(identified[0], KG.baseIRI, names.base, "the one of its names")
    if identified[0].number(KG.schemaVersion) > SCHEMA_VERSION:
        yield fault(identified[0], KG.schemaVersion, "has a newer schema than this kgrag knows")
    if names.catalogue in entries and not entries[names.catalogue].is_a(KG.CatalogueGraph):
        yield fault(names.catalogue.value, RDF.type, "is listed as something else than the catalogue")


def _shared_places(entries: Iterable[StatedNode]) -> Iterator[Row]:
    """Yield a row where two documents are read from one place, and none of them is on its way out."""
    at: dict[str, str] = {}
    for entry in entries:
        if not entry.is_a(KG.DocumentGraph) or any(name in entry.values for name in _IN_TRANSIT):
            continue
        for place in entry.all(KG.location):
            if (other := at.setdefault(place, plain(entry.iri))) != plain(entry.iri):
                yield fault(entry, KG.location, f"is read from the place of another document, {other}", place)


def _build(entry: StatedNode, names: Names, founded: str) -> Iterator[Row]:
    if not entry.is_a(KG.Build):
        yield fault(entry, RDF.type, "is the build of a method, and not listed as one")
    if entry.iri != names.build(entry.one(KG.method)):
        yield fault(entry, KG.method, "is the build of another method than its name")
    if (PROV.startedAtTime in entry.values) != (PROV.endedAtTime in entry.values):
        yield fault(entry, PROV.endedAtTime, "is listed with the beginning or the end of a build, not with both")
    if any(time < founded for time in entry.all(PROV.startedAtTime)):
        yield fault(entry, PROV.startedAtTime, "began before the knowledge base was made")
    # times are as the store writes them, in UTC to the second, and so in order as text
    if PROV.endedAtTime in entry.values and entry.one(PROV.startedAtTime) > entry.one(PROV.endedAtTime):
        yield fault(entry, PROV.endedAtTime, "ended before it began")


def _source(entry: StatedNode, names: Names, founded: str) -> Iterator[Row]:
    if not entry.is_a(KG.Source):
        yield fault(entry, RDF.type, "is a source of documents, and not listed as one")
    if entry.iri != names.mint("source", entry.one(DCTERMS.identifier)):
        yield fault(entry, DCTERMS.identifier, "is the source of another name than its IRI is made of")
    if any(time < founded for time in entry.all(DCTERMS.created)):
        yield fault(entry, DCTERMS.created, "was known before the knowledge base was made")


def _graph(entry: StatedNode, entries: Mapping[Term, StatedNode], names: Names) -> Iterator[Row]:
    method = _method_of_kind().get(next(iter(entry.values[RDF.type])))
    if method is not None and entry.all(KG.method) != [method]:
        yield fault(entry, KG.method, f"is of a kind that {method} makes, and not listed as made by it")
    if entry.is_a(*_WITH_PARAMETERS) and KG.parameters not in entry.values:
        yield fault(entry, KG.parameters, "is listed without the parameters that it was made with")
    if entry.is_a(*_OF_ONE_SOURCE) and len(entry.all(PROV.wasDerivedFrom)) != 1:
        yield fault(entry, PROV.wasDerivedFrom, "comes from one graph or chunk, and is listed with none or several")
    if entry.is_a(*_GENERATED) and PROV.wasGeneratedBy not in entry.values:
        yield fault(entry, PROV.wasGeneratedBy, "was generated, and no activity is named")
    if entry.is_a(*_WITH_PARAMETERS) and len(entry.all(KG.parameters)) > 1:
        yield fault(entry, KG.parameters, "is listed with the parameters of several makings")
    if not all(map(_is_digested(entry), entry.all(KG.parameters))):
        yield fault(entry, KG.parameters, "is listed with parameters that are no digests of what it was made from")
    yield from _of_chunk(entry, names)
    if entry.is_a(KG.AnswerGraph, KG.InferenceGraph) and KG.method not in entry.values:
        yield fault(entry, KG.method, "is listed without what made it")
    if entry.is_a(KG.HyperedgeGraph):
        yield from _hyperedge(entry, entries, names)


def _is_digested(entry: StatedNode) -> Callable[[str], bool]:
    """Return what tells whether the parameters of a graph are digests, where they have to be."""
    if entry.is_a(KG.CitationGraph):
        return lambda parameters: all(map(_DIGEST.fullmatch, parameters.split(" ")))
    return _is_tree_record if entry.is_a(KG.TreeGraph) else lambda _: True


def _is_tree_record(parameters: str) -> bool:
    try:
        record = json.loads(parameters)
        # a tree that lacks a summary is recorded without its settings
        return all(map(_DIGEST.fullmatch, [record["leaves"], *filter(None, [record["settings"]])]))
    except (KeyError, TypeError, ValueError):
        return False


def _of_chunk(entry: StatedNode, names: Names) -> Iterator[Row]:
    """Yield what is wrong with the entry of a graph of what one chunk states, for a layer of a pyramid."""
    of_instances = plain(entry.iri).startswith(f"{names.base}graph/instances/")
    if of_instances and entry.all(KG.layer) != ["ontology"]:
        yield fault(entry, KG.layer, "holds instances, and is not listed as of the ontology layer")
    if not of_instances and entry.all(KG.layer) != ["graph"]:
        return
    if len(entry.all(PROV.wasDerivedFrom)) != 1:
        yield fault(entry, PROV.wasDerivedFrom, "holds what one chunk states, and is listed with none or several")
    if not all(name in entry.values for name in (KG.method, KG.parameters, PROV.wasGeneratedBy)):
        yield fault(entry, KG.parameters, "is listed without what made it: method, parameters or activity")


def _hyperedge(entry: StatedNode, entries: Mapping[Term, StatedNode], names: Names) -> Iterator[Row]:
    """Compare a hyperedge with the assertions that it comes with: by the same activities, from the same documents."""
    sources = [ox.NamedNode(source) for source in entry.all(PROV.wasDerivedFrom)]
    assertions = [entries[source] for source in sources if source in entries]
    if not assertions:
        yield fault(entry, PROV.wasDerivedFrom, "comes from no graph of assertions")
        return
    activities = {activity for each in assertions for activity in each.all(PROV.wasGeneratedBy)}
    if activities != set(entry.all(PROV.wasGeneratedBy)):
        yield fault(entry, PROV.wasGeneratedBy, "was generated by another activity than its assertions")
    documents = {_document(source, names) for each in assertions for source in each.all(PROV.wasDerivedFrom)}
    for source in sources:
        if source not in entries and _document(source.value, names) not in documents:
            yield fault(entry, PROV.wasDerivedFrom, "comes from another document than its assertions", source.value)


def _document(source: str, names: Names) -> str:
    """Return the last part of the name of the document that a source is, or is a chunk of."""
    name = local_name(source)
    return name.rsplit("-", 2)[0] if source.startswith(f"{names.base}chunk/") else name


def _names_model(activity: StatedNode, model: str) -> bool:
    """Return whether an activity states a model by its identity, in its label where a service replied by another name.

    A service calls a model by the version that it runs, which its identity, as settings name it, need not contain.
    """
    stated = activity.all(KG.model)
    return not stated or model in stated or any(label.endswith(model) for label in activity.all(RDFS.label))


def activity_rows(
    activities: Mapping[Term, StatedNode], entries: Mapping[Term, StatedNode], names: Names
) -> Iterator[Row]:
    """Yield activities that do not agree with the graphs that they alone generated: method, model, what they used.

    Args:
        activities: what the provenance graph states, by subject.
        entries: what the catalogue states, by subject.
        names: of the knowledge base.
    """
    generated: dict[str, list[StatedNode]] = defaultdict(list)
    for entry in entries.values():
        for name in entry.all(PROV.wasGeneratedBy):
            generated[name].append(entry)
    for activity in activities.values():
        used = {_document(source, names) for source in activity.all(PROV.used)}
        for entry in generated.get(plain(activity.iri), ()):
            if len(entry.all(PROV.wasGeneratedBy)) == 1 and not set(entry.all(KG.method)) <= set(
                activity.all(KG.method)
            ):
                yield fault(activity, KG.method, f"is of another method than {plain(entry.iri)}")
            for parameters in entry.all(KG.parameters):
                model = parameters.removeprefix("model=").partition(",")[0]
                if parameters.startswith("model=") and not _names_model(activity, model):
                    yield fault(activity, KG.model, f"is of another model than {plain(entry.iri)}", model)
            sources = {_document(source, names) for source in entry.all(PROV.wasDerivedFrom)}
            if entry.is_a(KG.PropositionGraph, KG.TripleGraph) and used and sources and used.isdisjoint(sources):
                yield fault(entry, PROV.wasGeneratedBy, "was generated by an activity that used other documents")
