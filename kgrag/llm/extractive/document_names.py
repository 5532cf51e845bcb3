"""Words of a question that name a document: "… in rsyncd.conf", which the pages of that manual say once, in its title.

Such a word says where to look, not what a sentence has to have. A page is called what its title says, a file by its
name with or without the ending, and a manual page by the head that runs over its pages (``RSYNCD.CONF(5)``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText, ProseSentence
from kgrag.llm.extractive.question_words import terms

__all__ = ["documents_named", "with_document_names"]

_FILE = late_regex(
    r"(?P<name>[\w-]+)\.(?:conf|cfg|cnf|config|ini|toml|ya?ml|json|xml|properties|rules|service|txt|md|html?|pdf|csv|docx?|"
    r"xlsx?|odt|ods)",
    flags=regex.IGNORECASE,
)
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
