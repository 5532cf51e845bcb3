"""The extractive model: answers copied from the evidence, or unknown."""

import gzip
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.errors import UnsupportedTask
from kgrag.index.bm25 import LexicalIndex
from kgrag.llm.extractive import ExtractiveModel
from kgrag.mapping.factual_blocks import flatten, line
from kgrag.model import Prompt

PASSAGES = [
    "In the Hill Zone, chickpea is sown from 10 March to 25 March. In the River Zone it is sown from 1 to 20 April.",
    "The seeding rate of CP 12-4 is 80 kg per hectare, and the seeding rate of CP 30-1 is 95 kg per hectare.",
    "Agronomist Ida Vask leads the cooperative's trial station, which has compared varieties every year since 1998.",
]
FACTS = [
    "Crop name: Lentil; Crop has_zone Zone name: Hill Zone; Crop has_zone Zone has_seed SeedList variety_name: LT 7; "
    "Crop has_zone Zone has_seed SeedList has_seeding_rate Rate amount: 45 kg per hectare",
    "Crop name: Lentil; Crop has_zone Zone name: River Zone; Crop has_zone Zone has_seed SeedList variety_name: LT 7; "
    "Crop has_zone Zone has_seed SeedList has_seeding_rate Rate amount: 50 kg per hectare",
    "Crop name: Lentil; Crop storage_guidelines_are: Store below 15 °C; in airtight bags.; Crop pest: N/A",
    "Crop name: Lentil; Crop has_zone Zone name: Hill Zone; Crop has_zone Zone has_seed SeedList variety_name: LT 7; "
    "Crop has_zone Zone has_seed SeedList has_fertilizer_application Fertilization quantity: N/A",
]


def evidence(texts, kind="chunk", heading="", source=""):
    return [
        {"number": number, "kind": kind, "heading": heading, "text": text, "source": source}
        for number, text in enumerate(texts, start=1)
    ]


def ask(question, pieces):
    prompt = Prompt("answering/answer", "", {"question": question, "evidence": pieces, "boundary": "==="})
    completion = ExtractiveModel().complete([prompt])[0]
    assert json.loads(completion.text) == completion.data
    return completion.data


def texts(data):
    return [sentence["text"] for sentence in data["sentences"]]


def quotes(data):
    return [citation["quote"] for sentence in data["sentences"] for citation in sentence["citations"]]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When is chickpea sown in the Hill Zone?", "In the Hill Zone, chickpea is sown from 10 March to 25 March."),
        ("Who leads the trial station of the cooperative?", PASSAGES[2]),
        ("What is the seeding rate of CP 30-1?", PASSAGES[1]),
    ],
)
def test_the_sentence_that_covers_the_question_comes_first_word_by_word(question, expected):
    data = ask(question, evidence(PASSAGES))
    assert texts(data)[0] == expected
    assert quotes(data)[0] in "\n".join(PASSAGES)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What is the seeding rate of lentil LT 7 in the River Zone?",
            "Lentil, River Zone, LT 7 – rate amount: 50 kg per hectare.",
        ),
        ("How is lentil stored?", "Lentil – crop storage guidelines: Store below 15 °C; in airtight bags."),
    ],
)
def test_a_fact_gives_the_pairs_asked_for_and_what_they_are_about(question, expected):
    data = ask(question, evidence(FACTS, kind="hyperedge"))
    assert texts(data)[0] == expected
    assert all(quote in "\n".join(FACTS) for quote in quotes(data))


def test_a_mapped_record_found_as_a_passage_is_read_as_a_fact():
    data = ask("What is the seeding rate of lentil LT 7 in the River Zone?", evidence(FACTS))
    assert "Crop has_zone Zone has_seed SeedList has_seeding_rate Rate amount: 50 kg per hectare" in quotes(data)


def test_a_placeholder_is_no_answer_and_other_facts_do_not_stand_in_for_it():
    question = "What quantity of fertilizer does lentil LT 7 take in the Hill Zone?"
    assert ask(question, evidence([FACTS[3], FACTS[1]], kind="hyperedge"))["unknown"]


@pytest.mark.parametrize(
    "question",
    ["Which emperor abolished the tax on silk?", "asdf qwer zxcv?", "", "?", "What is the boiling point of mercury?"],
)
def test_a_question_that_the_evidence_does_not_speak_of_is_unknown(question):
    for pieces in (evidence(PASSAGES), evidence(FACTS, kind="hyperedge"), []):
        data = ask(question, pieces)
        assert data["unknown"]
        assert data["sentences"] == []


def test_a_pair_without_a_key_is_no_obstacle():
    fact = ": Lentil; Crop sowing month: June; Crop pest: aphid"
    assert "Crop sowing month: June" in quotes(ask("Which month is sowing?", evidence([fact], kind="hyperedge")))


def test_dates_are_the_same_however_they_are_written():
    facts = ["Crop name: Lentil; Crop sowing start_date: 2016-01-01; Crop sowing variety_name: LT 9"]
    data = ask("Which variety of lentil is sown from January 1, 2016?", evidence(facts, kind="hyperedge"))
    assert "Crop sowing variety_name: LT 9" in quotes(data)


def test_a_second_sentence_goes_on_from_a_name_in_the_first():
    pieces = evidence(
        [
            "Traces of Rain is a 1957 film directed by Mira Solen.",
            "Mira Solen was born in Ostrel in 1920.",
            "Ostrel is a town on the river Marl.",
        ]
    )
    data = ask("Where was the director of Traces of Rain born?", pieces)
    assert texts(data)[:2] == [
        "Traces of Rain is a 1957 film directed by Mira Solen.",
        "Mira Solen was born in Ostrel in 1920.",
    ]


def test_a_sentence_that_begins_with_a_pronoun_comes_with_the_one_before_it():
    body = "Wild oat is the worst weed of barley. It is controlled with Avenor. Nothing else grows there."
    data = ask("What is wild oat controlled with?", evidence([body]))
    assert texts(data) == ["Wild oat is the worst weed of barley. It is controlled with Avenor."]
    assert quotes(data) == ["Wild oat is the worst weed of barley.", "It is controlled with Avenor."]


def test_the_text_behind_a_fact_is_quoted_as_well():
    pieces = evidence([FACTS[0]], kind="hyperedge", source="Sow lentil in the Hill Zone after the last frost.")
    data = ask("When do farmers sow after the last frost?", pieces)
    assert texts(data) == ["Sow lentil in the Hill Zone after the last frost."]


def test_the_same_sentence_in_two_places_is_given_once():
    data = ask("Who leads the trial station?", evidence([PASSAGES[2], PASSAGES[2]]))
    assert len(data["sentences"]) == 1


def test_a_task_that_copying_cannot_do_is_refused_by_name():
    with pytest.raises(UnsupportedTask, match=r"text_to_sparql/write.*KGRAG_MODEL"):
        ExtractiveModel().complete([Prompt("text_to_sparql/write", "")])


def test_completions_come_in_the_order_of_the_prompts():
    prompts = [Prompt("answering/answer", "", {"question": "?", "evidence": []})] * 3
    assert [index for index, _ in ExtractiveModel().as_completed(prompts)] == [0, 1, 2]
    assert ExtractiveModel().identity == "extractive-12"


@given(st.text(max_size=60), st.lists(st.text(max_size=120), max_size=4), st.sampled_from(["chunk", "hyperedge"]))
def test_every_quote_stands_in_the_evidence_that_it_names(question, bodies, kind):
    data = ask(question + " sow lentil", evidence([f"{body} lentil; sow: {body}" for body in bodies], kind=kind))
    for sentence in data["sentences"]:
        for citation in sentence["citations"]:
            body = bodies[citation["evidence"] - 1]
            assert citation["quote"] in f"{body} lentil; sow: {body}"


def test_five_hits_are_answered_in_a_moment():
    pieces = evidence([f"{text} " * 4 for text in PASSAGES] + FACTS[:2])
    ask("When is chickpea sown?", pieces)
    began = time.process_time()
    for _ in range(10):
        ask("When is chickpea sown in the Hill Zone and at what rate?", pieces)
    assert (time.process_time() - began) / 10 < 0.2


# rates on real questions


@pytest.fixture(scope="module")
def soybean(data):
    """Facts and questions about soybean; questions whose answer is a placeholder are left out."""
    files = sorted((data / "ograg" / "soybean" / "mapped").glob("*.jsonld"))
    edges = {edge for path in files for edge in flatten(json.loads(path.read_text(encoding="utf-8"))["@graph"])}
    rows = [
        json.loads(row) for row in (data / "ograg/soybean/questions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    kept = [row for row in rows if row["answer_nodes"]]
    return Corpus([line(edge) for edge in edges], "hyperedge"), kept


@pytest.fixture(scope="module")
def wiki(data):
    """Passages of an encyclopedia, and questions about them."""
    folder = data / "multihop" / "2wiki_6119"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as rows:
        passages = [json.loads(row) for row in rows]
    questions = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return Corpus([f"{row['title']}. {row['text']}" for row in passages], "chunk"), [
        json.loads(row) for row in questions[:150]
    ]


class Corpus:
    """Texts under BM25, asked with the best five as evidence."""

    def __init__(self, bodies, kind):
        self.bodies, self.kind = sorted(bodies), kind
        self.index = LexicalIndex.build([f"{number:05}" for number in range(len(bodies))], self.bodies)

    def ask(self, question):
        found = [self.bodies[int(key)] for key, _ in self.index.search(question, 5)]
        return ask(question, evidence(found, kind=self.kind))


def share(rows):
    return sum(rows) / len(rows)


def test_most_questions_of_the_domain_are_answered_and_most_answers_hold_a_gold_value(soybean):
    corpus, rows = soybean
    replies = [corpus.ask(row["question"]) for row in rows]
    gold = [{" ".join(value.split()) for _, value in row["answer_nodes"]} for row in rows]
    given = [{quote.partition(": ")[2] for quote in quotes(reply)} for reply in replies]
    assert share([not reply["unknown"] for reply in replies]) >= 0.85
    assert share([bool(wanted & said) for wanted, said in zip(gold, given, strict=True)]) >= 0.65


def test_questions_of_another_domain_are_nearly_always_unknown(soybean, wiki):
    (crops, about_crops), (passages, about_people) = soybean, wiki
    assert share([crops.ask(row["question"])["unknown"] for row in about_people]) >= 0.98
    assert share([passages.ask(row["question"])["unknown"] for row in about_crops]) >= 0.98


def test_nonsense_is_unknown_over_an_encyclopedia(wiki):
    nonsense = [
        "Colourless green ideas sleep how furiously?",
        "asdf qwer zxcv?",
        "How do I reset my router's password?",
    ]
    assert all(wiki[0].ask(question)["unknown"] for question in nonsense)
