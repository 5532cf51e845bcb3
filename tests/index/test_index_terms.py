"""Terms of texts by their language, and how questions find them."""

from kgrag.index.bm25 import LexicalIndex
from kgrag.index.index_terms import question_terms, text_terms, tokens_of
from kgrag.index.word_queries import search, snippet

GERMAN = "Die Paketverwaltung legt die Pakete in einem Verzeichnis ab, das nicht gelöscht werden darf."
FRENCH = "Le gestionnaire de paquets range les paquets dans un répertoire qui ne doit pas être effacé."
ENGLISH = "The package manager stores packages in a directory which must not be removed."
TEXTS = {"urn:de": GERMAN, "urn:fr": FRENCH, "urn:en": ENGLISH}


def index_of(*names):
    return LexicalIndex.build(names, [TEXTS[name] for name in names])


def test_an_english_text_has_the_terms_that_it_always_had():
    terms = ["packag", "manag", "store", "packag", "directori", "which", "must", "remov"]
    assert text_terms(ENGLISH) == tokens_of(ENGLISH) == question_terms(ENGLISH) == terms
    assert index_of("urn:en").languages == ()


def test_a_text_is_indexed_in_its_language_and_marked_with_it():
    assert text_terms(GERMAN)[:4] == ["paketverwalt", "legt", "pak", "verzeichnis"]
    assert text_terms(GERMAN)[-1] == "@de"
    assert index_of("urn:de", "urn:fr", "urn:en").languages == ("de", "fr")


def test_words_without_a_language_are_looked_for_in_every_language_of_the_index():
    index = index_of("urn:de", "urn:fr", "urn:en")
    for words, iri in (("Verzeichnisse", "urn:de"), ("repertoires", "urn:fr"), ("directories", "urn:en")):
        assert [found for found, _ in index.search(words, 3)] == [iri], words


def test_a_question_of_one_language_finds_texts_of_others():
    index = index_of("urn:de", "urn:fr", "urn:en")
    assert set(dict(index.search("Welche packages sind in einem Verzeichnis?", 3))) == {"urn:de", "urn:en"}
    assert "urn:fr" in dict(index.search("What does the gestionnaire do?", 3))


def test_function_words_of_a_question_find_nothing():
    assert index_of("urn:de", "urn:en").search("Was ist das?", 3) == []
    assert index_of("urn:fr", "urn:en").search("Qui est-ce ?", 3) == []


def test_a_removed_text_of_a_language_leaves_the_others_as_they_were():
    index = index_of("urn:de", "urn:en").with_changes(removed=["urn:de"])
    assert index.search("Which directory?", 3)[0][0] == "urn:en"


def test_phrases_are_compared_in_the_language_of_each_text():
    index = index_of("urn:de", "urn:fr", "urn:en")
    read = lambda iris: {iri: TEXTS[iri] for iri in iris}  # noqa: E731
    assert [iri for iri, _ in search(index, '"Pakete in einem Verzeichnis"', 3, texts=read)] == ["urn:de"]
    assert [iri for iri, _ in search(index, '"packages in a directory"', 3, texts=read)] == ["urn:en"]
    assert search(index, '"Verzeichnis Pakete"', 3, texts=read) == []
    assert [iri for iri, _ in search(index, "repertoir*", 3, texts=read)] == ["urn:fr"]


def test_a_snippet_marks_the_words_of_its_language():
    assert "**Pakete**" in snippet(GERMAN, "Welches Paket?")
    assert "**répertoire**" in snippet(FRENCH, "repertoires")
