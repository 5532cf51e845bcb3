"""What kgrag wrote and a SPARQL update changed is said, since nothing vouches for it any more (KG-16)."""

import pytest

from kgrag import Document, KnowledgeBase
from kgrag.errors import InputError

PREFIXES = "PREFIX kg: <https://w3id.org/kgrag/ns#>\n"
BY_NAME = "DELETE {{ GRAPH <{0}> {{ ?a kg:text ?t }} }} INSERT {{ GRAPH <{0}> {{ ?a kg:text 'Adolf is.' }} }}"
BY_NAME += " WHERE {{ GRAPH <{0}> {{ ?a a kg:Answer ; kg:text ?t }} }}"
BY_VARIABLE = "DELETE { GRAPH ?g { ?a kg:text ?t } } INSERT { GRAPH ?g { ?a kg:text 'Adolf is.' } }"
BY_VARIABLE += " WHERE { GRAPH ?g { ?a a kg:Answer ; kg:text ?t } }"


@pytest.fixture
def answered(kb: KnowledgeBase) -> None:
    """Keep an answer, and data of somebody's own."""
    kb.add(Document("Quendolyn manages the bee census.", id="1"))
    kb.update("INSERT DATA { GRAPH <urn:d> { <urn:a> <urn:p> 1 } }")
    kb.keep(kb.ask("Who manages the bee census?", method="passages"))


def said(kb: KnowledgeBase) -> list[str]:
    found = kb.audit(profile="kg")
    assert found.counts["Violation"] == 0
    return [finding.message for finding in found.findings if finding.check == "KG-16"]


@pytest.mark.usefixtures("answered")
@pytest.mark.parametrize("update", [BY_NAME, BY_VARIABLE])
def test_an_answer_that_an_update_falsified_is_named(kb: KnowledgeBase, update: str) -> None:
    assert said(kb) == []
    (graph,) = {row[0] for row in kb.query("SELECT ?g { GRAPH ?g { ?a a kg:Answer } }").values()}
    by_name = update is BY_NAME
    kb.update(PREFIXES + (update.format(graph) if by_name else update), own_graphs=not by_name)
    kb.update(
        "DELETE { GRAPH ?g { ?s <urn:p> 1 } } INSERT { GRAPH ?g { ?s <urn:p> 2 } } WHERE { GRAPH ?g { ?s <urn:p> 1 } }"
    )
    (message,) = said(kb)
    assert f"{graph} (kg:AnswerGraph) was changed by the SPARQL update that is change" in message
    assert [(each.check, each.fault) for each in kb.doctor()] == [("updates", False)]
    kb.add(Document("Rye is cut in July.", id="2"))  # and what kgrag writes afterwards hides nothing
    assert said(kb) == [message]


@pytest.mark.usefixtures("answered")
def test_an_update_that_writes_to_the_catalogue_is_refused(kb: KnowledgeBase) -> None:
    before = kb.store.revision
    for text in (
        "CLEAR GRAPH <{0}>",
        "DELETE WHERE {{ GRAPH <{0}> {{ ?s ?p ?o }} }}",
        "WITH <{0}> DELETE {{ ?s ?p ?o }} WHERE {{ ?s ?p ?o }}",
    ):
        with pytest.raises(InputError, match="which kgrag keeps itself"):
            kb.update(text.format(kb.store.names.catalogue.value))
    assert kb.store.revision == before


@pytest.mark.usefixtures("answered")
def test_what_kgrag_itself_changes_is_no_update(kb: KnowledgeBase) -> None:
    kb.add(Document("Rosa manages the bee census.", id="1"))
    kb.add(Document("Rye is cut in July.", id="2"))
    kb.build("cg_rag")
    kb.remove("2")
    assert said(kb) == []
