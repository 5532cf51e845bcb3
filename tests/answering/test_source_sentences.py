"""Quotes of what a model wrote are cited by the stored sentences that carry them, and those of passages as they are."""

import json
from pathlib import Path

import pytest

from kgrag import KnowledgeBase, shacl
from kgrag.answering.cited_answers import PROMPT, answer
from kgrag.answering.json_forms import answer_json
from kgrag.cli.printing import answer_text
from kgrag.methods.sire_rag.summary_trees import SummaryNode
from kgrag.methods.sire_rag.tree_drafts import chunk_tree_draft
from kgrag.model import Answer, Chunk, Document, Hit, Span
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.text import documents, ingestion

ZONES = (
    "In the Hill zone, sow varieties A 20-1 and A 20-2 at 55 kg per hectare; give 100 kg of P and 50 kg of S per hectare. "
    "In the Central zone, sow at 65 kg per hectare, and give 20 kg of S per hectare. "
    "The Southern zone sows at 65 kg per hectare, and gives 37.5 kg of S per hectare. "
    "The Eastern zone follows the Hill zone."
)


def reply(text: str, *quotes: tuple[int, str]) -> str:
    citations = [{"evidence": number, "quote": quote} for number, quote in quotes]
    return json.dumps({"unknown": False, "sentences": [{"text": text, "citations": citations}]})


def fill(kb: KnowledgeBase, **texts: str) -> dict[str, Span]:
    """Store each text as a document of one chunk, by its title."""
    spans = {}
    for title, text in texts.items():
        document, chunk = Document(text, title), Chunk(text, 0, len(text), 0, 1)
        kb.store.publish([documents.document_draft(document, [chunk], names=kb.store.names)])
        iri = documents.document_iri(document, kb.store.names)
        spans[title] = Span(kb.store.names.chunk(iri, 0, len(text)).value, iri.value, 0, len(text))
    return spans


def ask(kb: KnowledgeBase, said: str, *hits: Hit) -> Answer:
    found = answer("?", hits, model=ScriptedModel({PROMPT: said}), store=kb.store, method="og_rag")
    for citation in found.citations:
        whole = documents.document_text(kb.store, citation.document)
        assert citation.quote == whole[citation.start : citation.end]
    return found


def quotes(found: Answer) -> list[str]:
    return [citation.quote for citation in found.citations]


@pytest.fixture
def kb() -> KnowledgeBase:
    return KnowledgeBase()


def fact(zone: str, *pairs: str) -> str:
    return "; ".join(["crop name: Soybean", f"crop has zone zone name: {zone}", *pairs])


def derived(text: str, *sources: Span, kind: str = "summary") -> Hit:
    return Hit(f"urn:{kind}", kind, text, 1.0, sources)


# --- facts -----------------------------------------------------------------------------------------------------------


def test_a_value_that_stands_twice_is_cited_where_most_of_its_fact_stands(kb: KnowledgeBase) -> None:
    hit = derived(
        fact("Southern zone", "zone rate amount: 65 kg per hectare"), *fill(kb, z=ZONES).values(), kind="hyperedge"
    )
    found = ask(kb, reply("The rate in the Southern zone is 65 kg per hectare.", (1, "amount: 65 kg per hectare")), hit)
    assert quotes(found) == ["The Southern zone sows at 65 kg per hectare, and gives 37.5 kg of S per hectare."]


def test_values_of_one_fact_that_stand_together_are_cited_once_and_not_by_a_letter_of_another(
    kb: KnowledgeBase,
) -> None:
    pairs = ("zone fertilizer amount: 37.5 kg per hectare", "zone fertilizer nutrient: S")
    hit = derived(fact("Southern zone", *pairs), *fill(kb, z=ZONES).values(), kind="hyperedge")
    said = reply("The Southern zone needs 37.5 kg of sulphur.", (1, pairs[0]), (1, pairs[1]))
    assert quotes(ask(kb, said, hit)) == [
        "The Southern zone sows at 65 kg per hectare, and gives 37.5 kg of S per hectare."
    ]


def test_a_fact_that_two_sentences_state_together_is_cited_by_both(kb: KnowledgeBase) -> None:
    hit = derived(
        fact("Eastern zone", "zone rate amount: 55 kg per hectare"), *fill(kb, z=ZONES).values(), kind="hyperedge"
    )
    found = ask(kb, reply("Soybean in the Eastern zone: 55 kg per hectare.", (1, "amount: 55 kg per hectare")), hit)
    assert [quote[:14] for quote in quotes(found)] == ["In the Hill zo", "The Eastern zo"]


def test_a_key_alone_is_not_cited(kb: KnowledgeBase) -> None:
    hit = derived(fact("Hill zone"), *fill(kb, z=ZONES).values(), kind="hyperedge")
    assert ask(kb, reply("It has zones.", (1, "crop has zone zone name")), hit).unknown


# --- statements and summaries ----------------------------------------------------------------------------------------


def test_what_a_model_resolved_is_cited_by_the_sentence_and_the_one_that_names_its_subject(kb: KnowledgeBase) -> None:
    spans = fill(kb, lee="Ann Lee (1882 – 1952) was a singer. She sang in Hull. She was born in Bath and died in York.")
    hit = derived("Ann Lee was a singer. Ann Lee was born in Bath.", *spans.values(), kind="aggregate")
    found = ask(kb, reply("Ann Lee was born in Bath.", (1, "Ann Lee was born in Bath.")), hit)
    assert quotes(found) == ["Ann Lee (1882 – 1952) was a singer.", "She was born in Bath and died in York."]


def test_a_statement_that_draws_on_neighbouring_sentences_is_cited_by_them_as_one_span(kb: KnowledgeBase) -> None:
    text = "We studied sowing over six seasons. The best yield was 2.4 t per hectare. Later sowing lost 35 kg a day. Rain fell."
    hit = derived("In a six-season study, sowing late lost 35 kg of 2.4 t a day.", *fill(kb, s=text).values())
    found = ask(kb, reply("35 kg of 2.4 t.", (1, "In a six-season study, sowing late lost 35 kg of 2.4 t a day.")), hit)
    assert quotes(found) == [text.removesuffix(" Rain fell.")]


def test_words_of_a_model_that_no_sentence_carries_are_cited_with_the_chunks_as_what_they_are(
    kb: KnowledgeBase,
) -> None:
    spans = fill(kb, one="Ann Lee sang in Hull.", two="Bo Ek danced in York.")
    hit = derived("Two artists toured 40 towns.", *spans.values())
    found = ask(kb, reply("They toured 40 towns.", (1, "toured 40 towns")), hit)
    assert [citation.derived for citation in found.citations] == ["toured 40 towns"] * 2
    assert set(quotes(found)) == {"Ann Lee sang in Hull.", "Bo Ek danced in York."}
    assert {citation["derived"] for citation in answer_json(found)["citations"]} == {"toured 40 towns"}
    assert '"toured 40 towns"\n      words of a model, which no sentence carries' in answer_text(found)


def test_a_sentence_with_another_number_does_not_carry_a_statement(kb: KnowledgeBase) -> None:
    hit = derived("Ann Lee was born in 1882 in Bath.", *fill(kb, lee="Ann Lee was born in 1883 in Bath.").values())
    found = ask(kb, reply("Born in 1882.", (1, "Ann Lee was born in 1882 in Bath.")), hit)
    assert found.citations[0].derived == "Ann Lee was born in 1882 in Bath."


def test_an_answer_that_cites_words_of_a_model_is_kept_as_a_graph_that_conforms(kb: KnowledgeBase) -> None:
    hit = derived("Two artists toured 40 towns.", *fill(kb, one="Ann Lee sang in Hull.").values())
    kb.keep(ask(kb, reply("They toured.", (1, "toured 40 towns"), (1, "Two artists")), hit))
    assert [row[0] for row in kb.query("SELECT ?d WHERE { ?c kg:derived ?d } ORDER BY ?d").values()] == [
        "Two artists",
        "toured 40 towns",
    ]
    assert shacl.validate(kb.store, shacl.graph_shapes()) == []


# --- passages --------------------------------------------------------------------------------------------------------


def test_words_that_a_passage_repeats_are_cited_where_the_sentence_of_the_answer_points(kb: KnowledgeBase) -> None:
    (span,) = fill(kb, z=ZONES).values()
    said = reply("In the Southern zone, the rate is 65 kg per hectare.", (1, "65 kg per hectare"))
    (citation,) = ask(kb, said, Hit(span.chunk, "passage", ZONES, 1.0, (span,))).citations
    assert citation.start == ZONES.index("The Southern zone sows at 65 kg per hectare")


@pytest.mark.parametrize("quote", ["oybean", "S", "soy", "5 kg", "at"])
def test_a_part_of_a_word_or_number_or_a_stop_word_is_not_cited(kb: KnowledgeBase, quote: str) -> None:
    text = "Sow Soybean at 55 kg."
    (span,) = fill(kb, z=text).values()
    assert ask(kb, reply("S.", (1, quote)), Hit(span.chunk, "passage", text, 1.0, (span,))).unknown


def test_a_word_of_a_script_without_spaces_is_cited_with_its_sentence(kb: KnowledgeBase) -> None:
    text = "夏に大豆を蒔く。"
    (span,) = fill(kb, z=text).values()
    assert quotes(ask(kb, reply("大豆。", (1, "大豆")), Hit(span.chunk, "passage", text, 1.0, (span,)))) == [text]


# --- methods ---------------------------------------------------------------------------------------------------------

SINGERS = {
    "Ann Lee": ("Ann Lee was a singer. She was born in 1882 in Bath.", "Ann Lee was born in 1882 in Bath."),
    "Bo Ek": ("Bo Ek, from York (b. 1882), danced with Ann Lee.", "Bo Ek was born in 1882 in York; Bo Ek danced with Ann Lee."),
    "Cy Dee": ("Cy Dee wrote songs for Ann Lee until 1901.", "Cy Dee wrote songs for Ann Lee until 1901."),
}  # fmt: skip


def singers(said: str, summary: str = "") -> KnowledgeBase:
    """Build SiReRAG over three documents, each of one proposition that mentions Ann Lee."""

    def facts(prompt):
        text = SINGERS[prompt.variables["title"]][1]
        return json.dumps({"facts": [{"paragraph": 1, "fact": text, "entities": ["Ann Lee"]}]})

    replies = {"sire_rag/facts": facts, "sire_rag/summary": summary or "Three artists.", PROMPT: said}
    made = KnowledgeBase(model=ScriptedModel(replies), embedder=HashEmbedder())
    ingestion.ingest([Document(text, title) for title, (text, _) in SINGERS.items()], store=made.store)
    made.build("sire_rag")
    return made


def cited_titles(kb: KnowledgeBase, found: Answer) -> list[tuple[str, str]]:
    titles = documents.titles(kb.store, [citation.document for citation in found.citations])
    return [(titles[citation.document], citation.quote) for citation in found.citations]


def test_a_proposition_of_an_aggregate_is_cited_from_its_chunk_though_the_hit_names_another() -> None:
    kb = singers(reply("Cy Dee wrote songs until 1901.", (1, "Cy Dee wrote songs for Ann Lee until 1901.")))
    found = kb.ask("Where was Ann Lee born?", method="sire_rag:tree=relatedness,spans=1", k=5)
    assert [span.document for hit in found.hits for span in hit.sources] != [found.citations[0].document]
    assert cited_titles(kb, found) == [("Cy Dee", "Cy Dee wrote songs for Ann Lee until 1901.")]


@pytest.mark.parametrize("quote", ["was born in 1882", "was born in 1882 in York", "born in 1882"])
def test_what_a_proposition_says_is_not_cited_from_a_chunk_that_says_the_like_of_another(quote: str) -> None:
    kb = singers(reply("Bo Ek was born in 1882.", (1, quote)))
    assert cited_titles(kb, kb.ask("Who danced?", method="sire_rag:tree=relatedness", k=5)) == [
        ("Bo Ek", SINGERS["Bo Ek"][0])
    ]


def test_a_summary_is_cited_from_a_chunk_far_below_it_that_its_hit_does_not_name(kb: KnowledgeBase) -> None:
    spans = fill(kb, **{f"t{n}": f"Singer {n} was born in Bath in {1900 + n}. She sang." for n in range(30)})
    chunks = [spans[f"t{n}"].chunk for n in range(30)]
    halves = [
        SummaryNode(f"urn:s{n}", f"Singers of {1900 + 15 * n} and later.", 1, tuple(chunks[15 * n : 15 * n + 15]))
        for n in range(2)
    ]
    top = SummaryNode("urn:top", "Singer 27 was born in 1927, Singer 3 in 1903.", 2, ("urn:s0", "urn:s1"))
    kb.store.publish([chunk_tree_draft(chunks, [*halves, top], names=kb.store.names)])
    hit = Hit(top.iri, "summary", top.text, 1.0, (spans["t3"],))
    found = ask(kb, reply("Singer 27 was born in 1927.", (1, "Singer 27 was born in 1927")), hit)
    assert quotes(found) == ["Singer 27 was born in Bath in 1927."]


def test_linked_passages_are_cited_from_the_linked_chunk(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "title": "Dates", "text": "Sowing in June gave most.", "cites": ["b"]},
        {
            "id": "b",
            "title": "Monsoon",
            "text": "Sowing after 100 mm of rain avoided the loss of a third of the stand.",
        },
    ]
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = reply("Sow after 100 mm of rain.", (2, rows[1]["text"]))
    with KnowledgeBase(model=ScriptedModel({PROMPT: said}), embedder=HashEmbedder()) as kb:
        kb.ingest(tmp_path / "papers.jsonl")
        kb.build("cg_rag")
        assert cited_titles(kb, kb.ask("When is sowing in June best?", method="cg_rag", k=1)) == [
            ("Monsoon", "Sowing after 100 mm of rain avoided the loss of a third of the stand.")
        ]
