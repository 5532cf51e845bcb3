import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InvalidSettings, StorageFailed
from kgrag.index import bm25
from kgrag.index.bm25 import LexicalIndex, tokens_of
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
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["chunk.npz"]


def test_a_missing_file_is_no_index(tmp_path):
    assert LexicalIndex.load(tmp_path / "absent.npz") is None


def test_any_damaged_byte_gives_no_index_or_the_same_one(tmp_path):
    path = tmp_path / "chunk.npz"
    _index().save(path)
    whole = path.read_bytes()
    wanted = _index().search("autumn peas", 5)
    for position in range(0, len(whole), 7):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :])
        found = LexicalIndex.load(path)
        assert found is None or found.search("autumn peas", 5) == wanted


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_file_that_was_cut_short_gives_no_index(tmp_path, share):
    path = tmp_path / "chunk.npz"
    _index().save(path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    assert LexicalIndex.load(path) is None


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
