"""Web pages: ask, read the catalogue, follow every IRI, write SPARQL. Rendered here, readable without JavaScript.

==================  =====================================================================
module              what it does
==================  =====================================================================
``ask_page``        ``/``: a question, its answer, the passages with what is cited marked
``chat_page``       ``/chat``: a conversation, its filters, and feedback on its answers
``catalogue_page``  ``/catalogue``: the named graphs by kind
``resource_page``   ``/resource?iri=``: what is known about an IRI; addresses of our own IRIs
``explore_page``    ``/explore``: the tree of classes, a pyramid, a summary tree, the list of shapes
``around_page``     ``/explore/around?iri=``: a thing and what it is linked to
``rows_page``       ``/explore/query?query=``: why a query has its rows
``vocabulary_page`` the page of a vocabulary of kgrag's own
``shape_words``     what a SHACL shape asks, in words
``term_inferences`` what follows for a thing from what ontologies say is above it
``term_uses``       in which graphs a term is declared and used
``report_page``     ``/report``: the audit of an ontology, and its files
``editor_page``     ``/editor``: SPARQL, with completion from ``/editor/terms``
``workbench_page``  ``/workbench``: forms that write, each working without a script
``workbench_rdf_page`` its forms for RDF and updates
``workbench_forms`` what these forms have in common
``api_page``        ``/docs``: the API, from its OpenAPI document
``guide_page``      ``/guide``: the pages of ``kgrag/guide``
``iri_links``       how IRIs are written, and where they link to
``label_choice``    which label of a thing is shown: by trust, then by language
``marked_text``     cuts text where marks begin and end
``page_rendering``  templates, and the headers of every page
==================  =====================================================================
"""

from __future__ import annotations

from starlette.routing import Mount, Route

from kgrag.server.pages import (
    api_page,
    around_page,
    ask_page,
    catalogue_page,
    chat_page,
    editor_page,
    explore_page,
    guide_page,
    report_page,
    resource_page,
    rows_page,
    workbench_page,
    workbench_rdf_page,
)
from kgrag.server.pages.chat_page import Chats
from kgrag.server.pages.page_rendering import StaticPages
from kgrag.server.pages.resource_page import elsewhere

__all__ = ["ROUTES", "Chats", "elsewhere"]

ROUTES = (
    Route("/", ask_page.ask, methods=["GET"]),
    Route("/chat", chat_page.chat, methods=["GET"]),
    Route("/chat", chat_page.post, methods=["POST"]),
    Route("/chat/feedback", chat_page.feedback, methods=["POST"]),
    Route("/catalogue", catalogue_page.catalogue, methods=["GET"]),
    Route("/resource", resource_page.resource, methods=["GET"]),
    Route("/explore", explore_page.explore, methods=["GET"]),
    Route("/explore/around", around_page.around, methods=["GET"]),
    Route("/explore/query", rows_page.query_rows, methods=["GET"]),
    Route("/explore/pyramid", explore_page.pyramid, methods=["GET"]),
    Route("/explore/shapes", explore_page.shapes, methods=["GET"]),
    Route("/explore/tree", explore_page.summary_tree, methods=["GET"]),
    Route("/report", report_page.report, methods=["GET"]),
    Route("/editor", editor_page.editor, methods=["GET"]),
    Route("/editor/terms", editor_page.terms, methods=["GET"]),
    Route("/workbench", workbench_page.documents, methods=["GET", "POST"]),
    Route("/workbench/graphs", workbench_rdf_page.graphs, methods=["GET", "POST"]),
    Route("/workbench/build", workbench_page.build, methods=["GET", "POST"]),
    Route("/workbench/proposals", workbench_page.proposals, methods=["GET", "POST"]),
    Route("/workbench/update", workbench_rdf_page.update, methods=["GET", "POST"]),
    Route("/workbench/jobs", workbench_page.jobs, methods=["GET", "POST"]),
    Route("/docs", api_page.docs, methods=["GET"]),
    Route("/guide", guide_page.guide, methods=["GET"]),
    Route("/guide/{name:path}", guide_page.guide, methods=["GET"]),
    Mount("/static", StaticPages()),
)
