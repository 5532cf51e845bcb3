"""An audit in the form that each reader wants; every form is text.

===========  =================================================================================
form         for whom
===========  =================================================================================
text         a person at a terminal
json         a program; the form is fixed by the audit's design
markdown     a merge request
html         an auditor: one file that asks for nothing from outside
sarif        a code scanner (SARIF 2.1.0)
junit        a build server
shacl        an ontologist: a SHACL validation report in Turtle
dqv          whoever compares ontologies: metrics in the Data Quality Vocabulary, in Turtle
===========  =================================================================================
"""

from kgrag import plugins
from kgrag.audit.findings import Audit
from kgrag.audit.reports.ci_reports import as_junit, as_sarif
from kgrag.audit.reports.page_reports import as_html, as_markdown
from kgrag.audit.reports.rdf_reports import as_dqv, as_shacl
from kgrag.audit.reports.text_reports import as_explanation, as_json, as_text

__all__ = [
    "as_dqv",
    "as_explanation",
    "as_html",
    "as_json",
    "as_junit",
    "as_markdown",
    "as_sarif",
    "as_shacl",
    "as_text",
    "forms",
    "written",
]


def forms() -> list[str]:
    """Return the names of the forms, those of plug-ins (group ``kgrag.reports``) among them."""
    return list(plugins.registered("kgrag.reports"))


def written(audit: Audit, form: str) -> str:
    """Return an audit in a form.

    Raises:
        UnknownName: there is no such form.
        PluginBroken: it is a plug-in's, and cannot be used.
    """
    text: str = plugins.load("kgrag.reports", form)(audit)
    return text
