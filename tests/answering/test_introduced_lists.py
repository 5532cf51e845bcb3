"""A passage that ends where a list begins is shown with the list, which is the next passage, and cited from there."""

import json

from kgrag import KnowledgeBase
from kgrag.answering.cited_answers import PROMPT, answer
from kgrag.model import Answer, Chunk, Document, Hit, Span
from kgrag.testing import ScriptedModel
from kgrag.text import documents

LEAD = "The gates are tested each May. The test is void if one of these rules is broken:"
RULES = "The basin must be full.\nNo barge may weigh more than 90 tons."


def ask(first: str, *, shown: tuple[int, ...] = (0,)) -> tuple[Answer, str]:
    kb = KnowledgeBase()
    text = f"{first}\n{RULES}"
    chunks = [Chunk(first, 0, len(first), 0, 1), Chunk(RULES, len(first) + 1, len(text), 1, 1)]
    document = Document(text, "Manual")
    kb.store.publish([documents.document_draft(document, chunks, names=kb.store.names)])
    iri = documents.document_iri(document, kb.store.names)
    spans = [Span(kb.store.names.chunk(iri, one.start, one.end).value, iri.value, one.start, one.end) for one in chunks]
    hits = [Hit(spans[at].chunk, "passage", chunks[at].text, 1.0, (spans[at],)) for at in shown]
    quote = {"evidence": 1, "quote": "No barge may weigh more than 90 tons."}
    rows = [{"text": "No barge may weigh more than 90 tons.", "citations": [quote]}]
    model = ScriptedModel({PROMPT: json.dumps({"unknown": False, "sentences": rows})})
    found = answer("Which rules hold for the test?", hits, model=model, store=kb.store, method="passages")
    return found, model.prompts[0].text


def test_the_list_that_a_passage_introduces_is_shown_and_cited() -> None:
    found, prompt = ask(LEAD)
    assert RULES in prompt
    assert [one.quote for one in found.citations][-1].endswith("90 tons.")


def test_it_is_shown_once_where_it_was_found_itself() -> None:
    _, prompt = ask(LEAD, shown=(0, 1))
    assert prompt.count(RULES) == 1


def test_a_passage_that_ends_in_a_sentence_is_shown_alone() -> None:
    _, prompt = ask("The gates are tested each May.")
    assert RULES not in prompt
