"""The vocabulary of the audit says what the code and its metrics say."""

import pyoxigraph as ox

from kgrag.audit import AuditOptions
from kgrag.knowledge_base.audit_runs import audit_files
from kgrag.resources import folder
from kgrag.vocab import AUDIT, RDFS

PATH = folder("ontologies") / "audit.ttl"
DEFINED = {quad.subject.value for quad in ox.parse(path=PATH) if quad.predicate == RDFS.label}  # type: ignore[union-attr]


def test_every_term_of_the_code_is_defined_and_no_other() -> None:
    terms = {name.removeprefix(AUDIT.prefix) for name in DEFINED}
    assert {name for name in terms if not name.startswith("metric-")} == set(AUDIT.all())


def test_every_metric_is_defined_and_no_other() -> None:
    measured = audit_files([PATH], AuditOptions(metrics=True)).metrics
    assert {f"{AUDIT.prefix}metric-{name}" for name in measured} == {name for name in DEFINED if "metric-" in name}
