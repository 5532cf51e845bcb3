"""What a sentence of evidence is about, and which one answers: definition lists, tables, versions, meaning."""

import numpy as np
import pytest

from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText, read_sentences
from kgrag.llm.extractive.sentence_ranking import stated_confidence, veto_of
from kgrag.llm.extractive.value_vetoes import value_lacking
from kgrag.model import Prompt

SETTINGS = """nap_time (integer)

Specifies the least delay between two rounds. The default is one minute.

max_workers (integer)

Specifies how many rounds may run at once. The default is three."""
TABLE = """Limits of a table

Item | Upper Limit
field size | 1 GB
columns per index | 32"""


def read(text, **more):
    return list(read_sentences(EvidenceText(**{"number": 1, "kind": "chunk", "heading": "", "text": text} | more)))


def piece(text, number=1, **more):
    return {"number": number, "kind": "chunk", "heading": "", "text": text, "source": ""} | more


def ask(question, *pieces, embedder=None):
    model = ExtractiveModel(embedder and (lambda: embedder))
    return model.complete([Prompt("answering/answer", "", {"question": question, "evidence": list(pieces)})])[0].data


class Meanings:
    """An embedder that knows a few phrases: texts that contain one of a group have the same direction."""

    dimension = 3

    def __init__(self, *groups, identity="phrases"):
        self.groups = groups
        self.identity = identity
        self.embedded = []

    def embed(self, texts, kind):
        self.embedded += texts
        rows = [[any(phrase in text for phrase in group) for group in self.groups] + [0.01] for text in texts]
        vectors = np.array(rows, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_term_is_the_label_of_the_sentences_below_it_and_none_itself():
    assert [(one.label, one.text) for one in read(SETTINGS)][1::2] == [
        ("nap_time (integer)", "The default is one minute."),
        ("max_workers (integer)", "The default is three."),
    ]


def test_the_default_of_a_defined_term_is_the_one_below_it_and_is_quoted_with_the_term():
    data = ask("What is the default of max_workers?", piece(SETTINGS))
    assert data["sentences"][0]["text"] == "max_workers (integer): The default is three."
    assert [row["quote"] for row in data["sentences"][0]["citations"]] == [
        "max_workers (integer)",
        "The default is three.",
    ]


def test_a_chunk_that_begins_behind_its_term_has_it_from_the_text_before():
    (first, *_) = read("Specifies the least delay.", before="Some prose.\n\nnap_time (integer)\n\n")
    assert (first.label, first.labelled) == ("nap_time (integer)", False)


def test_a_line_that_the_chunk_goes_on_with_is_no_term():
    (first, *_) = read("delay between rounds.", before="x\n\nnap_time (integer)\n\nSpecifies the least ")
    assert first.label == "nap_time (integer)"


def test_a_term_at_the_end_of_a_chunk_is_explained_by_the_following_one():
    last = read("Read this.\n\nnap_time (integer)", following="The delay.\n\nmax_workers (integer)\n\nThe number.")[-1]
    assert (last.label, last.text) == ("nap_time (integer)", "The delay.")


def test_a_row_of_a_table_is_read_with_its_header():
    assert [one.meaning for one in read(TABLE)] == [
        "Limits of a table: Item: field size; Upper Limit: 1 GB",
        "Limits of a table: Item: columns per index; Upper Limit: 32",
    ]


def test_a_sentence_that_ends_with_a_colon_comes_with_the_line_it_introduces():
    data = ask("How is the session reset?", piece("To reset the session, run:\n\n$ tool reset\n"))
    assert data["sentences"][0]["text"] == "To reset the session, run: $ tool reset"


@pytest.mark.parametrize(
    "question", ["What changed in release 5.0?", "What changed in tool.shutdown?", "What changed with --twice?"]
)
def test_a_number_version_or_identifier_that_the_evidence_lacks_is_not_answered(question):
    data = ask(question, piece("Release 4.2.0\n\nWhat changed in this release: the tool has a new option."))
    assert data["unknown"]
    assert data["sentences"] == []


def test_a_number_may_be_spelt_out_in_the_evidence_and_a_name_may_lack_its_module():
    veto = veto_of("Which 3 functions does heap.merge call?")
    assert veto.lacking(EvidenceText(1, "chunk", "", "merge() calls three functions.")) == []
    assert veto.lacking(EvidenceText(1, "chunk", "", "merged() calls two functions.")) == ["heap.merge", "3"]


def test_of_sentences_that_share_no_word_the_nearest_in_meaning_comes_first():
    embedder = Meanings(("shelved", "stash"), ("weather",))
    body = "It is sunny weather. Drop every stash entry. The weather may change."
    data = ask("How do I throw away what I shelved?", piece(body), embedder=embedder)
    assert data["nearest"][0]["quote"] == "Drop every stash entry."


def test_a_sentence_is_embedded_once_in_a_process():
    embedder = Meanings(("stash",))
    model = ExtractiveModel(lambda: embedder)
    prompt = Prompt(
        "answering/answer", "", {"question": "What is a stash?", "evidence": [piece("A stash is a shelf.")]}
    )
    model.complete([prompt, prompt])
    assert embedder.embedded.count("A stash is a shelf.") == 1


def test_a_probability_is_stated_only_with_the_embedder_that_it_was_fitted_with():
    question, body = "What is a stash?", piece("A stash is a shelf for changes.")
    fitted = Meanings(("stash",), identity="all-MiniLM-L6-v2")
    assert 0 <= ask(question, body, embedder=fitted)["confidence"] <= 1
    assert "confidence" not in ask(question, body, embedder=Meanings(("stash",)))


def test_the_same_probability_decides_whether_there_is_an_answer():
    fitted = Meanings(("stash",), identity="all-MiniLM-L6-v2")
    data = ask("Who sponsors the ferry?", piece("A stash is a shelf for changes."), embedder=fitted)
    assert data["unknown"]
    assert data["confidence"] < 0.4
    assert str(data["confidence"]) in data["reason"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do I drop what I shelved?", "Drop every stash entry."),  # in other words
        ("What is the default of nap_time?", "nap_time (integer): The default is one minute."),  # the body, no heading
        ("What changed in release 5.0?", ""),  # of another version than all of the evidence
    ],
)
def test_without_a_model_a_paraphrase_and_a_definition_are_answered_and_another_version_is_not(question, answer):
    fitted = Meanings(("shelved", "stash"), identity="all-MiniLM-L6-v2")
    texts = (
        "Drop every stash entry. It rains.",
        SETTINGS,
        "Release 4.2.0\n\nWhat changed in this release: the tool naps.",
    )
    data = ask(question, *(piece(text, number) for number, text in enumerate(texts, start=1)), embedder=fitted)
    assert [row["text"] for row in data["sentences"]][:1] == ([answer] if answer else [])
    assert data["unknown"] is not bool(answer)


SIGNS = "Signs of overload are:\n\nThe lamp is red.\n\nNOTE: A broken lamp is too.\n\nThe fan stops. Wait.\n\nLog lines:\n\nx"
FACTORS = (
    "Two factors determine a backup:\n\nKnowing what to keep.\n\nLogs: all\n\nKnowing how to keep it.\n\nPrices rise."
)


@pytest.mark.parametrize(
    ("question", "body", "answer"),
    [
        ("What are the signs of overload?", SIGNS, "Signs of overload are: The lamp is red. The fan stops. Log lines:"),
        ("Where are signs of overload?", SIGNS, "Signs of overload are: The lamp is red."),
        (
            "Which two factors determine a backup?",
            FACTORS,
            "Two factors determine a backup: Knowing what to keep. Knowing how to keep it.",
        ),
    ],
)
def test_a_question_for_several_is_answered_with_the_items_below_the_line_that_introduces_them(question, body, answer):
    assert ask(question, piece(body))["sentences"][0]["text"] == answer


def test_a_line_that_asks_is_the_label_of_its_answer_and_no_answer():
    body = "A tale.\n\n4.3. Ack! The keypad fails. What now?\n\nUse --raw. Or not?\n\nEnd it here."
    assert [(one.label[:8], one.text) for one in read(body)][1:] == [
        ("4.3. Ack", "Use --raw."),
        ("4.3. Ack", "End it here."),
    ]


@pytest.mark.parametrize(
    ("question", "body", "second"),
    [
        (
            "How does fsync differ from msync?",
            "Fsync differs in files.\n\nMsync differs in maps.",
            "Msync differs in maps.",
        ),
        (
            "What was the tool called at first, and when was it renamed?",
            "It was called TIP at first. On May 3, 2000, it was renamed.",
            "On May 3, 2000, it was renamed.",
        ),
    ],
)
def test_both_sides_of_a_comparison_and_two_questions_get_a_sentence_each(question, body, second):
    embedder = Meanings(("differ", "tool called", "Fsync", "TIP"), ("renamed",), identity="all-MiniLM-L6-v2")
    texts = [row["text"] for row in ask(question, piece(body), embedder=embedder)["sentences"]]
    assert len(texts) == 2
    assert second in " ".join(texts)


@pytest.mark.parametrize(
    ("question", "body", "reason"),
    [
        ("What is the largest number of files that tool opens?", "Tool opens the largest files.", "number"),
        ("Which release of tool was the first to open files?", "Tool opens files in no old release.", "version"),
        ("What is the default value of tool_limit?", "Smaller than tool_limit it is a text.", "default"),
        (
            "Which curve (linear or cosine) does tool use?",
            "The tool uses the curve of an earlier tool.",
            "linear or cosine",
        ),
        ("When was tool 15 released?", "The tool 15 was released before tool 16.", "date"),
        ("How often does the tool wake up?", "The tool wakes up at 3 degrees.", "frequency"),
        ("Who founded the tool club?", "The tool club was founded in the town of Ostrel.", "person"),
        ("How many grams of salt does the tool take?", "The tool takes 60 grams of sugar.", "salt"),
    ],
)
def test_a_sentence_without_the_kind_of_value_that_is_asked_for_is_no_answer(question, body, reason):
    embedder = Meanings(("tool", "Tool"), identity="all-MiniLM-L6-v2")
    data = ask(question, piece(body), embedder=embedder)
    assert data["unknown"]
    assert data["reason"] == f"The best sentence has no {reason}."


FACT = "Crop name: Lentil; Crop zone: Hill Zone; Crop rate: 45 kg"


def test_a_fact_among_texts_leaves_them_their_probability():
    embedder = Meanings(("tool", "Tool"), identity="all-MiniLM-L6-v2")
    given = ask("What does the tool nap do?", piece("The tool nap pauses the tool."), piece(FACT, 2), embedder=embedder)
    assert given["sentences"]
    assert 0 < given["confidence"] < 1
    other = ask("Is the tool nap early?", piece("The tool rests, late in the day."), piece(FACT, 2), embedder=embedder)
    assert other["unknown"]
    assert "probability" in other["reason"]
    assert 0.5 < ask("What is the rate of Lentil?", piece(FACT), embedder=embedder)["confidence"] < 1


def test_each_of_two_questions_gets_its_own_answer_from_wherever_it_is():
    embedder = Meanings(("founded",), ("lead",), identity="all-MiniLM-L6-v2")
    body = (
        "The club was founded in 1962 in Ostrel. Its canal is long. It rains. Ida Vask leads the station of the club."
    )
    given = ask("When was the club founded and who leads the station of the club?", piece(body), embedder=embedder)
    assert [row["text"] for row in given["sentences"]] == [
        "The club was founded in 1962 in Ostrel.",
        "Ida Vask leads the station of the club.",
    ]


def test_prose_with_colons_in_brackets_is_no_fact():
    prose = "Namibia (German: Republik Namibia; Afrikaans: Republiek van Namibië) is a country. It has borders; see: 4."
    assert not is_fact(EvidenceText(1, "chunk", "", prose))
    assert is_fact(EvidenceText(1, "chunk", "", "Soil pH (min): 6; Soil kind: loam. It is deep."))


def test_a_range_of_versions_has_those_within_it():
    text = EvidenceText(1, "chunk", "", "With Tool 2.3-2.5, use 421. Tool 3.1 and later: 521.")
    assert [veto_of(f"What with Tool {one}?").lacking(text) for one in ("2.4", "3.2", "2.9")] == [[], [], ["2.9"]]


def test_a_name_with_a_number_behind_it_is_a_version_and_a_day_is_none():
    asked = "From which PostgreSQL version on may a scale be negative?"
    texts = ("It may from PostgreSQL 15.", "From March 15, it may.", "It may in 15 cases.")
    assert [value_lacking(asked, text) for text in texts] == ["", "version", "version"]


OPTIONS = """nap_time (integer)

Specifies the delay between naps of the stash. It is a number. Rounds wait for it. Ten is too much.

max_workers (integer)

Specifies how many rounds may run at once. Three."""
FIRST = "nap_time (integer): Specifies the delay between naps of the stash."


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does nap_time specify?", [FIRST, "It is a number.", "Rounds wait for it."]),
        (
            "What does max_workers specify?",
            ["max_workers (integer): Specifies how many rounds may run at once.", "Three."],
        ),
        ("Does nap_time specify the delay between naps?", [FIRST]),  # yes is answer enough
        ("Does nap_time specify the delay of rounds?", [FIRST, "It is a number.", "Rounds wait for it."]),
        ("What does nap_time do when it is too much?", [FIRST, "It is a number.", "Rounds wait for it."]),
    ],
)
def test_at_most_two_sentences_beside_the_best_one_about_the_same_term_come_with_it(question, answer):
    fitted = Meanings(("stash", "specify", "rounds may", "naps", "too much"), identity="all-MiniLM-L6-v2")
    data = ask(question, piece(OPTIONS), embedder=fitted)
    assert [row["text"] for row in data["sentences"]] == answer
    assert all(row["citations"] for row in data["sentences"])


def test_a_sentence_is_compared_with_its_headings():
    assert [one.meaning for one in read(SETTINGS, heading="Tool / Naps")][:1] == [
        "Tool / Naps: nap_time (integer): Specifies the least delay between two rounds."
    ]


def test_a_heading_with_its_number_is_a_label_and_an_item_that_goes_on_is_none():
    text = "must not break, and\n\nmust be free.\n\n2.2.2. The contrib area\n\nIt needs other tools."
    assert [(one.label, one.text) for one in read(text)][-1] == ("The contrib area", "It needs other tools.")
    assert all(not one.label.startswith("must") for one in read(text))


def test_a_product_may_be_named_elsewhere_in_its_document_and_an_option_may_not():
    pages = [piece("AcmeTool is a server.", title="Manual"), piece("The server has 3 doors.", 2, title="Manual")]
    fitted = Meanings(("doors",), identity="all-MiniLM-L6-v2")
    answer = ask("How many doors has the AcmeTool server?", *pages, embedder=fitted)["sentences"][0]
    assert answer["text"] == "The server has 3 doors."
    other = [piece("door.lock is a bolt.", title="Manual"), piece("The default is 3.", 2, title="Manual")]
    assert not any("3" in row["text"] for row in ask("What is the default of door.lock?", *other)["sentences"])


def test_a_footnote_is_no_version():
    text = EvidenceText(1, "chunk", "", "Indexes use pages.[17] Sequences do, too.")
    assert veto_of("When was Tool 17 released?").lacking(text) == ["17"]


def test_what_explains_another_identifier_is_no_answer():
    text = "Path.suffix\n\nThe end of the path. New in version 3.11."
    fitted = Meanings(("version",), identity="all-MiniLM-L6-v2")
    assert ask("In which version was zoo.Path added?", piece(text), embedder=fitted)["unknown"]
    assert not ask("In which version was Path.suffix added?", piece(text), embedder=fitted)["unknown"]


def test_a_sentence_with_the_value_comes_before_a_better_one_without():
    fitted = Meanings(("Tool 15", "released"), identity="all-MiniLM-L6-v2")
    body = "The tool 15 was released before tool 16 was released. Tool 15: release date 2022-10-13."
    (answer,) = ask("When was tool 15 released?", piece(body), embedder=fitted)["sentences"]
    assert answer["text"] == "Tool 15: release date 2022-10-13."


def test_which_option_is_answered_with_the_option():
    fitted = Meanings(("remove", "removed"), identity="all-MiniLM-L6-v2")
    body = "-n\n--dry-run\n\nRemove nothing, show what would be removed."
    (answer,) = ask("Which option only shows what would be removed?", piece(body), embedder=fitted)["sentences"]
    assert answer["text"] == "-n --dry-run: Remove nothing, show what would be removed."


def test_a_measure_counts_nothing_else():
    asked = "How many columns can a table have?"
    texts = ("A row of a table fits an 8192-byte page.", "A table has 1,600 columns.", "It has 12 in 8 kB.")
    assert [value_lacking(asked, text) for text in texts] == ["number", "", ""]
    assert value_lacking("How many bytes has a page?", "A page has 8192 bytes.") == ""


def test_days_weights_and_money_count_no_things():
    """Before, "160 kg per hectare" was how many varieties are grown."""
    asked = "How many varieties are grown in the Coastal Zone?"
    texts = (
        "Solveig is grown there, sown from 5 April to 30 April at 160 kg per hectare.",
        "In 1962 it was bought for $47 billion.",
        "Two varieties are sown on 5 April.",
    )
    assert [value_lacking(asked, text) for text in texts] == ["number", "number", ""]
    assert value_lacking("How many kg are sown?", "160 kg are sown.") == ""


def test_a_part_of_a_long_question_is_no_answer():
    fitted = Meanings(("stash",), identity="all-MiniLM-L6-v2")
    body = piece("The ferry Stash was built by Ann Lee.")
    asked = "Who built the ferry Stash?"
    long = "Who built the ferry Stash, whose captain won the harbour race of the northern islands in winter?"
    assert [ask(question, body, embedder=fitted)["unknown"] for question in (asked, long)] == [False, True]


MANUAL = """CONTROLS
       warn_time (300s)
              The least delay between warnings that a destination
              is clogged.

       message_limit (20000)
              The largest number of messages in the active queue.

STATES
       hold   Messages that are kept here until someone sets
              them free.
"""


def test_a_term_of_a_manual_is_the_label_of_the_lines_further_in_and_of_no_others():
    assert [(one.label, " ".join(one.text.split())) for one in read(MANUAL)] == [
        ("warn_time (300s)", "The least delay between warnings that a destination is clogged."),
        ("message_limit (20000)", "The largest number of messages in the active queue."),
        ("hold", "Messages that are kept here until someone sets them free."),
    ]


def test_prose_whose_first_line_hangs_has_no_term():
    prose = "The first line of this paragraph is as long as any other, and\n   the second one is further in."
    assert [(one.label, one.text) for one in read(prose)] == [("", prose)]


def test_a_default_in_brackets_behind_a_term_is_one_and_its_type_is_none():
    asked = "What is the default of warn_time?"
    assert value_lacking(asked, "warn_time (300s): The least delay.") == ""
    assert value_lacking(asked, "warn_time (integer): The least delay.") == "default"


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("When the file is there, it is possible to tell the number of leap seconds inserted since 1972.", True),
        ("There have been 27 leap seconds inserted.", True),
        ("Leap seconds are announced by a service.", True),
        ("Leap seconds are inserted since 1972.", True),
        ("Leap seconds are inserted at the end of June or December.", False),
        ("A leap second is inserted behind second 59 of the last minute of a day.", False),
        ("If the Earth turns too slowly, a leap second is inserted.", False),
    ],
)
def test_when_something_is_done_is_answered_by_a_time_or_a_condition(text, lacking):
    assert (value_lacking("When is a leap second inserted?", text) == "time or condition") == lacking


def test_a_time_that_is_asked_for_in_the_present_needs_no_passive():
    asked = "When does the service step the clock?"
    assert value_lacking(asked, "The file has the frequency of the clock.") == "time or condition"
    assert value_lacking(asked, "It steps the clock once the offset is too large.") == ""


def test_a_version_counts_nothing():
    asked = "What is the maximum number of rows in a table?"
    assert value_lacking(asked, "In versions before 9.4 the row was frozen.") == "number"
    assert value_lacking(asked, "In version 9.4 a table has 32 rows.") == ""


def test_a_numbered_heading_is_a_label_and_a_numbered_item_is_none():
    assert read("3. Type Affinity\n\nSome engines convert values.")[0].label == "3. Type Affinity"
    assert [one.label for one in read("1. Sow deep\n\n2. Water well\n\nThen harvest it.")] == ["", "", ""]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is an ACL?", "Access Control Lists (ACLs) are address match lists."),
        ("What is type affinity?", "The type affinity of a column is the type that its data should have."),
    ],
)
def test_what_something_is_is_answered_where_it_is_defined(question, answer):
    body = f"Here is an example of an ACL, with type affinity to a column. {answer}"
    fitted = Meanings(("ACL", "affinity"), identity="all-MiniLM-L6-v2")
    assert ask(question, piece(body), embedder=fitted)["sentences"][0]["text"] == answer


def test_lines_below_a_colon_are_quoted_once():
    body = "Affinities\n\nA column has one of these affinities:\n\nTEXT is one.\n\nNUMERIC is one."
    fitted = Meanings(("affinities",), identity="all-MiniLM-L6-v2")
    answer = ask("How do affinities of a column behave?", piece(body), embedder=fitted)
    assert " ".join(row["text"] for row in answer["sentences"]).count("TEXT is one.") == 1


def test_a_question_that_describes_what_it_is_about_is_not_answered_by_a_part():
    fitted = Meanings(("county", "Lee"), identity="all-MiniLM-L6-v2")
    body = piece("Ann Lee was born in Marl. Its county shares a border with Clay.")
    assert ask("Which county shares a border with the county in which Ann Lee plays chess?", body, embedder=fitted)[
        "unknown"
    ]
    assert not ask("Whose county shares a border with Clay?", body, embedder=fitted)["unknown"]
    assert ask("Which county shares a border with Marl?", body, embedder=fitted)["unknown"]  # rarely right


def test_a_value_from_prose_is_less_sure_than_what_a_term_means():
    (prose,), (term, _) = read("Ann Lee was born in Marl."), read(SETTINGS)[:2]
    assert stated_confidence("Where was Ann Lee born?", prose, 0.8) < 0.3
    assert stated_confidence("What does nap_time specify?", term, 0.8) > 0.8
    assert stated_confidence("How was Ann Lee born?", prose, 0.9) > stated_confidence("How?", prose, 0.5)


def test_a_condition_that_breaks_off_is_no_answer():
    fitted = Meanings(("server",), identity="all-MiniLM-L6-v2")
    (answer,) = ask(
        "Which port does the server use?",
        piece("The server has port 80. If the server uses a port [3]"),
        embedder=fitted,
    )["sentences"]
    assert answer["text"] == "The server has port 80."
    whole = piece("If the server has no port, it uses port 80.")
    assert not ask("Which port does the server use?", whole, embedder=fitted)["unknown"]


BELOW_HEADINGS = """## Options

-G

: Groups files by their owner.

-v

: Prints each name. See --extract-all.

## Functions

secrets.token_hex()

: Returns a text in hexadecimal."""


def test_a_term_just_below_a_heading_is_the_label_of_its_definition():
    assert [(one.label, one.text) for one in read(BELOW_HEADINGS)][::3] == [
        ("-G", "Groups files by their owner."),
        ("secrets.token_hex()", "Returns a text in hexadecimal."),
    ]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What does -G do?", "Groups files by their owner."),
        ("What does token_hex return?", "Returns a text in hexadecimal."),
        ("What does -g do?", ""),
        ("What does -V do?", ""),
        ("What does --extract do?", ""),
        ("What does secrets.token_bytes return?", ""),
    ],
)
def test_an_option_or_name_is_answered_where_it_is_defined_as_it_is_written(question, answer):
    fitted = Meanings(("nothing",), identity="all-MiniLM-L6-v2")
    found = ask(question, piece(BELOW_HEADINGS), embedder=fitted)
    assert bool(answer) != found["unknown"] and (not answer or answer in found["sentences"][0]["text"])


MINUTES = (
    "Minutes: Peter Hall.\n\n1. Air conditioning\nDelivery was postponed to 19 August.\n\n2. Card readers\n"
    "The new date is 15 September. The budget is 9,600 EUR.\n\n3. Next meeting\n24 September 2026, 10:00."
)


def test_a_numbered_line_above_its_paragraph_is_a_heading_and_no_sentence() -> None:
    found = [one for one in read_sentences(EvidenceText(1, "passage", "", MINUTES)) if "Peter" not in one.text]
    assert [(one.label, one.text) for one in found] == [
        ("", "Delivery was postponed to 19 August."),
        ("", "The new date is 15 September."),
        ("", "The budget is 9,600 EUR."),
        ("3. Next meeting", "24 September 2026, 10:00."),
    ]
    assert ["card" in one.around for one in found] == [False, True, True, False]


def test_items_of_a_numbered_list_stay_sentences() -> None:
    text = "Before use:\n\n1. Open the valve\n2. Press the switch\n3. Wait for the lamp\n\nThen begin."
    assert "Press the switch" in [one.text for one in read_sentences(EvidenceText(1, "passage", "", text))]


def test_the_number_of_an_article_is_what_its_text_is_about_and_no_sentence() -> None:
    text = "Article 1. Le télétravail est autorisé.\n\nArticle 2. La demande est écrite. L'accord vaut un an."
    found = list(read_sentences(EvidenceText(1, "passage", "", text), "fr"))
    assert [(one.label, one.text) for one in found] == [
        ("Article 1", "Le télétravail est autorisé."),
        ("Article 2", "La demande est écrite."),
        ("Article 2", "L'accord vaut un an."),
    ]


def test_the_title_of_a_plain_text_is_a_heading_and_no_term_that_is_explained() -> None:
    text = "CONFIRMATION OF INSURANCE\n\nThe excess is 1,200 EUR.\n\nStorm is insured."
    found = list(read_sentences(EvidenceText(1, "passage", "", text)))
    assert [(one.label, one.text) for one in found] == [("", "The excess is 1,200 EUR."), ("", "Storm is insured.")]
    assert all("insur" in one.around for one in found)
    behind = list(
        read_sentences(EvidenceText(1, "passage", "", "max_workers\n\nThe default is 3.", before="Workers.\n"))
    )
    assert [one.label for one in behind] == ["max_workers"]
