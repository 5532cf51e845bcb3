"""Which language a text is in, and its stems."""

import pytest

from kgrag.languages import LANGUAGES, STOP_WORDS, folded, language_named, language_of, stems

PARAGRAPHS = {
    "en": "The package manager keeps a list of the files that each package has installed on the system.",
    "de": "Die Paketverwaltung führt eine Liste der Dateien, die jedes Paket auf dem System installiert hat.",
    "fr": "Le gestionnaire de paquets tient la liste des fichiers que chaque paquet a installés sur le système.",
    "es": "El gestor de paquetes mantiene una lista de los archivos que cada paquete ha instalado en el sistema.",
    "it": "Il gestore dei pacchetti tiene un elenco dei file che ogni pacchetto ha installato nel sistema.",
    "pt": "O gestor de pacotes mantém uma lista dos ficheiros que cada pacote instalou no sistema, e não os apaga.",
    "nl": "Het pakketbeheer houdt een lijst bij van de bestanden die elk pakket op het systeem heeft geplaatst.",
}


@pytest.mark.parametrize("code", PARAGRAPHS)
def test_a_paragraph_is_in_its_language(code):
    assert language_of(PARAGRAPHS[code]) == code


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("Wer schrieb dpkg?", "de"),
        ("Was ist ein Paket?", "de"),
        ("Wie lange ist der Schlüssel gültig?", "de"),
        ("Qui a écrit dpkg ?", "fr"),
        ("Quand faut-il redémarrer ?", "fr"),
        ("Est-ce que le paquet est signé ?", "fr"),
        ("¿Dónde está el archivo?", "es"),
        ("Who wrote dpkg?", "en"),
        ("Was Ann Lee born in Die?", "en"),
        ("Los Angeles population", "en"),
        ("Who wrote the song Die Moritat von Mackie Messer?", "en"),
    ],
)
def test_a_question_is_in_its_language(question, code):
    assert language_of(question) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "dpkg -i /usr/lib/de/la/les.deb",
        'CREATE COLLATION "de-u-co-phonebk-x-icu" (provider = icu);',
        "Peter schießt den Vogel ab is a 1959 West German film directed by Géza von Cziffra.",
        "H4 proteins suppress degradation of free histones via Rad53-dependent mechanisms.",
    ],
)
def test_what_only_looks_like_another_language_is_english(text):
    assert language_of(text) == "en"


def test_what_does_not_tell_is_in_the_given_language():
    assert language_of("apt-get update", "de") == "de"
    assert language_of(PARAGRAPHS["en"], "de") == "en"


def test_names_of_languages():
    assert [language_named(name) for name in ("de", "FR-ca", "en_US.UTF-8", "Dutch", "", "xx", None)] == [
        *("de", "fr", "en", "nl"),
        *("", "", ""),
    ]


def test_every_language_has_stop_words_and_a_stemmer():
    assert set(STOP_WORDS) == set(LANGUAGES)
    assert all(stems(["information"], code) for code in LANGUAGES)


def test_stems_of_german_are_the_same_however_umlauts_are_typed():
    assert stems(["häuser", "haeuser", "haus"], "de") == ["haus", "haus", "haus"]
    assert folded("Öffnen") == "Offnen"
