"""Words of a question that name a document: "… in rsyncd.conf", which the pages of that manual say once, in its title.

Such a word says where to look, not what a sentence has to have. A page is called what its title says, a file by its
name with or without the ending, and a manual page by the head that runs over its pages (``RSYNCD.CONF(5)``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText, ProseSentence
from kgrag.llm.extractive.question_words import terms

__all__ = ["documents_named", "of_others", "with_document_names"]

_FILE = late_regex(
    r"(?P<name>[\w-]+)\.(?:conf|cfg|cnf|config|ini|toml|ya?ml|json|xml|properties|rules|service|txt|md|html?|pdf|csv|docx?|"
    r"xlsx?|odt|ods)",
    flags=regex.IGNORECASE,
)
_PLAIN = late_regex(r"(?<![\w.-])\p{Ll}[\p{Ll}\p{N}_-]*(?![\w-]|\.\w)")
_ENDING = late_regex(r"(?:\(\p{N}\p{L}*\)|\.[\w.]{1,8})$")
_MIN_TITLE = 4
_LETTER = late_regex(r"\p{L}")


def documents_named(words: Collection[str], texts: Sequence[EvidenceText]) -> dict[int, frozenset[str]]:
    """Return by the number of each piece of evidence the words that name its document; none where it has no title.

    >>> one = EvidenceText(1, "chunk", "", "The default is 5.", title="rsyncd")
    >>> documents_named(["rsyncd.conf", "listen_backlog"], [one])
    {1: frozenset({'rsyncd.conf'})}
    """
    named: dict[str, frozenset[str]] = {}
    for title in dict.fromkeys(text.title for text in texts if text.title):
        pages = [text.text for text in texts if text.title == title]
        named[title] = frozenset(word for word in words if _LETTER.search(word) and _is_called(title, pages, word))
    return {text.number: named.get(text.title, frozenset[str]()) for text in texts}


def with_document_names(sentences: Sequence[ProseSentence], named: Mapping[int, frozenset[str]]) -> list[ProseSentence]:
    """Return the sentences, those of a document that a question names with the words of that name around them."""
    return [
        replace(one, around=one.around.union(*map(terms, words))) if (words := named.get(one.number)) else one
        for one in sentences
    ]


def of_others(question: str, texts: Sequence[EvidenceText]) -> Callable[[ProseSentence], bool]:
    """Return what tells whether a sentence is of another document than a question names, and lacks that name.

    "How do I encrypt a crontab?" is about the page *crontab*: a sentence of another page that encrypts something, and
    has no crontab, is no answer. Only a title of one word counts, which the question has in lower case as it is.
    """
    said = {word for word in _PLAIN.findall(question) if len(word) >= _MIN_TITLE}
    titles = {text.title for text in texts if _title_word(text.title) in said}
    wanted = frozenset(one for title in titles for one in terms(_title_word(title)))
    own = {text.number for text in texts if text.title in titles}
    return lambda one: bool(wanted) and one.number not in own and not wanted & one.all_terms


def _title_word(title: str) -> str:
    """Return the only word of a title, without the ending of a file or manual page; "" where it has several."""
    word = _ENDING.sub("", title.strip()).casefold()
    return word if _PLAIN.fullmatch(word) else ""


def _is_called(title: str, pages: Sequence[str], word: str) -> bool:
    """Return whether a document is called a word: by its title, by its file's name, or by the head of its pages."""
    plain = regex.escape(word)
    if regex.fullmatch(rf"{plain}(?:\(\p{{N}}\p{{L}}*\)|\.\p{{N}}|\W.*)?", title.strip(), flags=regex.IGNORECASE):
        return not _FILE.fullmatch(title) or title.casefold() == word.casefold()
    file = _FILE.fullmatch(word)
    if file and file["name"].casefold() == title.strip().casefold():
        return True
    head = rf"^[^\S\n]*{plain}\(\p{{N}}\p{{L}}*\)(?=[^\S\n]{{2}})|[^\S\n]{{2}}{plain}\(\p{{N}}\p{{L}}*\)[^\S\n]*$"
    return any(regex.search(head, page, flags=regex.IGNORECASE | regex.MULTILINE) for page in pages)
