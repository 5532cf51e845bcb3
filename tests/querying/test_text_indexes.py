"""Indexes that users declare: what may be one, what is found in it, and how it follows the store."""

from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InputError, InvalidSPARQL, UnknownName
from kgrag.knowledge_base import KnowledgeBase
from kgrag.querying.text_indexes import index_queries, indexed_texts, text_indexes
from kgrag.querying.text_indexes.index_changes import changed_subjects
from kgrag.querying.text_indexes.indexed_texts import IndexedTexts
from kgrag.store import fact_journal
from kgrag.testing import HashEmbedder

NAMES = "SELECT ?iri ?text { ?iri a <urn:x:Crop> ; <urn:x:name> ?text }"
BY_KIND = "SELECT ?iri ?text { ?iri a ?kind . ?kind <urn:x:name> ?text }"
CROPS = """@prefix : <urn:x:> .
:barley a :Crop ; :name "winter barley" , "Wintergerste"@de .
:rice a :Crop ; :name "paddy rice" .
:tool a :Tool ; :name "seed drill" .
[] a :Crop ; :name "nameless rye" .
"""


def _filled(folder: Path) -> KnowledgeBase:
    (folder / "crops.ttl").write_text(CROPS, encoding="utf-8")
    filled = KnowledgeBase(embedder=HashEmbedder())
    filled.load(folder / "crops.ttl")
    filled.add_index("crops", NAMES)
    return filled


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    return _filled(tmp_path)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return _filled(tmp_path_factory.mktemp("unchanged"))


def found(kb: KnowledgeBase, search: str) -> list[str]:
    return [row[0].value.removeprefix("urn:x:") for row in kb.query(f"SELECT ?n {{ ?n {search} }}")]  # type: ignore[union-attr,index]


def opened(kb: KnowledgeBase) -> IndexedTexts:
    return text_indexes._OPEN[kb.store]["crops"]


def test_labels_of_loaded_rdf_are_found_by_words_and_by_meaning(unchanged: KnowledgeBase) -> None:
    kb = unchanged
    assert found(kb, 'kgv:matches ("barley" 5 "crops")') == ["barley"]
    assert found(kb, 'kgv:matches ("Wintergerste" 5 "crops")') == ["barley"]
    assert found(kb, 'kgv:near ("paddy rice" 1 "crops")') == ["rice"]
    assert found(kb, 'kgv:matches ("rye seed drill" 5 "crops")') == []
    assert kb.query('ASK { FILTER(kgv:similarity(<urn:x:rice>, "paddy rice") > 0.99) }') is True


def test_an_index_follows_what_was_changed_without_reading_the_rest(kb: KnowledgeBase) -> None:
    found(kb, 'kgv:near ("rice" 1 "crops")')
    kb.update('INSERT DATA { GRAPH <urn:g> { <urn:x:oats> a <urn:x:Crop> ; <urn:x:name> "naked oats" } }')
    kb.update("DELETE WHERE { GRAPH ?g { <urn:x:rice> ?p ?o } }")
    kb.update('DELETE DATA { GRAPH <urn:g> { <urn:x:oats> <urn:x:name> "none" } }')
    assert found(kb, 'kgv:matches ("oats rice" 5 "crops")') == ["oats"]
    assert sorted(found(kb, 'kgv:near ("naked oats" 5 "crops")')) == ["barley", "oats"]
    assert opened(kb).made == 1 + 1  # DELETE WHERE does not say which graphs it changes
    kb.update('INSERT DATA { GRAPH <urn:g> { <urn:x:oats> <urn:x:name> "hulless oats" } }')
    assert found(kb, 'kgv:matches ("hulless" 5 "crops")') == ["oats"]
    assert (opened(kb).made, opened(kb).followed) == (2, 2)  # it began with the change that declared the index


def test_a_query_over_two_steps_is_read_anew_and_says_so(kb: KnowledgeBase) -> None:
    state = kb.add_index("kinds", BY_KIND)
    assert (state.follows, state.texts) == (False, 0)
    kb.update('INSERT DATA { GRAPH <urn:g> { <urn:x:Crop> <urn:x:name> "cultivated plant" } }')
    assert found(kb, 'kgv:matches ("cultivated" 5 "kinds")') == ["barley", "rice"]


@pytest.mark.parametrize(
    ("query", "follows"),
    [
        (NAMES, True),
        ("SELECT DISTINCT ?text ?iri { GRAPH ?g { ?iri <urn:a> ?x OPTIONAL { ?iri <urn:b> ?y } } BIND(CONCAT(?x, ?y) AS ?text) }", True),
        ("SELECT ?iri ?text { { ?iri <urn:a> ?text } UNION { ?iri <urn:b> ?text } FILTER(LANG(?text) = 'en') }", True),
        ("SELECT ?iri ?text { ?iri <urn:a> ?text FILTER NOT EXISTS { ?iri <urn:hidden> ?x } }", True),
        ("SELECT ?iri ?text { OPTIONAL { ?iri <urn:a> ?text } OPTIONAL { ?iri <urn:b> ?text } }", False),
        ("SELECT ?iri ?text { ?iri <urn:a>/<urn:b> ?text }", False),
        ("SELECT ?iri ?text { ?x <urn:a> ?iri . ?iri <urn:b> ?text }", False),
        ("SELECT ?iri ?text { ?iri <urn:a> ?text } LIMIT 5", False),
        ("SELECT ?iri (GROUP_CONCAT(?x) AS ?text) { ?iri <urn:a> ?x } GROUP BY ?iri", False),
        ("SELECT ?iri ?text { ?iri <urn:a>+ ?text }", False),
        ("SELECT ?iri ?text { { SELECT ?iri ?text { ?iri <urn:a> ?text } } }", False),
        ("SELECT (?x AS ?iri) ?text { ?x <urn:a> ?text }", False),
    ],
)  # fmt: skip
def test_only_a_query_about_its_iri_alone_is_followed(query: str, follows: bool) -> None:
    assert index_queries.by_subject(query) is follows


_NODES = st.sampled_from(["urn:x:a", "urn:x:b", "urn:x:c"])
_QUADS = st.tuples(_NODES, st.sampled_from(["urn:x:p", "urn:x:q"]), st.sampled_from(["sow", "reap", "weed"]), _NODES)
_FOLLOWED = [
    "SELECT ?iri ?text { ?iri <urn:x:p> ?text }",
    "SELECT ?iri ?text { GRAPH ?g { ?iri <urn:x:p> ?a OPTIONAL { ?iri <urn:x:q> ?b } } BIND(COALESCE(?b, ?a) AS ?text) }",
    "SELECT ?iri ?text { ?iri ?p 'sow' { ?iri <urn:x:p> ?text } UNION { ?iri <urn:x:q> ?text } MINUS { ?iri ?q 'weed' } }",
    "SELECT ?iri ?text { ?iri <urn:x:p> ?text FILTER EXISTS { ?iri <urn:x:q> ?other } }",
]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.sampled_from(_FOLLOWED), st.sets(_QUADS, max_size=8), st.sets(_QUADS, max_size=3), st.sets(_QUADS, max_size=3)
)
def test_texts_of_other_subjects_stay_as_they_were(
    query: str,
    before: set[tuple[str, str, str, str]],
    gone: set[tuple[str, str, str, str]],
    come: set[tuple[str, str, str, str]],
) -> None:
    def texts(quads: set[tuple[str, str, str, str]], only: str = "") -> set[tuple[str, str]]:
        store = ox.Store()
        store.extend(ox.Quad(ox.NamedNode(s), ox.NamedNode(p), ox.Literal(o), ox.NamedNode(g)) for s, p, o, g in quads)
        given = {ox.Variable("iri"): ox.NamedNode(only)} if only else {}
        rows = store.query(query, use_default_graph_as_union=True, substitutions=given)
        return {(row["iri"].value, row["text"].value) for row in rows}  # type: ignore[union-attr,index]

    after = (before - gone) | come
    changed = {subject for subject, *_ in before ^ after}
    followed = {pair for pair in texts(before) if pair[0] not in changed}
    for subject in changed:
        followed |= texts(after, subject)
    assert index_queries.by_subject(query)
    assert followed == texts(after)


def test_a_new_document_is_known_by_its_subjects(kb: KnowledgeBase, tmp_path: Path) -> None:
    since = kb.store.revision
    (tmp_path / "note.txt").write_text("Sow in May.", encoding="utf-8")
    kb.add_index(
        "titles",
        "SELECT ?iri ?text { ?iri a <https://w3id.org/kgrag/ns#Document> ; <http://purl.org/dc/terms/title> ?text }",
    )
    kb.ingest(tmp_path / "note.txt")
    assert len(found(kb, 'kgv:matches ("note" 5 "titles")')) == 1
    assert changed_subjects(kb.store, since) is not None


@pytest.mark.parametrize(
    ("name", "query", "told"),
    [
        ("No name", NAMES, "no name"),
        ("chunk", NAMES, "kgrag has itself"),
        ("x", "SELECT ?iri { ?iri ?p ?o }", "selects \\?iri and \\?text"),
        ("x", "ASK {}", "selects \\?iri and \\?text"),
        ("x", "SELECT ?iri ?text { ?iri kgv:near ('a') ; <urn:a> ?text }", "cannot search"),
        ("x", "SELECT ?iri ?text { SERVICE <http://127.0.0.1:9/> { ?iri ?p ?text } }", "SERVICE"),
        ("x", "SELECT ?iri ?text { ?iri a ?text }", "in none \\?iri is an IRI and \\?text a text"),
    ],
)
def test_what_cannot_be_an_index_is_refused(unchanged: KnowledgeBase, name: str, query: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        unchanged.add_index(name, query)
    assert [state.index.name for state in unchanged.indexes()] == ["crops"]


def test_limits_are_told_and_not_passed_in_silence(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_queries, "MAX_TEXTS", 1)
    with pytest.raises(InvalidSPARQL, match="more than 1 texts"):
        kb.add_index("x", NAMES)
    kb.update(
        'INSERT DATA { GRAPH <urn:g> { <urn:x:oats> <urn:x:name> "oats" . <urn:x:rice> <urn:x:name> "a" , "b" } }'
    )
    with pytest.raises(InvalidSPARQL, match="index 'crops' could not be brought up to date"):
        found(kb, 'kgv:matches ("rice" 5 "crops")')
    assert [finding.check for finding in kb.doctor()] == ["indexes"]
    assert "more than 1" in kb.indexes()[0].problem


def test_an_index_that_is_gone_or_misspelt_is_refused_with_its_place(kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidSPARQL, match=r"line 1, column .*Did you mean 'crops'"):
        found(kb, 'kgv:near ("rice" 5 "crop")')
    kb.remove_index("crops")
    with pytest.raises(InvalidSPARQL, match="'crops'"):
        found(kb, 'kgv:matches ("rice" 5 "crops")')
    with pytest.raises(UnknownName):
        kb.remove_index("crops")


def test_an_index_lives_on_in_its_folder_and_in_a_dump(tmp_path: Path) -> None:
    (tmp_path / "crops.ttl").write_text(CROPS, encoding="utf-8")
    with KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder()) as kb:
        kb.load(tmp_path / "crops.ttl")
        kb.add_index("crops", NAMES, "Crops by name")
        assert found(kb, 'kgv:near ("paddy rice" 1 "crops")') == ["rice"]
        kb.store.dump(tmp_path / "all.nq")
    embedded: list[str] = []

    class Counting(HashEmbedder):
        def embed(self, texts, kind):  # type: ignore[no-untyped-def]
            embedded.extend(texts if kind == "passage" else [])
            return super().embed(texts, kind)

    with KnowledgeBase(tmp_path / "kb", embedder=Counting(), read_only=True) as kb:
        assert found(kb, 'kgv:near ("paddy rice" 1 "crops")') == ["rice"]
        assert found(kb, 'kgv:matches ("rice" 1 "crops")') == ["rice"]
        assert (opened(kb).index.title, embedded) == ("Crops by name", [])
    with KnowledgeBase(tmp_path / "other", embedder=HashEmbedder()) as kb:
        kb.store.load(tmp_path / "all.nq")
        assert found(kb, 'kgv:matches ("rice" 1 "crops")') == ["rice"]
        kb.remove_index("crops")
        assert list((tmp_path / "other" / "lexical").glob("index_*")) == []


def test_texts_are_embedded_when_somebody_asks_by_meaning_and_once(kb: KnowledgeBase) -> None:
    assert kb.indexes()[0].waiting == 2
    found(kb, 'kgv:near ("rice" 1 "crops")')
    assert kb.indexes()[0].waiting == 0
    assert kb.spaces.names() == [indexed_texts.space_name("crops")]


def test_an_erasure_leaves_no_text_of_an_index_behind(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(
        "The zymurgist of Ostrel buried sixteen barrels of quince mead.", encoding="utf-8"
    )
    (tmp_path / "other.txt").write_text("Rice stands in water.", encoding="utf-8")
    with KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder()) as kb:
        kb.ingest(tmp_path / "secret.txt")
        kb.ingest(tmp_path / "other.txt")
        kb.add_index("texts", "SELECT ?iri ?text { ?iri <https://w3id.org/kgrag/ns#text> ?text }")
        assert found(kb, 'kgv:near ("zymurgist mead" 1 "texts")') != []
        assert kb.erase("secret").found == ()
        assert found(kb, 'kgv:matches ("zymurgist" 5 "texts")') == []
        assert len(found(kb, 'kgv:near ("zymurgist" 5 "texts")')) == 2  # the document and its chunk
    assert not [path for path in (tmp_path / "kb").rglob("*") if path.is_file() and b"zymurgist" in path.read_bytes()]


def test_what_is_inserted_into_a_large_graph_is_followed_too(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(kb, 'kgv:matches ("rice" 5 "crops")')
    monkeypatch.setattr(fact_journal, "MAX_QUADS", 4)
    ((graph,),) = kb.query("SELECT DISTINCT ?g { GRAPH ?g { <urn:x:rice> a ?c } }").values()  # type: ignore[union-attr]
    kb.update(f'INSERT DATA {{ GRAPH <{graph}> {{ <urn:x:oats> a <urn:x:Crop> ; <urn:x:name> "naked oats" }} }}')
    assert found(kb, 'kgv:matches ("oats" 5 "crops")') == ["oats"]
    assert opened(kb).made == 1
    kb.update(f'DELETE DATA {{ GRAPH <{graph}> {{ <urn:x:oats> <urn:x:name> "naked oats" }} }}')
    assert found(kb, 'kgv:matches ("oats" 5 "crops")') == []
    assert opened(kb).made == 2


@pytest.mark.parametrize(
    ("update", "added"),
    [
        ("INSERT DATA { GRAPH <urn:g> { <urn:a> a <urn:b> ; <urn:p> 1.50 , true , 'a' } }", 4),
        ("PREFIX x: <urn:> INSERT DATA { x:a x:p x:b } ; INSERT DATA { GRAPH x:g { x:a x:p x:c } }", 1),
        ("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> [] } }", None),
    ],
)
def test_what_an_update_inserts_is_told_from_its_text(
    update: str, added: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.update(
            "INSERT DATA { <urn:a> <urn:p> <urn:b> . GRAPH <urn:g> { <urn:a> <urn:q> 1 , 2 , 3 , 4 , 5 , 6 , 7 } }"
        )
        before = set(kb.store._store)  # type: ignore[attr-defined]
        since = kb.store.revision
        monkeypatch.setattr(fact_journal, "MAX_QUADS", 6)
        kb.update(update)
        told = fact_journal.changes(kb.store, since, kb.store.revision)
        catalogue = kb.store.names.catalogue
        now = {quad for quad in set(kb.store._store) - before if quad.graph_name != catalogue}  # type: ignore[attr-defined]
        assert told == (None if added is None else (now, set()))
        assert added is None or len(now) == added
