"""What is asked about all rows of a table is decided by all chunks of it in the store, up to a bound."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.answering import whole_tables
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

PUMPS = [
    (f"P-{number}", ("belt", "direct", "gear")[number % 3], 100 + 7 * number % 613, f"{number % 90 + 1}.50")
    for number in range(1, 301)
]
HEAD = ("Pump", "Drive", "Flow (l/min)", "Price (EUR)")


@pytest.fixture(scope="module", params=["csv", "html"])
def kb(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """Return a knowledge base with one table of 300 rows, which is cut into many chunks."""
    folder = tmp_path_factory.mktemp("pumps")
    rows = [HEAD, *(tuple(map(str, row)) for row in PUMPS)]
    if request.param == "csv":
        (folder / "pumps.csv").write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    else:
        cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in rows[1:])
        head = "".join(f"<th>{cell}</th>" for cell in HEAD)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        page = f"<h1>Pumps</h1><p>All pumps are tested for an hour.</p><table><tr>{head}</tr>{body}</table>"
        (folder / "pumps.html").write_text(page, encoding="utf-8")
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder()) as kb:
        kb.ingest(next(Path(folder).glob("pumps.*")))
        yield kb


def short(kb: KnowledgeBase, question: str) -> list[str]:
    return [value.shown for value in kb.ask(question, method="passages").values]


def test_counts_sums_and_extremes_are_those_of_all_rows(kb: KnowledgeBase) -> None:
    direct = [row for row in PUMPS if row[1] == "direct"]
    assert short(kb, "How many pumps have a direct drive?") == [str(len(direct))]
    assert short(kb, "How many pumps have a flow over 500 l/min?") == [str(sum(row[2] > 500 for row in PUMPS))]
    total = sum(float(row[3]) for row in PUMPS)
    assert short(kb, "What is the total price of the pumps?") == [f"{total:.2f} EUR"]
    assert short(kb, "Which pump has the highest flow?") == [max(PUMPS, key=lambda row: row[2])[0]]


def test_a_row_is_found_by_its_name_wherever_it_is(kb: KnowledgeBase) -> None:
    assert short(kb, "What is the flow of the pump P-287?") == [f"{PUMPS[286][2]} l/min"]
    assert kb.ask("What is the flow of the pump P-999?", method="passages").values == ()


def test_an_answer_about_many_rows_cites_the_first_and_says_so(kb: KnowledgeBase) -> None:
    answer = kb.ask("How many pumps have a direct drive?", method="passages")
    cited = "\n".join(citation.quote for citation in answer.citations)
    assert "P-1" in cited
    assert "100 rows were read; the first 10 are cited." in answer.explain
    assert len(answer.hits) < 30


def test_a_document_above_the_bound_is_not_read_and_the_answer_says_so(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_tables, "MOST_CHUNKS", 5)
    answer = kb.ask("How many pumps have a direct drive?", method="passages")
    assert answer.unknown
    assert "more than 5 chunks, so their rows were not compared" in answer.explain[-1]


def test_an_answer_beside_which_a_table_was_left_out_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_tables, "_MAX_DOCUMENTS", 1)
    rows = "\n".join(",".join(map(str, row)) for row in (HEAD, *PUMPS))
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as kb:
        for name in ("old", "new"):
            (tmp_path / f"{name}.csv").write_text(rows.replace("direct", f"direct {name}"), encoding="utf-8")
            kb.ingest(tmp_path / f"{name}.csv")
        answer = kb.ask("How many pumps have a flow over 500 l/min?", method="passages", k=30)
    assert answer.not_stated == "tables of further documents, which were not read"
    assert not answer.unknown
