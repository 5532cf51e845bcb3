import random
import re
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.index import bm25, vector_spaces, word_segments
from kgrag.index.array_files import packed, write_arrays
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.index_terms import tokens_of
from kgrag.knowledge_base import forgetting
from kgrag.model import Document
from kgrag.store.oxigraph import OxigraphStore
from kgrag.text import ingestion

TEXTS = {
    "urn:rye": "Rye is sown in autumn, 3 cm deep.",
    "urn:pea": "Peas are sown in spring. Peas climb.",
    "urn:oat": "Oats feed horses in the autumn.",
}


def _index(**options):
    return LexicalIndex.build(list(TEXTS), list(TEXTS.values()), **options)


def test_words_are_stemmed_and_function_words_left_out():
    assert tokens_of("The FARMERS' sowing of 5 seeds") == ["farmer", "sow", "5", "seed"]


def test_a_version_is_found_by_all_of_its_digits():
    texts = {"urn:a": "Version 4.1.3 came in December.", "urn:b": "Versions 4, 1 and 3: 1, 3, 4 and 4, 1, 3."}
    index = LexicalIndex.build(list(texts), list(texts.values()))
    assert [iri for iri, _ in index.search("4.1.3", 1)] == ["urn:a"]


def test_a_name_with_dots_and_an_option_are_found_whole_and_by_their_parts():
    texts = {
        "urn:a": "gc.auto is 3.",
        "urn:b": "Gc: auto auto.",
        "urn:c": "--dry-run shows.",
        "urn:d": "Dry run, run dry.",
    }
    index = LexicalIndex.build(list(texts), list(texts.values()))
    assert [iri for iri, _ in index.search("gc.auto", 2)] == ["urn:a", "urn:b"]
    assert [iri for iri, _ in index.search("Is auto on?", 3)] == ["urn:b", "urn:a"]
    assert index.search("--dry-run", 1)[0][0] == "urn:c"


def test_words_of_any_script_are_words():
    assert tokens_of("Äcker қара 大豆 naïve") == ["äcker", "қара", "大豆", "naïv"]


@given(st.text(max_size=200))
def test_any_text_has_terms_without_line_ends(text):
    assert all(term and "\n" not in term for term in tokens_of(text))


def test_the_text_that_shares_the_rarer_word_comes_first():
    assert [iri for iri, _ in _index().search("Which horses like autumn?", 3)] == ["urn:oat", "urn:rye"]


def test_the_score_is_that_of_lucenes_formula():
    """Term in 1 of 3 texts: idf ln(1 + 2.5/1.5); it occurs once in 4 terms where the mean is 4.

    Lucene leaves out the constant factor k1 + 1, which changes no order.
    """
    texts = ["alpha beta gamma delta", "beta gamma delta zeta", "gamma delta zeta iota"]
    index = LexicalIndex.build(["urn:1", "urn:2", "urn:3"], texts, k1=0.9, b=0.4)
    ((iri, score),) = index.search("alpha", 5)
    assert (iri, score) == ("urn:1", pytest.approx(0.98083 / 1.9, rel=1e-4))


def test_a_text_that_shares_no_word_is_no_hit():
    assert _index().search("tractor engine", 5) == []
    assert _index().search("the of and", 5) == []
    assert _index().search("", 5) == []


def test_ties_go_to_the_iri_that_sorts_first_whatever_k():
    names = [f"urn:{i:02}" for i in range(30)]
    shuffled = random.Random(1).sample(names, len(names))
    index = LexicalIndex.build(shuffled, ["loam"] * len(names))
    for k in (1, 7, 30, 99):
        assert [iri for iri, _ in index.search("loam", k)] == names[:k]


@given(st.lists(st.text("abc dë9\n", max_size=12), max_size=12), st.text("abc dë9", max_size=8), st.integers(1, 14))
def test_hits_are_ranked_bounded_and_do_not_depend_on_the_order_of_texts(texts, question, k):
    iris = [f"urn:{i}" for i in range(len(texts))]
    hits = LexicalIndex.build(iris, texts).search(question, k)
    assert hits == sorted(hits, key=lambda pair: (-pair[1], pair[0]))
    assert len(hits) <= k
    assert hits == LexicalIndex.build(iris[::-1], texts[::-1]).search(question, k)


def test_no_texts_and_texts_without_words_can_be_searched(tmp_path):
    for index in (LexicalIndex.build([], []), LexicalIndex.build(["urn:a"], ["the … ?"])):
        index.save(tmp_path / "i.npz")
        assert LexicalIndex.load(tmp_path / "i.npz").search("anything", 5) == index.search("anything", 5) == []


WORDS = st.sampled_from(["of"] + ["the loam"] * 3 + [f"w{n}" for n in range(12)] + ["sown"] * 8 + ["deep"] * 4)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=40),
    st.lists(WORDS, max_size=7).map(" ".join),
    st.integers(1, 45),
)
def test_looking_only_at_promising_texts_gives_what_scoring_them_all_gives(texts, question, k):
    index = LexicalIndex.build([f"urn:{i}" for i in range(len(texts))], texts)
    every = index.search(question, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "_MAX_TEXTS_ALL_SCORED", 0)
        assert index.search(question, k) == every


def test_k1_and_b_outside_their_range_are_refused():
    with pytest.raises(InvalidSettings, match=r"b=1\.5"):
        _index(b=1.5)


def test_a_saved_index_gives_the_same_hits_and_revision(tmp_path):
    _index(revision=7).save(tmp_path / "deep" / "chunk.npz")
    loaded = LexicalIndex.load(tmp_path / "deep" / "chunk.npz")
    assert (loaded.revision, len(loaded)) == (7, 3)
    assert loaded.search("sown in autumn", 5) == _index().search("sown in autumn", 5)
    listed, segment = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert re.fullmatch(r"chunk\.[0-9a-f]{16}\.npz", listed)
    assert segment == "chunk.npz"


def test_a_missing_file_is_no_index(tmp_path):
    assert LexicalIndex.load(tmp_path / "absent.npz") is None


def test_any_damaged_byte_gives_no_index_or_the_same_one(tmp_path):
    path = tmp_path / "chunk.npz"
    _index().save(path)
    wanted = _index().search("autumn peas", 5)
    for file in tmp_path.iterdir():
        whole = file.read_bytes()
        for position in range(0, len(whole), 7):
            file.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
            found = LexicalIndex.load(path)
            assert found is None or found.search("autumn peas", 5) == wanted
        file.write_bytes(whole)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_short_gives_no_index(tmp_path, share):
    path = tmp_path / "chunk.npz"
    _index().save(path)
    for file in tmp_path.iterdir():
        whole = file.read_bytes()
        file.write_bytes(whole[: int(share * len(whole))])
        assert LexicalIndex.load(path) is None
        file.write_bytes(whole)


def test_a_disk_that_refuses_keeps_the_old_index(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    with pytest.raises(StorageFailed, match="could not be written"):
        _index().save(blocked / "chunk.npz")


@pytest.fixture
def store():
    with_store = OxigraphStore.open(None)
    yield with_store
    with_store.close()


def _add(store, *texts):
    ingestion.ingest([Document(text, title=f"About {text[:4]}") for text in texts], store=store)


def test_a_fresh_index_holds_the_chunks_of_the_store_under_their_titles(store):
    _add(store, "Rye is sown.", "Peas climb.")
    index = bm25.fresh(store, None)
    assert len(index) == 2
    assert index.revision == store.revision
    assert len(index.search("rye", 5)) == 1


def test_the_title_of_a_document_takes_part(store):
    ingestion.ingest([Document("It climbs.", title="Peas"), Document("It stands.", title="Rye")], store=store)
    assert len(bm25.fresh(store, None).search("Do peas climb?", 5)) == 1


def test_an_index_is_the_same_object_until_chunks_change(store, tmp_path):
    _add(store, "Rye is sown.")
    first = bm25.fresh(store, tmp_path)
    assert bm25.fresh(store, tmp_path) is first
    _add(store, "Peas climb.")
    assert len(bm25.fresh(store, tmp_path)) == 2


def test_an_index_on_disk_is_read_again_and_rebuilt_when_damaged(store, tmp_path):
    _add(store, "Rye is sown.")
    bm25.fresh(store, tmp_path)
    bm25._OPEN.clear()
    assert len(bm25.fresh(store, tmp_path)) == 1
    (tmp_path / "chunk.npz").write_bytes(b"rubbish")
    bm25._OPEN.clear()
    assert bm25.fresh(store, tmp_path).search("rye", 1)
    assert LexicalIndex.load(tmp_path / "chunk.npz") is not None


def test_read_only_use_writes_nothing(store, tmp_path):
    _add(store, "Rye is sown.")
    assert bm25.fresh(store, tmp_path, save=False).search("rye", 1)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from("rye pea oat seed sow deep".split()), min_size=1, max_size=6), max_size=30),
    st.sets(st.integers(0, 29)),
    st.integers(1, 12),
    st.sampled_from([(100, 100), (0, 100), (0, 3), (0, 0)]),
)
def test_a_search_within_some_keys_is_the_whole_ranking_without_the_others(texts, allowed, k, limits):
    names = [f"urn:{number:02}" for number in range(len(texts))]
    index = LexicalIndex.build(names, [" ".join(words) for words in texts])
    within = frozenset(f"urn:{number:02}" for number in allowed)
    whole = [pair for pair in index.search("rye seed deep rye", 30) if pair[0] in within]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bm25, "_MAX_TEXTS_ALL_SCORED", limits[0])
        patch.setattr(bm25, "_MAX_TEXTS_SCORED_ONE_BY_ONE", limits[1])
        for _ in range(2):  # looked up, and kept
            found = index.search("rye seed deep rye", k, within)
            assert [score for _, score in found] == pytest.approx([score for _, score in whole[:k]], rel=1e-5)
            assert {iri for iri, _ in found} <= within
        assert index.search("rye seed deep rye", k, sorted(within)) == found


# --- an index that grows --------------------------------------------------------------------------------------------

CHANGES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 25), st.lists(WORDS, max_size=6).map(" ".join), max_size=6),
        st.sets(st.integers(0, 25), max_size=5),
    ),
    max_size=8,
)


@settings(max_examples=200, deadline=None)
@given(CHANGES, st.lists(WORDS, max_size=6).map(" ".join), st.integers(1, 30), st.sets(st.integers(0, 25)))
def test_an_index_that_grew_returns_the_scores_of_a_fresh_one(changes, question, k, allowed):
    texts, grown = {}, LexicalIndex.build([], [])
    within = frozenset(f"urn:{number}" for number in allowed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_segments, "_SIZE_RATIO", 1)
        for added, removed in changes:
            gone = {f"urn:{number}" for number in removed}
            come = {f"urn:{number}": text for number, text in added.items()}
            texts = {iri: text for iri, text in texts.items() if iri not in gone} | come
            grown = grown.with_changes(added=come.items(), removed=gone)
            fresh = LexicalIndex.build(list(texts), list(texts.values()))
            assert len(grown) == len(fresh)
            assert grown.same_as(fresh)
            assert grown.search(question, k) == fresh.search(question, k)
            assert grown.search(question, k, within) == fresh.search(question, k, within)
            assert grown.iris.at(range(len(grown))) == fresh.iris.at(range(len(fresh))) == sorted(texts)
            assert np.array_equal(grown.relevance(question), fresh.relevance(question))
            with pytest.MonkeyPatch.context() as choosing:
                choosing.setattr(bm25, "_MAX_TEXTS_ALL_SCORED", 0)
                assert grown.search(question, k) == fresh.search(question, k)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=9).map(" ".join), min_size=1, max_size=20), st.lists(WORDS).map(" ".join))
def test_scores_are_those_of_bm25s(texts, question):
    import bm25s

    terms = [tokens_of(text) for text in texts]
    if not any(terms) or not (known := set().union(*terms).intersection(tokens_of(question))):
        return
    reference = bm25s.BM25(method="lucene", k1=0.9, b=0.4, backend="numpy")
    reference.index(terms, show_progress=False)
    asked = [term for term in tokens_of(question) if term in known]
    expected = reference.get_scores_from_ids(reference.get_tokens_ids(asked))
    index = LexicalIndex.build([f"urn:{number:02}" for number in range(len(texts))], texts)
    assert index.relevance(question) == pytest.approx(expected, rel=1e-5)


def test_unit_weights_are_those_of_a_fresh_index():
    grown = LexicalIndex.build(["urn:pea"], ["replaced soon"]).with_changes(added=TEXTS.items())
    assert (grown.weights() != _index().weights()).nnz == 0


def test_many_single_additions_leave_few_parts_and_write_each_text_a_few_times(monkeypatch):
    written = []
    merged = word_segments.merged
    monkeypatch.setattr(word_segments, "merged", lambda parts: written.append(sum(map(len, parts))) or merged(parts))
    index = LexicalIndex.build([f"urn:{i}" for i in range(512)], ["loam"] * 512)
    for i in range(512, 1024):
        index = index.with_changes(added=[(f"urn:{i}", "loam")])
    assert len(index.parts) <= 4
    assert sum(written) < 30 * 512


def test_texts_that_are_gone_leave_the_index_when_they_are_three_in_ten():
    names = [f"urn:{i}" for i in range(10)]
    index = LexicalIndex.build(names, ["loam"] * 10)
    assert len(index.with_changes(removed=names[:3]).parts[0].segment) == 10
    assert len(index.with_changes(removed=names[:4]).parts[0].segment) == 6


@pytest.fixture
def reads(monkeypatch):
    """How many texts each reading of the store returned; None for one of all texts."""
    counts, texts = [], vector_spaces.texts

    def counted(name, *, store, iris=None):
        rows = texts(name, store=store, iris=iris)
        counts.append(None if iris is None else len(rows))
        return rows

    monkeypatch.setattr(vector_spaces, "texts", counted)
    return counts


def _fresh_of(store):
    rows = vector_spaces.texts("chunk", store=store)
    return LexicalIndex.build([iri for iri, _ in rows], [text for _, text in rows])


def test_one_more_document_reads_and_writes_no_text_of_the_others(store, tmp_path, reads):
    _add(store, *(f"Field {i} of rye." for i in range(20)))
    bm25.fresh(store, tmp_path)
    (base,) = tmp_path.glob("chunk.*.npz")
    before = base.stat()
    _add(store, "Peas climb.")
    index = bm25.fresh(store, tmp_path)
    assert reads == [None, 1]
    assert len(list(tmp_path.glob("chunk.*.npz"))) == 2
    assert base.stat() == before
    bm25._OPEN.clear()
    assert bm25.fresh(store, tmp_path).same_as(index)
    assert index.same_as(_fresh_of(store))


def test_a_document_that_is_forgotten_here_leaves_without_reading_the_others(store, tmp_path, reads):
    _add(store, *(f"Field {i} of rye." for i in range(20)))
    bm25.fresh(store, tmp_path)
    (document,) = forgetting.named(store, "About Fiel", every=True)[:1]
    forgetting.forget([document], store=store)
    _add(store, "Peas climb.")
    index = bm25.fresh(store, tmp_path)
    assert reads == [None, 1]
    assert len(index) == 20
    assert index.same_as(_fresh_of(store))


def test_a_document_that_another_process_forgot_leaves_as_well(store, tmp_path, monkeypatch):
    _add(store, *(f"Field {i} of rye." for i in range(20)))
    bm25.fresh(store, tmp_path)
    monkeypatch.setattr("kgrag.index.change_feed.note_removed", lambda *_: None)
    forgetting.forget(forgetting.named(store, "About Fiel", every=True)[:1], store=store)
    assert bm25.fresh(store, tmp_path).same_as(_fresh_of(store))


def test_an_update_that_changes_the_words_of_a_chunk_is_followed(store, tmp_path):
    _add(store, "Rye is sown.", "Peas climb.")
    bm25.fresh(store, tmp_path)
    store.update(
        'PREFIX kg: <https://w3id.org/kgrag/ns#> DELETE { GRAPH ?g { ?c kg:text "Peas climb." } } '
        'INSERT { GRAPH ?g { ?c kg:text "Beans climb." } } WHERE { GRAPH ?g { ?c a kg:Chunk ; kg:text "Peas climb." } }'
    )
    assert bm25.fresh(store, tmp_path).search("beans", 1)


@pytest.mark.parametrize(
    ("update", "found"),
    [
        ("INSERT DATA {{ GRAPH {g} {{ <urn:note> <urn:says> 'late' }} }}", "peas"),
        ("INSERT DATA {{ GRAPH {g} {{ <urn:c> a kg:Chunk ; kg:text 'Hops climb.' }} }}", "hops"),
        ("DELETE {{ GRAPH {g} {{ ?c kg:text ?t }} }} INSERT {{ GRAPH {g} {{ ?c kg:text 'Hops.' }} }} "
         "WHERE {{ GRAPH {g} {{ ?c kg:text ?t }} }}", "hops"),
        ("DELETE WHERE {{ GRAPH {g} {{ ?c kg:text ?t }} }}", ""),
        ("DROP GRAPH {g}", ""),
    ],
)  # fmt: skip
def test_an_update_of_one_document_reads_no_other(store, tmp_path, reads, update, found):
    _add(store, *(f"Field {i} of rye." for i in range(20)), "Peas climb.")
    bm25.fresh(store, tmp_path)
    (row,) = store.select(
        "SELECT DISTINCT ?g { GRAPH ?g { ?c <https://w3id.org/kgrag/ns#text> 'Peas climb.' } }"
    ).values()
    store.update("PREFIX kg: <https://w3id.org/kgrag/ns#> " + update.format(g=f"<{row[0]}>"))
    index = bm25.fresh(store, tmp_path)
    assert reads[0] is None
    assert max(reads[1:]) <= 2
    assert index.same_as(_fresh_of(store))
    assert bool(found) == bool(index.search(found or "peas", 1))


@pytest.mark.parametrize(
    "update",
    [
        "INSERT DATA { GRAPH <urn:data> { <urn:s> <urn:p> 1 } }",
        "INSERT { GRAPH <urn:data> { ?s <urn:p> ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }",
        "CLEAR GRAPH <urn:data>",
    ],
)
def test_an_update_of_another_graph_reads_no_text(store, tmp_path, reads, update):
    _add(store, "Rye is sown.")
    store.update("INSERT DATA { GRAPH <urn:data> { <urn:s> <urn:p> 0 } }")
    index = bm25.fresh(store, tmp_path)
    store.update(update)
    assert bm25.fresh(store, tmp_path).same_as(index)
    assert reads == [None]


@pytest.mark.parametrize("last", [".npz", "chunk.npz"])
def test_a_kill_between_two_files_leaves_the_earlier_index_and_the_next_use_goes_on(store, tmp_path, monkeypatch, last):
    """The segment of what is new is written and its list is not, or neither is removed what it replaced."""
    _add(store, *(f"Field {i} of rye." for i in range(4)))
    bm25.fresh(store, tmp_path)
    _add(store, "Peas climb.")
    real = bm25.write_arrays

    def killed(path, *rest, **options):
        if path.name == last:
            raise KeyboardInterrupt
        real(path, *rest, **options)
        if path.name != "chunk.npz" and last == ".npz":
            raise KeyboardInterrupt
        return ""

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(bm25, "write_arrays", killed)
        bm25.fresh(store, tmp_path)
    bm25._OPEN.clear()
    assert len(LexicalIndex.load(tmp_path / "chunk.npz")) == 4
    assert bm25.fresh(store, tmp_path).same_as(_fresh_of(store))
    listed = {name for name, _ in bm25._listed(tmp_path / "chunk.npz")[1]["segments"]}
    assert {path.name for path in tmp_path.iterdir()} == {"chunk.npz", *listed}


def test_a_damaged_segment_is_found_and_all_is_made_again(store, tmp_path):
    _add(store, *(f"Field {i} of rye." for i in range(20)))
    bm25.fresh(store, tmp_path)
    _add(store, "Peas climb.")
    bm25.fresh(store, tmp_path)
    assert bm25.faults(store, tmp_path, space="chunk") == []
    newest = min(tmp_path.glob("chunk.*.npz"), key=lambda path: path.stat().st_size)
    content = newest.read_bytes()
    newest.write_bytes(content[:200] + bytes([content[200] ^ 1]) + content[201:])
    (fault,) = bm25.faults(store, tmp_path, space="chunk")
    assert newest.name in fault.message
    bm25._OPEN.clear()
    assert bm25.fresh(store, tmp_path).same_as(_fresh_of(store))
    assert bm25.faults(store, tmp_path, space="chunk") == []
    assert not newest.exists()


def test_a_segment_of_another_index_is_not_taken_for_that_which_is_listed(store, tmp_path):
    _add(store, "Rye is sown.")
    bm25.fresh(store, tmp_path)
    _index().save(tmp_path / "other" / "chunk.npz")
    (segment,), (other,) = tmp_path.glob("chunk.*.npz"), (tmp_path / "other").glob("chunk.*.npz")
    shutil.copy(other, segment)
    assert LexicalIndex.load(tmp_path / "chunk.npz") is None


def test_a_file_of_an_earlier_format_is_made_again_without_a_word(store, tmp_path, caplog):
    _add(store, "Rye is sown.")
    write_arrays(tmp_path / "chunk.npz", {"settings": packed(['{"format": 2, "revision": 1, "k1": 0.9, "b": 0.4}'])})
    assert bm25.fresh(store, tmp_path).search("rye", 1)
    assert LexicalIndex.load(tmp_path / "chunk.npz") is not None
    assert caplog.records == []
