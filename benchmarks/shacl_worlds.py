"""Made worlds of triples for ``benchmarks.shacl_speed``: a village of people and firms, and a catalogue of data sets.

One statement in some hundreds departs from a shape of ``shacl_shapes.ttl``, ``shacl_ordinary.ttl`` (both for the
village) or ``shacl_catalogue.ttl``. Worlds are always the same for a size. No node is blank, so that results can be
compared by their names.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

__all__ = ["WORLDS", "catalogue", "village"]

_PREFIXES = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "ex": "http://example.org/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_ODD = 300


def village(size: int) -> Iterator[str]:
    """Yield about ``size`` N-Triples lines: people, firms, articles and towns, one statement in hundreds odd."""
    yield from _grown(size, _group)


def catalogue(size: int) -> Iterator[str]:
    """Yield about ``size`` N-Triples lines of DCAT: catalogues and their data sets, one statement in hundreds odd."""
    yield from _grown(size, _catalogue)


WORLDS: dict[str, Callable[[int], Iterator[str]]] = {"village": village, "catalogue": catalogue}


def _grown(size: int, group: Callable[[int, random.Random], Iterator[str]]) -> Iterator[str]:
    chance = random.Random(7)
    number = 0
    total = 0
    while total < size:
        lines = list(group(number, chance))
        yield from lines
        total += len(lines)
        number += 1


# --- the village ------------------------------------------------------------------------------------------------------


def _group(n: int, chance: random.Random) -> Iterator[str]:
    """Yield what there is to say of one firm, its seat, five people and four articles."""
    odd = [chance.randrange(_ODD) == 0 for _ in range(2)]
    yield _line(f"firm{n}", "rdf:type", "ex:Firm")
    yield _line(f"firm{n}", "ex:seat", "ex:nowhere" if odd[0] else f"ex:town{n}")
    yield _line(f"town{n}", "rdf:type", "ex:Town")
    yield _line(f"town{n}", "ex:within", f"ex:town{n // 2}")
    if not odd[1]:
        yield _line(f"town{n}", "ex:name" if chance.random() < 0.5 else "rdfs:label", f'"Town {n}"')
    for k in range(5 * n, 5 * n + 5):
        yield from _person(k, n, chance)
    for k in range(4 * n, 4 * n + 4):
        yield from _article(k, n, chance)


def _person(k: int, n: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(5)]
    yield _line(f"person{k}", "rdf:type", "ex:Person")
    yield _line(f"person{k}", "rdfs:label", f'"Person {k}"@{"fr" if odd[0] else "en"}')
    yield _line(f"person{k}", "ex:age", _typed(200 if odd[1] else k % 90, "integer"))
    yield _line(f"person{k}", "ex:worksFor", f"ex:town{n}" if odd[2] else f"ex:firm{n}")
    if not odd[3]:
        yield _line(f"person{k}", "ex:mail", '"none"' if odd[4] else f'"p{k}@example.org"')
    for friend in chance.sample(range(max(0, 5 * n - 20), 5 * n + 5), 2):
        yield _line(f"person{k}", "ex:knows", f"ex:person{friend}")


def _article(k: int, n: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(4)]
    author = 5 * n + k % 5
    yield _line(f"article{k}", "rdf:type", "ex:Article")
    yield _line(f"article{k}", "rdfs:label", f'"Article {k}"')
    yield _line(f"article{k}", "ex:topic", f'"{"gossip" if odd[0] else chance.choice(["soil", "seed", "water"])}"')
    for name, day in (("begun", 999 if odd[1] else k % 300), ("printed", k % 300 + 5)):
        yield _line(f"article{k}", f"ex:{name}", _typed(day, "integer"))
    yield _line(f"article{k}", "ex:author", f"ex:person{author}")
    if not odd[2]:
        yield _line(f"article{k}", "ex:editor", f"ex:person{author if odd[3] else author + 1 - 5 * (k % 5 == 4)}")


# --- the catalogue ----------------------------------------------------------------------------------------------------


def _catalogue(n: int, chance: random.Random) -> Iterator[str]:
    """Yield what there is to say of one catalogue, its publisher, five themes and thirty data sets."""
    odd = [chance.randrange(_ODD) == 0 for _ in range(3)]
    name, publisher = f"catalogue{n}", f"agent{n}"
    yield _line(name, "rdf:type", "dcat:Catalog")
    yield _line(name, "dcterms:title", f'"Catalogue {n}"@en')
    if not odd[0]:
        yield _line(name, "dcterms:description", f'"Data of office {n}"@en')
    yield _line(name, "dcterms:publisher", f"ex:{name if odd[1] else publisher}")
    yield _line(name, "foaf:homepage", f"ex:page{n}")
    yield _line(publisher, "rdf:type", "foaf:Agent")
    if not odd[2]:
        yield _line(publisher, "foaf:name", f'"Office {n}"@en')
    for k in range(5 * n, 5 * n + 5):
        yield _line(f"theme{k}", "rdf:type", "skos:Concept")
        yield _line(f"theme{k}", "skos:prefLabel", f'"Theme {k}"@en')
        yield _line(f"theme{k}", "skos:prefLabel", f'"Thema {k}"@{"en" if chance.randrange(_ODD) == 0 else "de"}')
    for k in range(30 * n, 30 * n + 30):
        yield _line(name, "dcat:dataset", f"ex:dataset{k}")
        yield from _data_set(k, n, chance)


def _data_set(k: int, n: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(9)]
    name = f"dataset{k}"
    yield _line(name, "rdf:type", "dcat:Dataset")
    yield _line(name, "dcterms:title", f'"Data set {k}"@en')
    if not odd[0]:
        yield _line(name, "dcterms:description", f'"Measured in {1900 + k % 120}"@en')
    yield _line(name, "dcat:theme", f"ex:{f'agent{n}' if odd[1] else f'theme{5 * n + k % 5}'}")
    yield _line(name, "dcterms:publisher", f"ex:agent{n}")
    if odd[2]:
        yield _line(name, "dcterms:publisher", f"ex:agent{n // 2}")
    yield _line(name, "dcterms:issued", '"last year"' if odd[3] else _typed(f"20{k % 20 + 10}-01-02", "date"))
    yield _line(name, "dcat:keyword", f'"{"x" if odd[4] else f"key {k % 50}"}"@en')
    yield _line(name, "dcterms:temporal", f"ex:period{k}")
    yield _line(f"period{k}", "rdf:type", "dcterms:PeriodOfTime")
    first, last = (2 * [2000 + k % 20]) if not odd[5] else (2020, 2000)
    yield _line(f"period{k}", "dcat:startDate", _typed(f"{first}-01-01", "date"))
    yield _line(f"period{k}", "dcat:endDate", _typed(f"{last}-12-31", "date"))
    yield _line(name, "dcat:contactPoint", f"ex:contact{k}")
    yield _line(f"contact{k}", "rdf:type", "vcard:Kind")
    if not odd[6]:
        yield _line(f"contact{k}", "vcard:hasEmail", f"ex:mailbox{k}")
    for part in range(2 * k, 2 * k + 2):
        yield _line(name, "dcat:distribution", f"ex:{f'agent{n}' if odd[7] else f'distribution{part}'}")
        yield from _distribution(part, chance)


def _distribution(k: int, chance: random.Random) -> Iterator[str]:
    odd = [chance.randrange(_ODD) == 0 for _ in range(4)]
    name = f"distribution{k}"
    yield _line(name, "rdf:type", "dcat:Distribution")
    if not odd[0]:
        yield _line(name, "dcat:accessURL", f'"https://example.org/{k}"' if odd[1] else f"ex:file{k}")
    yield _line(name, "dcat:byteSize", _typed(-1 if odd[2] else 1000 + k, "integer"))
    yield _line(name, "dcterms:format", '"CSV"' if odd[3] else "ex:csv")
    yield _line(name, "dcterms:license", "ex:cc-by")


def _typed(value: object, datatype: str) -> str:
    return f'"{value}"^^<{_PREFIXES["xsd"]}{datatype}>'


def _line(subject: str, predicate: str, value: str) -> str:
    return f"{_iri('ex:' + subject)} {_iri(predicate)} {value if value.startswith(chr(34)) else _iri(value)} ."


def _iri(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"<{_PREFIXES[prefix]}{local}>"
