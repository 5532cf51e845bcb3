"""What a check asks of the data: the same answers together as one by one, and few requests."""

import pyoxigraph as ox
import pytest

from kgrag.querying.ontology_check import DataView
from tests.querying.ontology_check.checks import checked, store

NS = "http://example.org/insurance#"
TERMS = [
    ox.NamedNode(f"{NS}b1"),
    ox.NamedNode(f"{NS}p1"),
    ox.NamedNode(f"{NS}nobody"),
    ox.Literal("7"),
    ox.Literal("8"),
]
CLASSES = [f"{NS}{name}" for name in ("Policy", "Holder", "Broker")]
USES = [
    (f"{NS}{used}", f"{NS}{name}") for used in ("policyNumber", "agentId") for name in ("Policy", "Broker", "Claim")
]


def test_questions_that_are_asked_together_have_the_answers_that_they_have_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone, together = DataView(store()), DataView(store())
    together.ask_together(TERMS, CLASSES, USES)
    monkeypatch.setattr(together.store, "ask", lambda query: pytest.fail(f"asked again: {query}"))
    for view in (alone, together):
        assert [view.occurs(term) for term in TERMS] == [True, True, False, True, False]
        assert [view.ask("has_instance", classes=[ox.NamedNode(name)]) for name in CLASSES] == [True, False, True]
        uses = [view.ask("subject_typed", p=ox.NamedNode(used), **{"class": ox.NamedNode(of)}) for used, of in USES]
        assert uses == [True, True, False, False, True, False]


def test_a_check_asks_the_data_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data, asked = store(), list[str]()
    select, ask = data.select, data.ask
    monkeypatch.setattr(data, "select", lambda query: asked.append(query) or select(query))
    monkeypatch.setattr(data, "ask", lambda query: asked.append(query) or ask(query))
    query = 'SELECT ?p { ?p a :Policy ; :policyNumber "7" ; :soldByAgent :b1 . ?c a :Claim ; :against ?d . ?d :hasPolicy ?p }'
    assert checked(query, data=data).valid
    assert len(asked) == 1
