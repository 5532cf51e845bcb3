"""Questions about reference documentation: words that name a document, counts that a table states, definitions."""

import numpy as np
import pytest

from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.broken_words import unbroken
from kgrag.llm.extractive.document_names import documents_named
from kgrag.llm.extractive.evidence_sentences import EvidenceText, read_sentences
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import read_question
from kgrag.llm.extractive.sentence_ranking import FEATURES, RankedSentence, features_of, veto_of
from kgrag.llm.extractive.stated_counts import states_count
from kgrag.llm.extractive.weak_answers import MIN_PROBABILITY, probability_needed, subject_lacking
from kgrag.model import Prompt

CHAPTER = """GLOBAL PARAMETERS

        listen backlog
               You can override the backlog value of the daemon. The default is 5.

        motd file
               A message of the day. The default is no file."""
HEAD = "ferryd.conf(5)                    File Formats                    ferryd.conf(5)\n\nThe ferry keeps a list."
LIMITS = """Limits

Item | Upper Limit | Comment
table size | 32 TB | with blocks of 8192 bytes
columns per index | 32 | can be increased"""


class Alike:
    """The embedder of the fit, to which all texts mean the same."""

    identity = "all-MiniLM-L6-v2"
    dimension = 2

    def embed(self, texts, kind):
        return np.array([[0.6, 0.8] if kind == "query" else [0.0, 1.0] for _ in texts], np.float32)


def piece(text, number=1, **more):
    return {"number": number, "kind": "chunk", "heading": "", "text": text, "source": ""} | more


def ask(question, *pieces):
    prompt = Prompt("answering/answer", "", {"question": question, "evidence": list(pieces)})
    return ExtractiveModel(Alike).complete([prompt])[0].data


def texts(reply):
    return [row["text"] for row in reply["sentences"]]


@pytest.mark.parametrize("title", ["ferryd", "ferryd.conf", "ferryd.conf.5", "ferryd.conf(5)"])
def test_a_word_that_names_the_document_is_in_each_of_its_pieces(title):
    reply = ask("What is the default of listen backlog in ferryd.conf?", piece(CHAPTER, title=title))
    assert texts(reply) == ["listen backlog: The default is 5."]


def test_the_head_of_a_manual_page_names_its_document_in_all_pieces():
    pieces = [piece(CHAPTER, title="a manual"), piece(HEAD, 2, title="a manual")]
    assert texts(ask("What is the default of listen backlog in ferryd.conf?", *pieces))[0].endswith("The default is 5.")


def test_what_another_document_is_called_names_none():
    reply = ask("What is the default of listen backlog in rowd.conf?", piece(CHAPTER, title="ferryd"))
    assert reply["unknown"] and reply["reason"] == "The evidence does not mention rowd.conf."
    named = documents_named(["gc.auto", "5.0"], [EvidenceText(1, "chunk", "", "", title="gc")])
    assert named == {1: frozenset()}


@pytest.mark.parametrize(
    ("question", "row", "states"),
    [
        ("How many columns can an index have?", "columns per index | 32 | can be increased", True),
        ("How many arguments can a function take?", "function arguments | 100 |", True),
        ("How many bytes does the bigint type take?", "bigint | 8 bytes | large-range integer", True),
        ("How many bytes does the bigint type take?", "smallint | 2 bytes | small-range integer", False),
        ("How many pumps weigh 14 kg?", "Falcon pump | 14 | 300", False),
        ("How many pumps are there?", "pump | 14 | 300", False),
        ("How many columns can an index have?", "columns per table | 1600 |", False),
    ],
)
def test_a_row_states_the_count_that_is_asked_for(question, row, states):
    assert states_count(question, row) is states


def test_a_row_that_states_a_count_is_the_answer_to_how_many():
    reply = ask("How many columns can an index have?", piece(LIMITS))
    assert texts(reply) and "columns per index | 32" in texts(reply)[0]


def read(text, number=1):
    return list(read_sentences(EvidenceText(number, "chunk", "", text)))


def feature(name, question, text):
    (one, *_) = read(text)
    row = features_of(one, read_question(question, [one.own]), veto_of(question), asked_for(question))
    return row[FEATURES.index(name)]


@pytest.mark.parametrize(
    ("text", "defines"),
    [
        ("An orphan parent is a server that others follow.", 1),
        ("All others follow the same server, called the orphan parent.", 1),
        ("The orphan parent, then, only matches when both conditions are true.", 0),
        ("Within an orphan parent, any address that is not listed is rejected.", 0),
        ("The pier, known as the orphan parent of the ferry, is old.", 0),
    ],
)
def test_a_definition_says_what_the_term_is_or_what_is_called_so(text, defines):
    assert feature("defines", "What is an orphan parent?", text) == defines


def test_the_default_of_what_is_between_default_and_is_is_stated():
    assert feature("cue", "What is the default mooring delay?", "The default mooring delay is 8 s.") == 1
    assert feature("cue", "What is the default mooring delay?", "A delay is not always by default.") == 1
    assert feature("cue", "What is the default mooring delay?", "Each delay is the mooring's own.") == 0


def needed(*rows, asked="How is it?"):
    """Rows of label, score and cosine, each of a piece of its own, the best first."""
    sentences = [read(f"{label}\n\nRow {at} is one.", at)[0] for at, (label, *_) in enumerate(rows)]
    features = [(0.0,) * (len(FEATURES) - 1) + (cosine,) for _, _, cosine in rows]
    scores = [score for _, score, _ in rows]
    return probability_needed(asked, [RankedSentence(*each) for each in zip(sentences, features, scores, strict=True)])


@pytest.mark.parametrize(
    ("rows", "probability"),
    [
        ([("ferry", 5.0, 0.6), ("pier", 3.0, 0.5)], 0.12),
        ([("ferry", 5.0, 0.4), ("pier", 3.0, 0.3)], MIN_PROBABILITY),
        ([("ferry", 5.0, 0.6), ("pier", 4.5, 0.5)], MIN_PROBABILITY),
        ([("ferry", 5.0, 0.6), ("pier", 3.0, 0.68)], MIN_PROBABILITY),
        ([("ferry", 5.0, 0.6), ("pier", 3.0, 0.8)], 0.5),
    ],
)
def test_what_words_and_meaning_put_first_needs_less_and_what_is_farther_than_another_needs_more(rows, probability):
    assert needed(*rows) == probability


def test_what_explains_no_term_needs_the_same():
    row = RankedSentence(read("The ferry is one.")[0], (0.0,) * len(FEATURES), 5.0)
    assert probability_needed("How is it?", [row]) == MIN_PROBABILITY


def test_a_word_that_a_page_breaks_is_read_whole_and_quoted_as_it_is():
    page = (
        "        --packet-max=<size>\n               The largest packet. De\u2010\n               faults to 1232 bytes."
    )
    assert "default" in read(page)[-1].own
    reply = ask("What size does --packet-max default to?", piece(page))
    assert reply["sentences"][0]["citations"][-1]["quote"] == "De\u2010\n               faults to 1232 bytes."
    assert unbroken("well-known, 5-\n6, a pre-\nfix") == "well-known, 5-\n6, a prefix"


PAIRS = """  -dV : disable the check on the server side. Never use this in an init script.

  -L <name> : change the local peer name to <name>, which defaults to the
    name of the host."""


def test_an_option_before_a_colon_is_the_label_of_what_is_said_of_it():
    assert [(one.label, one.text[:7]) for one in read(PAIRS)] == [
        ("-dV", "disable"),
        ("-dV", "Never u"),
        ("-L <name>", "change "),
    ]
    assert [one.label for one in read("It takes -5 : that is all.\n\nThe flags -a : b are old.")] == ["", ""]


def test_should_an_option_be_used_is_answered_by_what_is_said_of_it():
    assert texts(ask("Which option changes the local peer name?", piece(PAIRS)))[0].startswith("-L <name>: change the")


def test_a_condition_defines_nothing():
    assert feature("defines", "What is a ferry list?", "If a ferry list is given, it is read.") == 0
    assert feature("defines", "What is a ferry list?", "A ferry list is a page of names.") == 1


def test_a_page_that_a_question_names_is_not_answered_from_another_that_lacks_its_name():
    other = "setpassword\n\nSets the password by which files of an archive are encrypted."
    pieces = [piece("A crontab has lines.", title="crontab.5"), piece(other, 2, title="archives")]
    assert ask("How do I encrypt a crontab?", *pieces)["unknown"]
    assert not ask("How are files of an archive encrypted?", *pieces)["unknown"]
    assert not ask("How are files of an archive encrypted?", pieces[0] | {"title": "archive index"}, pieces[1])[
        "unknown"
    ]


def test_what_is_no_option_needs_more_where_one_is_asked_for():
    rows = [("FERRY", 5.0, 0.6), ("pier", 3.0, 0.5)]
    assert needed(*rows, asked="Which option of rowd sends mail?") == 0.5
    assert needed(("-f", 5.0, 0.6), rows[1], asked="Which option of rowd sends mail?") == 0.12


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("What is the default of the ferryd option maxpiers?", "maxpiers"),
        ("What is the default of maxpiers in ferryd?", "maxpiers"),
        ("What does the maxpiers option do?", "maxpiers"),
        ("What is the default of the mooring?", ""),
        ("What does mooring mean in ferryd?", ""),
        ("What is the default cost delay of automatic work on ferries?", ""),
    ],
)
def test_what_lacks_the_one_word_that_a_question_is_about_is_no_answer(question, lacking):
    assert subject_lacking(question, read("mooring\n\nThe default is 5 in all ferries.")[0]) == lacking


def test_a_line_of_a_list_in_two_columns_begins_with_its_term():
    page = """   The default keys are:

        %           Split the pane into two, left and right.
        C-o         Rotate the panes in the window.

        Name        Value       Unit of it"""
    found = [(one.label, one.text) for one in read(page)]
    assert ("%", "Split the pane into two, left and right.") in found
    assert ("C-o", "Rotate the panes in the window.") in found
    assert all(label != "Name" for label, _ in found)
    key = ask("Which key splits the pane into two, left and right?", piece(page))
    assert texts(key)[0] == "%: Split the pane into two, left and right."


def test_a_line_that_only_names_a_manual_page_answers_nothing_else():
    page = "Manual pages:\n\nferryd.conf(5) - Configuration File of the ferry"
    assert ask("Which command is an alias for interface in ferryd.conf?", piece(page))["unknown"]


MODES = "softfold\n    Keeps long lines of the log whole and shows the rest of each below it.\n"


@pytest.mark.parametrize("kind", ["setting", "feature", "mode", "relation"])
def test_what_is_asked_for_by_its_kind_is_named_with_its_explanation(kind):
    reply = ask(f"Which {kind} keeps the long lines of the log whole?", piece(MODES))
    assert texts(reply) == ["softfold: Keeps long lines of the log whole and shows the rest of each below it."]


@pytest.mark.parametrize("label", ["Are there limits?", "0 or 1", "1, 2"])
def test_a_question_or_the_values_above_a_sentence_are_no_name_for_it(label):
    page = f"{label}\n\nThe ferry takes at most 40 cars on its lower deck.\n"
    assert texts(ask("Which deck takes 40 cars of the ferry?", piece(page))) == [
        "The ferry takes at most 40 cars on its lower deck."
    ]
