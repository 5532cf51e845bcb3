"""How many corruptions of a knowledge base ``kgrag audit --profile kg`` and ``kgrag doctor`` find.

Run ``python -m benchmarks.audit_mutations`` (minutes; ``--sample N`` for N corruptions only). A knowledge base with
every kind of graph is corrupted in one place at a time, past kgrag, for every pattern that its graphs have (kind of
graph, class of the subject, property): remove, duplicate, retarget, dangle, retype, retext, recount; and each kind of
graph is emptied and doubled as a whole. Two shares are printed: of all, and of those that are found where the
corruption also sets counts and checksums right, as a faulty writer would.
"""

from __future__ import annotations

import argparse
import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

import kgrag
from kgrag import KnowledgeBase, plugins, shacl
from kgrag.audit.recomputation import recomputed
from kgrag.model import plain
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG, RDF, VOID, XSD, local_name

__all__ = ["Corruption", "corruptions", "everything", "found_by", "sample"]

_DEMO = Path(kgrag.__file__).parent / "demo"
_ACCOUNTS = (VOID.triples.value, KG.checksum.value)
_PER_PATTERN = 1
_DATA = b"""@prefix : <https://example.org/stock#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:seed :amount "007"^^xsd:int ; :weighed "1.50"^^xsd:decimal ; :of :rye . :rye :name "Rye"@en ; :sown :seed ."""


@dataclass(frozen=True, slots=True)
class Corruption:
    """One corruption: of which pattern and kind, the quads it takes out and those it puts in."""

    kind: str
    pattern: tuple[str, str, str]
    gone: tuple[ox.Quad, ...] = ()
    come: tuple[ox.Quad, ...] = ()

    @property
    def name(self) -> str:
        """The corruption in words, e.g. ``DocumentGraph / Chunk / text: retext``."""
        return f"{' / '.join(self.pattern)}: {self.kind}"


def everything(kb: KnowledgeBase, work: Path) -> None:
    """Fill a knowledge base with the demonstration, every method built, and graphs of every other kind.

    Args:
        kb: an empty one.
        work: a folder for files to load.
    """
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(_DEMO / "texts")
    for name, method in plugins.methods().items():
        options: dict[str, Any] = {option: _DEMO / path for option, path in method.example.items()}
        kb.build(name, **options)
    (work / "stock.ttl").write_bytes(_DATA)
    kb.load(work / "stock.ttl")
    kb.ask("What is the seeding rate of lentil LT 7 in the River Zone?", keep=True)
    kb.reason(profile="rdfs")


def corruptions(store: ox.Store, catalogue: ox.NamedNode) -> list[Corruption]:
    """Return the corruptions of every pattern of every kind of graph, always the same ones in the same order."""
    kinds = {quad.subject: quad.object for quad in store.quads_for_pattern(None, RDF.type, None, catalogue)}
    classes = {
        (quad.graph_name, quad.subject): plain(quad.object) for quad in store.quads_for_pattern(None, RDF.type, None)
    }
    patterns: dict[tuple[str, str, str], list[ox.Quad]] = defaultdict(list)
    graphs: dict[str, dict[ox.NamedNode, list[ox.Quad]]] = defaultdict(lambda: defaultdict(list))
    for quad in store:
        graph = cast("ox.NamedNode", quad.graph_name)
        kind = local_name(plain(kinds.get(graph, ox.Literal("none"))))
        cls = local_name(classes.get((graph, quad.subject), ""))
        patterns[kind, cls, local_name(quad.predicate.value)].append(quad)
        graphs[kind][graph].append(quad)
    made: list[Corruption] = []
    for pattern, quads in sorted(patterns.items()):
        for quad in sorted(quads, key=_shuffled)[:_PER_PATTERN]:
            made += _of_quad(pattern, quad, quads)
    for kind, by_graph in sorted(graphs.items()):
        if kind != local_name(KG.CatalogueGraph.value):
            graph = min(by_graph, key=_shuffled)
            made += _of_graph(kind, graph, by_graph[graph])
    return made


def _shuffled(term: object) -> str:
    """Return a key that orders terms in a way that does not depend on what they mean."""
    return hashlib.sha256(str(term).encode()).hexdigest()


def _of_quad(pattern: tuple[str, str, str], quad: ox.Quad, siblings: Sequence[ox.Quad]) -> Iterator[Corruption]:
    yield Corruption("remove", pattern, gone=(quad,))
    stated = {each.object for each in siblings if each.subject == quad.subject and each.graph_name == quad.graph_name}
    others = sorted({each.object for each in siblings} - stated, key=_shuffled)
    if others:
        yield Corruption("retarget", pattern, (quad,), (_with(quad, others[0]),))
        yield Corruption("duplicate", pattern, (), (_with(quad, others[0]),))
    if isinstance(quad.object, ox.NamedNode):
        kind = "retype" if quad.predicate == RDF.type else "dangle"
        yield Corruption(kind, pattern, (quad,), (_with(quad, ox.NamedNode(quad.object.value + "0")),))
    elif isinstance(quad.object, ox.Literal):
        yield from _of_literal(pattern, quad, quad.object)


def _of_literal(pattern: tuple[str, str, str], quad: ox.Quad, value: ox.Literal) -> Iterator[Corruption]:
    if value.datatype in (XSD.integer, XSD.decimal):
        more = ox.Literal(str(int(float(value.value)) + 1), datatype=XSD.integer)
        if value.datatype == XSD.decimal:
            more = ox.Literal(f"{float(value.value) / 2 + 0.1:.4f}".rstrip("0"), datatype=XSD.decimal)
        yield Corruption("recount", pattern, (quad,), (_with(quad, more),))
        yield Corruption("retype", pattern, (quad,), (_with(quad, ox.Literal(value.value)),))
    elif value.datatype == XSD.dateTime:
        later = ox.Literal(f"2001{value.value[4:]}", datatype=XSD.dateTime)
        yield Corruption("recount", pattern, (quad,), (_with(quad, later),))
    elif value.value:
        middle = len(value.value) // 2
        letter = "x" if value.value[middle] != "x" else "y"
        text = value.value[:middle] + letter + value.value[middle + 1 :]
        changed = (
            ox.Literal(text, language=value.language) if value.language else ox.Literal(text, datatype=value.datatype)
        )
        yield Corruption("retext", pattern, (quad,), (_with(quad, changed),))
        yield Corruption("retype", pattern, (quad,), (_with(quad, ox.Literal(value.value, language="tlh")),))


def _of_graph(kind: str, graph: ox.NamedNode, quads: Sequence[ox.Quad]) -> Iterator[Corruption]:
    pattern = (kind, "", "")
    yield Corruption("empty", pattern, gone=tuple(quads))
    double = ox.NamedNode(graph.value + "0")
    yield Corruption("double", pattern, come=tuple(ox.Quad(q.subject, q.predicate, q.object, double) for q in quads))
    subject = min((quad.subject for quad in quads), key=_shuffled)
    if isinstance(subject, ox.NamedNode):
        twin = ox.NamedNode(subject.value + "0")
        come = tuple(ox.Quad(twin, q.predicate, q.object, graph) for q in quads if q.subject == subject)
        yield Corruption("twin", pattern, come=come)


def _with(quad: ox.Quad, value: Any) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, value, quad.graph_name)


def sample(made: Sequence[Corruption], count: int) -> list[Corruption]:
    """Return some of the corruptions, spread over kinds of graph, always the same ones."""
    by_kind: dict[str, list[Corruption]] = defaultdict(list)
    for corruption in sorted(made, key=lambda each: _shuffled(each.name)):
        by_kind[corruption.pattern[0]].append(corruption)
    rounds = (group[place] for place in range(count) for _, group in sorted(by_kind.items()) if place < len(group))
    return [corruption for _, corruption in zip(range(count), rounds, strict=False)]


def found_by(kb: KnowledgeBase, corruption: Corruption, *, accounts: bool = True) -> str:
    """Return what finds a corruption, which is taken back afterwards: "recomputed", "shapes", an audit's check, or "".

    Args:
        kb: in memory; nothing else uses it meanwhile.
        corruption: of its store.
        accounts: whether counts and checksums count, which show every change that was made past kgrag.
    """
    store = cast("Any", kb.store)._store  # past kgrag, which would account for the change
    gone = [quad for quad in corruption.gone if quad in store]
    come = [quad for quad in corruption.come if quad not in store]
    for quad in gone:
        store.remove(quad)
    store.extend(come)
    try:
        return _first_finding(kb, accounts)
    finally:
        for quad in come:
            store.remove(quad)
        store.extend(gone)


def _first_finding(kb: KnowledgeBase, accounts: bool) -> str:
    rows = (row for row in recomputed(kb.store) if accounts or row["path"] not in _ACCOUNTS)
    if next(rows, None) is not None:
        return "recomputed"
    if shacl.validate(kb.store, shacl.graph_shapes()):
        return "shapes"
    audit = kb.audit(profile="kg")
    wrong = [each for each in audit.findings if each.severity == "Violation"]
    wrong = [each for each in wrong if accounts or each.path not in _ACCOUNTS]
    if wrong:
        return wrong[0].check
    return next((finding.check for finding in kb.doctor() if finding.fault and finding.check != "recomputed"), "")


def _table(results: Iterable[tuple[str, bool, bool]]) -> Iterator[str]:
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for name, found, by_content in results:
        totals[name].update(made=1, whole=found, content=by_content)
    for name, counts in sorted(totals.items()):
        made = counts["made"]
        yield f"| {name} | {made} | {counts['whole'] / made:.3f} | {counts['content'] / made:.3f} |"


def main() -> None:
    """Corrupt, look and print the shares found, by kind of graph and of corruption, and what escapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="so many corruptions only")
    parser.add_argument("--work", type=Path, default=Path(), help="folder for one small file to load")
    options = parser.parse_args()
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        everything(kb, options.work)
        clean = kb.audit(profile="kg")
        faults = [finding for finding in kb.doctor() if finding.fault]
        print(f"clean: {len(clean.findings)} findings of the audit, {len(faults)} of the doctor")
        made = corruptions(cast("Any", kb.store)._store, kb.store.names.catalogue)
        chosen = sample(made, options.sample) if options.sample else made
        results = []
        for corruption in chosen:
            content = found_by(kb, corruption, accounts=False)
            results.append((corruption, bool(content) or bool(found_by(kb, corruption)), bool(content)))
    named = {
        "graph": [(corruption.pattern[0], whole, content) for corruption, whole, content in results],
        "corruption": [(corruption.kind, whole, content) for corruption, whole, content in results],
    }
    for title, rows in named.items():
        print(f"\n| {title} | made | found | without counts and checksums |\n|---|--:|--:|--:|")
        print("\n".join(_table(rows)))
    print("\n".join(_table(("**all**", whole, content) for _, whole, content in results)))
    print("\nescapes, !! also with counts and checksums:")
    for corruption, whole, by_content in results:
        if not by_content:
            print(f"{'' if whole else '!! '}{corruption.name}")


if __name__ == "__main__":
    main()
