"""Documents in German and French are found, filtered, cited and answered from, beside English ones."""

import pytest

from kgrag import Document, KnowledgeBase
from kgrag.testing import HashEmbedder

PAGES = {
    "de": "Die Schlüssellänge eines Mitglieds muss mindestens 2048 Bit betragen. Das Werkzeug heißt gpg und ist frei.",
    "fr": "La clé d'un membre doit avoir au moins 2048 bits. L'outil s'appelle gpg et il est libre pour tous.",
    "en": "The ferry of the village leaves at noon. It takes the people of both sides over the river.",
}


@pytest.fixture(scope="module")
def kb():
    with KnowledgeBase(embedder=HashEmbedder()) as opened:
        opened.add_many([Document(text, title=f"Page {code}", id=code) for code, text in PAGES.items()])
        yield opened


@pytest.mark.parametrize(
    ("question", "document", "said", "value"),
    [
        ("Wie viele Bit muss die Schlüssellänge eines Mitglieds betragen?", "de", "mindestens 2048 Bit", "2048 Bit"),
        ("Combien de bits doit avoir la clé d'un membre ?", "fr", "au moins 2048 bits", "2048 bits"),
    ],
)
def test_a_question_is_answered_from_a_document_of_its_language(kb, question, document, said, value):
    assert kb.retrieve(question, k=1, method="passages:signal=bm25")[0].text.endswith(PAGES[document])
    answer = kb.ask(question)
    assert not answer.unknown and said in answer.text
    assert [one.text for one in answer.values] == [value]
    assert all(one.quote in PAGES[document] for one in answer.citations)


def test_that_there_is_no_answer_is_said_in_the_language_of_the_question(kb):
    assert kb.ask("Wer baute die Brücke über den Rhein?").text == "Die gefundenen Belege enthalten keine Antwort."
    assert kb.ask("Qui a construit le pont sur le Rhin ?").text == "Les passages trouvés ne contiennent pas de réponse."
    assert kb.ask("Who built the bridge?").text == "The evidence found does not carry an answer."


def test_documents_are_limited_to_a_language(kb):
    found = kb.documents(where={"dcterms:language": "de"})
    assert [one.id for one in found] == ["de"]
    assert {hit.text for hit in kb.retrieve("gpg", k=3, where={"dcterms:language": "fr"})} == {PAGES["fr"]}
