"""How good and how quick query checks are, beside the rules of the OBQC paper as printed, run by rdflib.

Run ``python -m benchmarks.obqc_check [--rdflib N] [--large]``. Sets: gold queries of ACME; the queries of nine
systems for CK25 (flagged means that a finding is an error or refused; wrong means a published F of at most 0.99),
with and without a look at the data; walks through a made-up ontology of 35,000 triples, every other one with a wrong
property. For each the confusion matrix, of all queries and of those that run, and milliseconds a query once the index
is there; then the same for the printed rules, on N queries of a set (default all), and with ``--large`` on one query
of the large ontology, which takes minutes.

The printed rules are in ``benchmarks/obqc_printed``, as they stand in the paper; only what does not parse was mended.
The queries are read by rdflib's own parser, every pattern goes into one graph, variables become ``qq:`` resources.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from benchmarks import data_folder
from kgrag.querying.ontology_check import DataView, OntologyIndex, Options, build_index, check
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.rdf_files import read_rdf
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import OWL, RDF, RDFS, XSD, Names

PRINTED = Path(__file__).parent / "obqc_printed"
SPACE = "http://example.org/large#"
QQ = "urn:x-obqc:qq/"


@dataclass(frozen=True)
class Case:
    """A query, whether it is right, and whether it runs."""

    sparql: str
    right: bool
    runs: bool


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Quality and speed of query checks.")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of real data [KGRAG_DATA]")
    parser.add_argument(
        "--rdflib", type=int, default=None, metavar="N", help="run the printed rules on N queries a set"
    )
    parser.add_argument(
        "--large", action="store_true", help="run the printed rules on one query of the large ontology too"
    )
    asked = parser.parse_args()
    folder = asked.data
    if not (folder / "ck25").is_dir():
        parser.exit(message=f"skipped: no {folder / 'ck25'}; set KGRAG_DATA\n")
    acme, ck25, large = folder / "acme_insurance", folder / "ck25", made_up()
    sets = [
        ("ACME gold", ontology(acme / "ontology.ttl"), acme_cases(acme), None),
        ("CK25", ontology(ck25 / "prod-vocab.ttl"), ck25_cases(ck25), None),
        ("CK25 with data", ontology(ck25 / "prod-vocab.ttl"), ck25_cases(ck25), ck25_data(ck25)),
        ("35,000 triples", large, large_cases(large), None),
    ]
    for name, triples, cases, data in sets:
        report(name, triples, cases, data)
    for name, triples, cases, data in sets[:2]:
        if data is None:
            printed(f"{name}, printed rules", triples, cases[: asked.rdflib])
    if asked.large:
        printed("35,000 triples, printed rules", large, large_cases(large)[:1])


def report(name: str, triples: Sequence[ox.Triple], cases: Sequence[Case], data: OxigraphStore | None) -> None:
    """Print what our rules say of a set, and how long they take."""
    start = time.perf_counter()
    index = build_index(triples)
    built = time.perf_counter() - start
    for profile in ("default", "paper"):
        flagged = verdicts(index, DataView(data) if data else None, Options(profile))
        for case in cases[:5]:
            flagged(case.sparql)
        table(f"{name}, {profile}", cases, flagged)
    print(f"    index of {len(triples):,} triples built in {1000 * built:.0f} ms\n")


def verdicts(index: OntologyIndex, data: DataView | None, options: Options) -> Callable[[str], bool]:
    """Return what says whether a query is flagged."""
    return lambda text: not check(text, index, open_scratch=OxigraphScratch, data=data, options=options).valid


def table(name: str, cases: Sequence[Case], flagged: Callable[[str], bool]) -> None:
    """Print the confusion matrix of one set, of all queries and of those that run, and the times."""
    rows, times = [], []
    for case in cases:
        start = time.perf_counter()
        rows.append((case, flagged(case.sparql)))
        times.append(1000 * (time.perf_counter() - start))
    for part, chosen in (("all", rows), ("those that run", [row for row in rows if row[0].runs])):
        hits = sum(not case.right and bad for case, bad in chosen)
        alarms = sum(case.right and bad for case, bad in chosen)
        wrong = sum(not case.right for case, _ in chosen)
        share = f"{hits / (hits + alarms):.3f}" if hits + alarms else "-"
        caught = f"{hits / wrong:.3f}" if wrong else "-"
        print(
            f"{name:32} {part:15} queries {len(chosen):4} right {len(chosen) - wrong:4} flagged {hits + alarms:4} "
            f"right flagged {alarms:3} wrong of flagged {share:>5} flagged of wrong {caught:>5}"
        )
    ninety = sorted(times)[int(0.9 * (len(times) - 1))]
    print(f"{name:32} median {statistics.median(times):.2f} ms, 90 % {ninety:.2f} ms, most {max(times):.2f} ms")


def ontology(path: Path) -> list[ox.Triple]:
    """Read an ontology file."""
    return [triple for draft in read_rdf(path, names=Names()) for triple in draft.triples]


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON Lines file, plain or gzipped."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    yield from map(json.loads, text.decode().splitlines())


def acme_cases(folder: Path) -> list[Case]:
    """Return the gold queries of ACME."""
    rows = lines(folder / "inquiries.jsonl")
    return [
        Case(row.get("sparql_repaired") or row["sparql_standalone"], True, row["gold_status"] != "error")
        for row in rows
    ]


def ck25_cases(folder: Path) -> list[Case]:
    """Return the queries that systems wrote for CK25."""
    rows = lines(folder / "system_answers.jsonl.gz")
    return [Case(row["sparql"], row["published_scores"]["set_F"] > 0.99, row["outcome"] != "error") for row in rows]


def ck25_data(folder: Path) -> OxigraphStore:
    """Load CK25 into memory."""
    store = OxigraphStore.open(None)
    store.publish(
        [d for name in ("prod-vocab.ttl", "prod-inst.ttl.gz") for d in read_rdf(folder / name, names=store.names)]
    )
    return store


def made_up(classes: int = 800, properties: int = 5_500) -> list[ox.Triple]:
    """Make an ontology of DBpedia's size up: a tree of classes, properties between them, labels; 35,000 triples."""
    dice = random.Random(3)
    triples = []
    for number in range(classes):
        name = ox.NamedNode(f"{SPACE}C{number}")
        triples += [ox.Triple(name, RDF.type, OWL.Class), ox.Triple(name, RDFS.label, ox.Literal(f"class {number}"))]
        if number:
            triples.append(ox.Triple(name, RDFS.subClassOf, ox.NamedNode(f"{SPACE}C{dice.randrange(number)}")))
    for number in range(properties):
        name = ox.NamedNode(f"{SPACE}p{number}")
        literal = number % 2 == 1
        end = XSD.string if literal else ox.NamedNode(f"{SPACE}C{dice.randrange(classes)}")
        triples += [
            ox.Triple(name, RDF.type, OWL.DatatypeProperty if literal else OWL.ObjectProperty),
            ox.Triple(name, RDFS.domain, ox.NamedNode(f"{SPACE}C{dice.randrange(classes)}")),
            ox.Triple(name, RDFS.range, end),
            ox.Triple(name, RDFS.label, ox.Literal(f"property {number}")),
            ox.Triple(name, RDFS.label, ox.Literal(f"Eigenschaft {number}", language="de")),
            ox.Triple(name, RDFS.isDefinedBy, ox.NamedNode(SPACE)),
        ]
    return triples[:35_000]


def large_cases(triples: Sequence[ox.Triple], count: int = 200) -> list[Case]:
    """Make queries up: walks through the ontology of five to twelve patterns, every other one with a wrong property."""
    dice = random.Random(4)
    ends = {end: {t.subject: t.object for t in triples if t.predicate == end} for end in (RDFS.domain, RDFS.range)}
    leading: dict[Any, list[Any]] = {}
    for name, domain in ends[RDFS.domain].items():
        leading.setdefault(domain, []).append(name)
    cases = []
    for number in range(count):
        at = dice.choice([domain for domain, names in leading.items() if len(names) > 8])
        patterns, subject = [f"?v0 a {at} ."], 0
        for step in range(dice.randint(4, 11)):
            name = dice.choice(leading[at])
            if number % 2 and step == 2:
                name = ox.NamedNode(f"{SPACE}p{2 * dice.randrange(2_700)}")
            patterns.append(f"?v{subject} {name} ?v{step + 1} .")
            if ends[RDFS.range][name] in leading:
                at, subject = ends[RDFS.range][name], step + 1
        cases.append(Case(f"SELECT ?v0 WHERE {{ {' '.join(patterns)} }}", not number % 2, True))
    return cases


# --- the rules as printed --------------------------------------------------------------------------------------


def printed(name: str, triples: Sequence[ox.Triple], cases: Sequence[Case]) -> None:
    """Print what the rules say as they stand in the paper, run by rdflib."""
    import rdflib
    from rdflib.plugins.sparql import prepareQuery

    data = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    known = rdflib.Graph().parse(data=data, format="nt")
    rules = [prepareQuery(path.read_text(encoding="utf-8")) for path in sorted(PRINTED.glob("*.rq"))]

    def flagged(text: str) -> bool:
        dataset = rdflib.Dataset(default_union=True)
        about = dataset.graph(rdflib.URIRef("urn:x-obqc:ontology"))
        about += known
        try:
            patterns = list(_patterns(text))
        except Exception:  # rdflib raises many kinds for text that it does not take
            return True
        for pattern in patterns:
            dataset.graph(rdflib.URIRef("urn:x-obqc:query")).add(pattern)
        return sum(len(list(dataset.query(rule))) for rule in rules) > 0

    table(name, cases, flagged)
    print()


def _patterns(text: str) -> Iterable[Any]:
    """Return the patterns of a query as triples, variables as ``qq:`` resources, selected ones marked."""
    import rdflib
    from rdflib.plugins.sparql.algebra import translateQuery, traverse
    from rdflib.plugins.sparql.parser import parseQuery

    algebra = translateQuery(parseQuery(text)).algebra
    found: list[Any] = []

    def visit(node: Any) -> None:
        if getattr(node, "name", "") == "BGP":
            found.extend(node.triples)

    traverse(algebra, visitPre=visit)

    def term(value: Any) -> Any:
        return rdflib.URIRef(QQ + value) if isinstance(value, rdflib.Variable | rdflib.BNode) else value

    for subject, predicate, value in found:
        if not isinstance(predicate, rdflib.paths.Path):
            yield term(subject), term(predicate), term(value)
    for variable in algebra.get("PV") or ():
        yield rdflib.URIRef(QQ + variable), rdflib.RDF.type, rdflib.URIRef(f"{QQ}Variable")


if __name__ == "__main__":
    main()
