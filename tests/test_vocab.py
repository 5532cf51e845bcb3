"""Vocabularies as attributes."""

import pytest

from kgrag import vocab
from kgrag.vocab import KG

NAMESPACES = [each for each in vars(vocab).values() if isinstance(each, type(KG))]


def test_every_term_is_an_attribute_and_hides_nothing() -> None:
    assert len(NAMESPACES) > 9
    for namespace in NAMESPACES:
        terms = namespace.all()
        assert {name: getattr(namespace, name) for name in terms} == terms
        assert all(term.value == namespace.prefix + name for name, term in terms.items())


def test_a_misspelt_term_is_an_error() -> None:
    with pytest.raises(AttributeError, match="#pubication is not a term that kgrag uses"):
        _ = KG.pubication
