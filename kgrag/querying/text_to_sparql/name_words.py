"""Names that a question has in another case, or only a word of.

"hill zone" is "Hill Zone", "Squeeze" is in "Debian 6.0 Squeeze". Where no name has a word that looks like one, that is
of use to whoever writes the query, too.

All names of a store are read once per revision, and only where there are few enough: a large store is asked by equality
alone (``named_entities``). Query read: ``facts/names``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag import queries
from kgrag.index.revision_cache import RevisionCache
from kgrag.late_patterns import late_re
from kgrag.ports import TripleStore
from kgrag.querying.data_profile import DataProfile, profile_of
from kgrag.querying.text_to_sparql.named_entities import NamedEntity, apart, places
from kgrag.vocab import KG, local_name, words_of

__all__ = ["NameWords", "name_words"]

_MAX_NAMES = 10_000
"""They are read in half a second of a processor, at the first question after a change."""
_MAX_BEARERS = 4
"""A word that more things have in their names ("Debian") tells none of them apart."""
_MAX_LINKED = 12
_NAMING = frozenset({"name", "title", "label", "headline"})
_WORD = late_re(r"\w+(?:[.+-]\w+)*")
_NOT_NAMES = frozenset(
    _WORD.findall(
        "am an and are at by did do does for from give had has have how if in is it list many may much name of on or "
        "show tell that the there these this to was we were what when where which who whom whose why will with"
    )
)


@dataclass(frozen=True, slots=True)
class NameWords:
    """``linked``: what names that a question has in other words stand for; ``unlinked``: its words that no name has."""

    linked: tuple[NamedEntity, ...] = ()
    unlinked: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Names:
    """Entities with a name, by the name and by its words, all in lower case; ``vocabulary``: words of the schema."""

    vocabulary: frozenset[str]
    whole: dict[str, list[NamedEntity]] = field(default_factory=lambda: defaultdict(list))
    words: dict[str, list[NamedEntity]] = field(default_factory=lambda: defaultdict(list))


_READ = RevisionCache["_Names | None"](kinds=(KG.AssertionGraph, KG.DataGraph, KG.OntologyGraph))


def name_words(question: str, found: Sequence[NamedEntity], store: TripleStore) -> NameWords:
    """Return what the names of a question stand for that ``found`` has not: in another case, or by one word.

    A word links where at most four things have it in a name. Nothing is said of a store with more than 10,000 names.

    Args:
        question: what was asked.
        found: the entities that it names letter by letter.
        store: contains the facts.
    """
    names = _READ.get(store, "names", lambda: _read(store))
    if names is None:
        return NameWords()
    taken = {(one.start, one.end) for one in found}
    spans = {span: text for text, span in places(question, every_word=True).items() if text.lower() in names.whole}
    kept = {span for span in apart([*spans, *taken], first=taken) if span not in taken}
    linked = [
        NamedEntity(
            spans[span], *span, one.entity, one.property, one.classes, "" if one.value == spans[span] else one.value
        )
        for span in sorted(kept)
        for one in names.whole[spans[span].lower()]
    ]
    unlinked: list[str] = []
    for match in _WORD.finditer(question):
        word, span = match[0], match.span()
        if not _may_be_name(word, names.vocabulary) or any(s < span[1] and span[0] < e for s, e in taken | kept):
            continue
        bearers = names.words.get(word.lower(), [])
        if len({one.entity for one in bearers}) <= _MAX_BEARERS:
            linked += [NamedEntity(word, *span, one.entity, one.property, one.classes, one.value) for one in bearers]
        unlinked += [] if bearers else [word]
    return NameWords(tuple(linked[:_MAX_LINKED]), tuple(dict.fromkeys(unlinked)))


def _may_be_name(word: str, vocabulary: Collection[str]) -> bool:
    """Return whether a word looks like one of a name: a capital or an underscore, and no word of the schema."""
    telling = any(mark.isupper() or mark == "_" for mark in word) and len(word) > 1
    return telling and word.lower() not in _NOT_NAMES and word.lower() not in vocabulary


def _read(store: TripleStore) -> _Names | None:
    """Return all names; None where there are too many."""
    profile = profile_of(store)
    properties = {iri: one for iri, one in profile.properties.items() if _names(iri, one.label)}
    if sum(one.statements for one in properties.values()) > _MAX_NAMES:
        return None
    names = _Names(frozenset(_vocabulary(profile)))
    if not properties:
        return names
    given = {"properties": [ox.NamedNode(iri) for iri in properties], "limit": 2 * _MAX_NAMES}
    classes: dict[tuple[str, str, str], list[str]] = {}
    for entity, prop, name, kind in store.select(
        queries.bind("facts/names", catalogue=store.names.catalogue, **given)
    ).values():
        classes.setdefault((entity, prop, name), []).extend([kind] if kind else [])
    for (entity, prop, name), kinds in classes.items():
        one = NamedEntity(name, 0, 0, entity, prop, tuple(kinds), value=name)
        names.whole[" ".join(name.lower().split())].append(one)
        for word in {match[0].lower() for match in _WORD.finditer(name)}:
            names.words[word].append(one)
    return names


def _names(iri: str, label: str) -> bool:
    """Return whether the values of a property are names, to judge by what it is called itself."""
    return any(words_of(text).rpartition(" ")[2] in _NAMING for text in (local_name(iri), label))


def _vocabulary(profile: DataProfile) -> set[str]:
    classes = {**profile.classes, **profile.empty}
    labels = [each.label for terms in (classes.values(), profile.properties.values()) for each in terms]
    names = [*labels, *map(local_name, [*classes, *profile.properties])]
    words = {word for name in names for word in words_of(name).split()}
    return words | {f"{word}s" for word in words}
