"""A passage of several short sections is shown with all of their headings, and a quote is about that of its own."""

import json

import pytest

from kgrag import KnowledgeBase
from kgrag.answering.cited_answers import PROMPT, answer
from kgrag.model import Answer, Chunk, Document, Hit, Span
from kgrag.testing import ScriptedModel
from kgrag.text import documents

UPPER, LOWER = "Opens at 3 bar.\n", "Opens at 5 bar."
TEXT = UPPER + LOWER


def ask(sentence: str, quote: str) -> tuple[Answer, str]:
    kb = KnowledgeBase()
    breaks = ((len(UPPER), "Manual > Gates > Osk Sluice"),)
    chunk = Chunk(TEXT, 0, len(TEXT), 0, 1, heading="Manual > Gates > Elm Sluice", heading_breaks=breaks)
    document = Document(TEXT, "Canal")
    kb.store.publish([documents.document_draft(document, [chunk], names=kb.store.names)])
    iri = documents.document_iri(document, kb.store.names)
    span = Span(kb.store.names.chunk(iri, 0, len(TEXT)).value, iri.value, 0, len(TEXT))
    hit = Hit(span.chunk, "passage", TEXT, 1.0, (span,), {"title": "Canal", "heading": chunk.heading})
    rows = [{"text": sentence, "citations": [{"evidence": 1, "quote": quote}]}]
    model = ScriptedModel({PROMPT: json.dumps({"unknown": False, "sentences": rows})})
    found = answer("When does it open?", [hit], model=model, store=kb.store, method="passages")
    return found, model.prompts[0].text


def test_the_prompt_shows_the_headings_of_all_sections_of_a_passage() -> None:
    _, prompt = ask("It opens at 5 bar.", LOWER)
    assert "(Canal / Manual > Gates > Elm Sluice; then: Osk Sluice)" in prompt


@pytest.mark.parametrize(
    ("sentence", "quote", "is_kept"),
    [
        ("At the Osk Sluice it opens at 5 bar.", LOWER, True),
        ("At the Elm Sluice it opens at 3 bar.", UPPER.strip(), True),
        ("At the Osk Sluice it opens at 3 bar.", UPPER.strip(), False),
    ],
)
def test_a_sentence_may_name_the_section_that_its_quote_is_in(sentence: str, quote: str, is_kept: bool) -> None:
    found, _ = ask(sentence, quote)
    assert found.unknown != is_kept
