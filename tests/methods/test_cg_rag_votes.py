"""CG-RAG without training: votes of documents, citation markers, and what both must not do."""

import json
from pathlib import Path

import numpy as np
import pytest

from kgrag import KnowledgeBase, queries, shacl
from kgrag.methods.cg_rag.document_links import DocumentLinks
from kgrag.methods.cg_rag.markers import CitedWorks, Marker, markers_of

NOBODY = np.zeros(0, np.int64)


def papers(folder: Path, *records: dict[str, object]) -> Path:
    path = folder / "papers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("(Tillmann and Ney, 2000; Wu et al., 1997)", ["tillmann 2000", "wu 1997"]),
        ("Brill’s tagger, O'Hara (1995a) and Ratnaparkhi [1996]", ["o'hara 1995", "ratnaparkhi 1996"]),
        ("Müller & Große 2003 say", ["müller 2003"]),
        ("Since 1999 and in June 2001, Table 2000 lists 12,1999 words", []),
        ("brill 1995 and Brill 19955", []),
    ],
)
def test_author_year_markers_compare_by_first_surname_and_year(text: str, names: list[str]) -> None:
    assert [marker.name for marker in markers_of(text)] == names


def test_a_marker_that_two_entries_may_be_means_none_unless_a_letter_decides() -> None:
    works = CitedWorks([("Brill, E. 1995a. Rules.", "urn:a"), ("Brill, E. 1995b. Trees.", "urn:b")])
    assert works.meant(Marker("brill 1995")) == ""
    assert works.meant(Marker("brill 1995", "b")) == "urn:b"


def test_an_entry_is_by_its_first_author_and_not_by_a_name_in_its_title() -> None:
    works = CitedWorks([("Och, F. 1995. A long enough title about the tagger of Brill. In Proc.", "urn:a")])
    assert works.meant(Marker("brill 1995")) == ""


def test_more_votes_count_more_but_not_by_their_number_alone() -> None:
    links = DocumentLinks.of([(2, 0), (3, 0), (4, 0), (5, 0), (6, 1)])
    heard = np.array([0, 0, 0.5, 0.5, 0.5, 0.5, 0.9])
    summed, rooted, averaged = (links.votes(heard, NOBODY, exponent=exponent)[:2] for exponent in (0, 0.5, 1))
    assert summed.tolist() == [2.0, 0.9]
    assert rooted.tolist() == pytest.approx([1.0, 0.9])
    assert averaged.tolist() == pytest.approx([0.5, 0.9])


def test_a_hidden_document_neither_votes_nor_says_what_a_marker_means() -> None:
    links = DocumentLinks.of([(2, 0), (3, 0)], [("brill 1995", 2, 0), ("brill 1995", 3, -1)])
    heard = np.array([0.0, 0.0, 1.0, 0.5])
    assert links.votes(heard, np.array([2]), exponent=0)[0] == 0.5
    assert links.marked(["brill 1995"], 4, NOBODY)[0] == 1
    assert 0 < links.marked(["brill 1995"], 4, np.array([2]))[0] < 1
    assert not links.marked(["brill 1995"], 4, np.array([2, 3])).any()


def test_those_who_hold_a_marker_agree_on_what_they_and_few_others_cite() -> None:
    everyone_cites = [(citing, 0) for citing in range(2, 9)]
    links = DocumentLinks.of([*everyone_cites, (2, 1), (3, 1)], [("brill 1995", 2, -1), ("brill 1995", 3, -1)])
    sure = links.marked(["brill 1995", "unknown 2000"], 9, NOBODY)
    assert sure[1] > sure[0] > 0
    assert sure[1] == pytest.approx(2 / 3)


@pytest.fixture
def cited(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """A paper of 1995 that says it with other words, and one who cites it three ways."""
    entries = ["[1] Brill, E. 1995. Growing rules for every field.", "[2] Nobody, A. 1980. A work that is not here."]
    kb.ingest(
        papers(
            tmp_path,
            {"id": "rules", "title": "Growing rules for every field", "text": "Errors drive what we induce."},
            {"id": "other", "title": "Irrigation in dry lands", "text": "Water is scarce.", "year": 2001,
             "authors": ["Ada Dry", "Bo Wet"]},
            {"id": "user", "title": "A use", "text": "Tagging of weeds follows Brill (1995) and [1, 2].",
             "cites": entries},
            {"id": "reader", "title": "A reader", "text": "Deserts were studied (Dry and Wet, 2001).", "cites": ["other"]},
            {"id": "alone", "title": "Alone", "text": "Tagging of weeds by hand takes a summer."},
        )
    )  # fmt: skip
    kb.build("cg_rag")
    return kb


def test_markers_become_edges_from_the_very_chunk(cited: KnowledgeBase) -> None:
    rows = cited.query(
        "PREFIX cito: <http://purl.org/spar/cito/> SELECT ?text ?title WHERE { GRAPH ?g { ?chunk cito:cites ?document "
        "FILTER NOT EXISTS { ?chunk a kg:CitationMarker } } GRAPH ?a { ?chunk kg:text ?text } "
        "GRAPH ?b { ?document dcterms:title ?title } } ORDER BY ?title"
    ).values()
    assert [(text[:7], title) for text, title in rows] == [
        ("Tagging", "Growing rules for every field"),
        ("Deserts", "Irrigation in dry lands"),
    ]
    found = cited.store.select(queries.bind("cg_rag/markers", catalogue=cited.store.names.catalogue)).values()
    assert [(marker, bool(document)) for _, _, marker, document in found] == [("brill 1995", True), ("dry 2001", True)]
    assert shacl.validate(cited.store, shacl.graph_shapes()) == []


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What did Brill (1995) find?", "Growing rules for every field"),
        ("What did Wet 2001 find?", "Irrigation in dry lands"),
    ],
)
def test_the_marker_of_a_question_finds_the_document_that_it_means(
    cited: KnowledgeBase, question: str, title: str
) -> None:
    assert cited.retrieve(question, method="cg_rag", k=1)[0].attributes["title"] == title
    assert cited.retrieve(question, method="auto", k=1)[0].attributes["title"] == title
    unmarked = cited.retrieve(question, method="cg_rag:markers=0,votes=0", k=1)
    assert not unmarked or unmarked[0].attributes["title"] != title


def test_auto_follows_no_link_of_a_document_that_is_passed_over(cited: KnowledgeBase) -> None:
    question = "What did Brill (1995) find on tagging?"
    with_it, without = (cited.method("auto").retrieve_without(question, 5, excluded) for excluded in ((), ("user",)))
    assert [hit.attributes["title"] for hit in with_it][:1] == ["Growing rules for every field"]
    assert without == cited.method("auto").retrieve_without(question, 5, {"user", "nothing"})
    assert "A use" not in [hit.attributes["title"] for hit in without]
    assert without[0].attributes["title"] != "Growing rules for every field"
    unmarked = cited.method("auto").retrieve_without("Tagging of weeds", 5, {"user"})
    assert unmarked[0].attributes["title"] == "Alone"


def test_the_default_finds_what_papers_on_the_subject_cite(kb: KnowledgeBase, tmp_path: Path) -> None:
    users = [
        {"id": f"u{n}", "title": f"Use {n}", "text": f"Tagging of weeds, way {n}.", "cites": ["core", f"own{n}"]}
        for n in range(20)
    ]
    own = [{"id": f"own{n}", "title": f"Own {n}", "text": f"Soil number {n} is dry."} for n in range(20)]
    kb.ingest(papers(tmp_path, {"id": "core", "title": "Core", "text": "Errors drive rules."}, *users, *own))
    kb.build("cg_rag")
    assert kb.retrieve("tagging of weeds", method="cg_rag", k=1)[0].attributes["title"] == "Core"
    assert kb.retrieve("tagging of weeds", method="cg_rag:aggregation=mean", k=1)[0].attributes["title"] != "Core"


def test_a_paper_with_the_words_of_the_question_is_not_outvoted_by_itself(cited: KnowledgeBase) -> None:
    hits = cited.retrieve("Deserts were studied", method="cg_rag", k=2)
    assert hits[0].attributes["title"] == "A reader"


def test_the_arrays_on_disk_have_the_links(tmp_path: Path, cited: KnowledgeBase) -> None:
    from kgrag.methods.cg_rag import citation_arrays

    arrays = citation_arrays.fresh(cited.store, None, save=False)
    arrays.save(tmp_path / "citations.npz")
    read = citation_arrays.CitationArrays.load(tmp_path / "citations.npz")
    assert read is not None
    assert read.links.markers.at(range(len(read.links.markers))) == ["brill 1995", "dry 2001", "wet 2001"]
    assert read.links.cited.tolist() == arrays.links.cited.tolist() != []
