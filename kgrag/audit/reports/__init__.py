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

from kgrag.audit.reports.ci_reports import as_junit, as_sarif
from kgrag.audit.reports.page_reports import as_html, as_markdown
from kgrag.audit.reports.rdf_reports import as_dqv, as_shacl
from kgrag.audit.reports.text_reports import as_explanation, as_json, as_text

__all__ = [
    "FORMS",
    "as_dqv",
    "as_explanation",
    "as_html",
    "as_json",
    "as_junit",
    "as_markdown",
    "as_sarif",
    "as_shacl",
    "as_text",
]

FORMS = {
    "text": as_text,
    "json": as_json,
    "markdown": as_markdown,
    "html": as_html,
    "sarif": as_sarif,
    "junit": as_junit,
    "shacl": as_shacl,
    "dqv": as_dqv,
}
"""Form -> what writes it."""
