"""The data graph: what the data have of the constants, properties and classes of one query.

The store is asked for a fact once, and the answer is remembered until the store changes. Data may be large: every
question is an ASK that ends at its first match.

===================  ================================================================================================
statement            meaning
===================  ================================================================================================
``check:absent``     a node -> a constant that is in neither data nor ontology; ``check:instead``: the one value of its
                     property that has the same text, with another datatype, language or case
``check:unused``     property -> a class of which no instance has it, though the class has instances
``check:repeats``    aggregate -> how its result differs with each value once; ``check:remedy``: what to write
``check:instances``  class -> "none", or "subclasses" when only subclasses of it have instances
===================  ================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag.model import Term as ModelTerm
from kgrag.ports import TripleStore
from kgrag.queries import bind
from kgrag.querying.data_profile import DataProfile, profile_of
from kgrag.querying.ontology_check.ontology_graph import CLASSES, PROPERTIES, QueryTerms
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.sparql.syntax import Query, Term
from kgrag.vocab import CHECK, RDF

__all__ = ["DATA", "DataView", "data_graph"]

Rows = tuple[tuple[ModelTerm | None, ...], ...]
Constant = ox.NamedNode | ox.Literal
_MIN_TOGETHER = 2
DATA = ox.NamedNode("urn:kgrag:check:data")


@dataclass(slots=True)
class DataView:
    """Asks a store and remembers the answers until its revision changes.

    ``run`` returns the rows of a query over the facts, with a limit on time, and None for one that failed; without it,
    nothing that takes running the query is checked.
    """

    store: TripleStore
    run: Callable[[str], Rows | None] | None = None
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict)
    _rows: dict[str, Rows | None] = field(default_factory=dict)
    _revision: int = -1

    def profile(self) -> DataProfile:
        """Return what the data have, as they are now."""
        return profile_of(self.store)

    def rows(self, sparql: str) -> Rows | None:
        """Return the rows of a query over the facts; None when it cannot be run."""
        self._forget_what_changed()
        if sparql not in self._rows:
            self._rows[sparql] = self.run(sparql) if self.run else None
        return self._rows[sparql]

    def _forget_what_changed(self) -> None:
        if self._revision != self.store.revision:
            self._answers.clear()
            self._rows.clear()
            self._revision = self.store.revision

    def ask(self, question: str, /, **values: Any) -> bool:
        """Ask a stored query of ``obqc_data``."""
        self._forget_what_changed()
        key = _key(question, values)
        if key not in self._answers:
            self._answers[key] = self.store.ask(bind(f"obqc_data/{question}", **values))
        return self._answers[key]

    def ask_together(self, terms: Sequence[Constant], classes: Sequence[str], uses: Iterable[tuple[str, str]]) -> None:
        """Ask in one request what ``occurs``, ``instances`` and ``subject_typed`` are about to be asked of these."""
        self._forget_what_changed()
        nodes = [term for term in terms if isinstance(term, ox.NamedNode)]
        owned = [(ox.NamedNode(used), ox.NamedNode(name)) for used, name in uses]
        questions: list[tuple[str, dict[str, Any]]] = [
            *(("occurs", {"term": term}) for term in terms),
            *(("described", {"term": term}) for term in nodes),
            *(("has_instance", {"classes": [ox.NamedNode(name)]}) for name in classes),
            *(("subject_typed", {"p": used, "class": name}) for used, name in owned),
        ]
        if len(questions) < _MIN_TOGETHER or all(_key(*each) in self._answers for each in questions):
            return
        text = bind(
            "obqc_data/together",
            objects=list(terms),
            subjects=nodes,
            classes=[ox.NamedNode(name) for name in classes],
            properties=[used for used, _ in owned],
            owners=[name for _, name in owned],
        )
        true = {int(number) for (number,) in self.store.select(text).values()}
        self._answers |= {_key(*question): place in true for place, question in enumerate(questions)}

    def occurs(self, term: ox.NamedNode | ox.Literal) -> bool:
        """Return whether a term is the object of any triple, an IRI also the subject."""
        return self.ask("occurs", term=term) or (isinstance(term, ox.NamedNode) and self.ask("described", term=term))

    def spelt(self, p: ox.NamedNode, text: str) -> list[ox.Literal]:
        """Return the values of a property that have a text, exactly or else in another case or with a time."""
        self._forget_what_changed()
        query = bind("obqc_data/spelt", p=p, text=ox.Literal(text))
        if query not in self._rows:
            self._rows[query] = tuple(self.store.select(query).rows)
        values = [value for (value,) in self._rows[query] or () if isinstance(value, ox.Literal)]
        return [value for value in values if value.value == text] or values

    def instances(self, index: OntologyIndex, name: str) -> str:
        """Return "some", "subclasses" when only subclasses have instances, or "none"."""
        if self.ask("has_instance", classes=[ox.NamedNode(name)]):
            return "some"
        below = sorted(index.descendants(name) - {name})
        return "subclasses" if below and self.ask("has_instance", classes=[*map(ox.NamedNode, below)]) else "none"


def data_graph(
    view: DataView, index: OntologyIndex, query: Query, terms: QueryTerms, *, ignored: tuple[str, ...] = ()
) -> list[ox.Quad]:
    """Return the data graph of one query; IRIs that start with one of ``ignored`` are left out."""
    constants, uses = _constants(query), _typed_uses(query)
    known = {
        term
        for term in constants
        if (isinstance(term, ox.NamedNode) and (term.value in index.mentioned or term.value in CLASSES | PROPERTIES))
        or term.value.startswith(ignored)
    }
    named = [name for name in terms.classes if name not in CLASSES and not name.startswith(ignored)]
    view.ask_together([term for term in constants if term not in known], named, uses)
    quads = []
    for number, (term, predicate) in enumerate(constants.items()):
        if term not in known and not view.occurs(term):
            node = ox.NamedNode(f"urn:kgrag:check:absent:{number:06}")
            quads.append(ox.Quad(node, CHECK.absent, term, DATA))
            if isinstance(term, ox.Literal) and isinstance(predicate, ox.NamedNode):
                spelt = view.spelt(predicate, term.value)
                quads += [ox.Quad(node, CHECK.instead, value, DATA) for value in spelt if len(spelt) == 1]
    counted = {name: view.instances(index, name) for name in named}
    for name, found in counted.items():
        if found != "some":
            quads.append(ox.Quad(ox.NamedNode(name), CHECK.instances, ox.Literal(found), DATA))
    for used, name in uses:
        about = {"p": ox.NamedNode(used), "class": ox.NamedNode(name)}
        if counted.get(name) == "some" and not view.ask("subject_typed", **about):
            quads.append(ox.Quad(ox.NamedNode(used), CHECK.unused, ox.NamedNode(name), DATA))
    return quads


def _key(question: str, values: Mapping[str, Any]) -> tuple[str, str]:
    return question, repr(sorted(values.items(), key=lambda item: item[0]))


def _constants(query: Query) -> dict[Constant, Term]:
    """Return the constants that are subject or object, each with a predicate; classes and schema terms are left out."""
    constants: dict[Constant, Term] = {}
    for pattern in query.patterns:
        ends = [] if pattern.free_subject else [pattern.subject]
        if pattern.predicate != RDF.type and not pattern.free_object:
            ends.append(pattern.object)
        constants |= {end: pattern.predicate for end in ends if isinstance(end, ox.NamedNode | ox.Literal)}
    return constants


def _typed_uses(query: Query) -> dict[tuple[str, str], None]:
    """Return (property, class) for every subject that has both a type and another property, anywhere in the query."""
    types: dict[Term, list[str]] = {}
    for pattern in query.patterns:
        if pattern.predicate == RDF.type and isinstance(pattern.object, ox.NamedNode) and not pattern.free_ends:
            types.setdefault(pattern.subject, []).append(pattern.object.value)
    uses: dict[tuple[str, str], None] = {}
    for pattern in query.patterns:
        if isinstance(pattern.predicate, ox.NamedNode) and pattern.predicate != RDF.type and not pattern.free_subject:
            uses |= dict.fromkeys((pattern.predicate.value, name) for name in types.get(pattern.subject, ()))
    return uses
