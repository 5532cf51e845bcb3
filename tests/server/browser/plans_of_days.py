"""What an ontologist works with on a day in the browser: two ontologies, ten documents and a PDF, questions, changes.

Without more, the demonstration's texts and some that are written here. With ``KGRAG_DAY_DOCUMENTS`` and
``KGRAG_DAY_ONTOLOGIES``, pages about the network time protocol as people wrote them, and ontologies of the W3C:

    KGRAG_DAY_DOCUMENTS=/usr/share/doc/ntpsec-doc/html    from Debian's package ntpsec-doc
    KGRAG_DAY_ONTOLOGIES=FOLDER                           that has sosa.ttl, org.ttl and prov-o.ttl

PROV-O has no licence and terms without a label, so that the profile *publish* refuses it.
"""

import base64
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from reportlab.pdfgen.canvas import Canvas

from kgrag.resources import folder
from tests.server.inside import DEMO

__all__ = ["DayPlan", "plan"]

DOCUMENTS, ONTOLOGIES = (os.environ.get(f"KGRAG_DAY_{name}") for name in ("DOCUMENTS", "ONTOLOGIES"))
"""Read when this is imported: tests run without the variables of whoever starts them."""
CROPS, SOSA = "https://w3id.org/kgrag/examples/crops#", "http://www.w3.org/ns/sosa/"
NOTES = {
    "vetch.md": "# Growing vetch\n\nVetch is sown in October. Its seed rate is 40 kg per hectare. See also Growing rye.",
    "rye.md": "# Growing rye\n\nRye is sown in September in the Hill Zone. Rye stands drought better than barley does.",
    "oats.txt": "Oats are cut green in May. The seed rate of oats is 90 kg per hectare in the Coastal Zone.",
    "soil.html": "<html><head><title>Soils of Marlow</title></head><body><nav><a href='/'>Home</a></nav><main><h1>Soils "
    "of Marlow</h1><p>The black soil of Marlow holds water until March.</p></main></body></html>",
    "weather.csv": "zone,rain\nHill Zone,610\nCoastal Zone,890\n",
    "pests.md": "# Pests\n\nThe pod borer attacks chickpea in February. It is fought with neem.",
}
OF_CROPS = f"""@prefix crops: <{CROPS}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:x:millet> a crops:Crop ; crops:name "pearl millet" ; crops:hasLandPreparation <urn:x:ploughed> .
<urn:x:ploughed> a crops:LandPreparation ; crops:procedure "ploughed twice" .
<urn:x:question> a sh:SPARQLSelectExecutable ; rdfs:label "How is land prepared for crops?" ; sh:select '''PREFIX crops: <{CROPS}>
  SELECT ?name ?how {{ ?crop a crops:Crop ; crops:name ?name ; crops:hasLandPreparation ?land . ?land crops:procedure ?how }}''' .
"""
OF_CLOCKS = f"""@prefix sosa: <{SOSA}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
<urn:x:receiver> a sosa:Sensor ; rdfs:label "GPS receiver" ; sosa:observes <urn:x:pulse> .
<urn:x:pulse> a sosa:ObservableProperty ; rdfs:label "pulse per second" .
<urn:x:question> a sh:SPARQLSelectExecutable ; rdfs:label "Which sensor observes which property?" ; sh:select '''PREFIX sosa: <{SOSA}>
  SELECT ?sensor ?property {{ ?s a sosa:Sensor ; rdfs:label ?sensor ; sosa:observes ?p . ?p rdfs:label ?property }}''' .
"""
OF_TIME = "leap leapsmear huffpuff clock cluster assoc authentic discover history kern".split()
PRINTED = "NTS-QuickStart"


@dataclass(frozen=True)
class DayPlan:
    """Files and texts of a day; the last document is the PDF, ``refused_ontologies`` break rules of *publish*.

    ``data`` is RDF with things and a query that answers ``question_of_data``; ``refused_update`` breaks a rule of the
    profile *publish*, ``update`` none; ``class_page`` is a class as a parameter of an address.
    """

    ontologies: tuple[Path, ...]
    documents: tuple[Path, ...]
    question: str
    question_of_pdf: str
    words_of_pdf: str
    question_of_data: str
    data: str
    mistakes: str
    refused_update: str
    update: str
    class_page: str
    refused_ontologies: tuple[Path, ...] = ()


def plan(browser: Any, place: Path) -> DayPlan:
    """Return the plan of a day, with files that are made for it in a folder."""
    if DOCUMENTS and ONTOLOGIES:
        return _of_clocks(browser, Path(DOCUMENTS), Path(ONTOLOGIES), place)
    return _of_crops(place)


def _of_crops(place: Path) -> DayPlan:
    for name, text in NOTES.items():
        (place / name).write_text(text, encoding="utf-8")
    sheet = Canvas(str(place / "sorghum.pdf"))
    sheet.setTitle("Sorghum on black soil")
    for line in ("Sorghum on black soil", "Sorghum is a grain of dry land."):
        sheet.drawString(72, 760, line)
        sheet.showPage()
    sheet.drawString(72, 760, "On black soil, sorghum is sown 6 cm deep. It is cut in November.")
    sheet.save()
    graph = CROPS.rstrip("#")
    return DayPlan(
        ontologies=(folder("ontologies") / "crops.ttl", folder("ontologies") / "news.ttl"),
        documents=(*(DEMO / "texts").iterdir(), *(place / name for name in NOTES), place / "sorghum.pdf"),
        question="When is chickpea sown in the Hill Zone?",
        question_of_pdf="How deep is sorghum sown on black soil?",
        words_of_pdf="6 cm deep",
        question_of_data="How is land prepared for crops?",
        data=OF_CROPS,
        mistakes=_mistakes("crop"),
        refused_update=_update(graph, f"<{CROPS}Millet> a owl:Class ; rdfs:subClassOf <{CROPS}Millet>"),
        update=_update(
            graph,
            f"""<{CROPS}Millet> a owl:Class ; rdfs:subClassOf <{CROPS}Crop> ;
  rdfs:label "millet"@en ; rdfs:comment "A small-seeded grass that is grown for its grain."@en""",
        ),
        class_page=quote(f"{CROPS}Crop", safe=""),
    )


def _of_clocks(browser: Any, documents: Path, ontologies: Path, place: Path) -> DayPlan:
    """Return the plan of a day with real texts; the PDF is what the browser prints of a page."""
    browser.get((documents / f"{PRINTED}.html").as_uri())
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 5.8, "paperHeight": 8.3})
    (place / f"{PRINTED}.pdf").write_bytes(base64.b64decode(printed["data"]))
    browser.get("about:blank")
    return DayPlan(
        ontologies=(ontologies / "org.ttl", ontologies / "sosa.ttl"),
        documents=(*(documents / f"{name}.html" for name in OF_TIME), place / f"{PRINTED}.pdf"),
        question="What is the panic threshold?",
        question_of_pdf="To what is the keyword nts appended?",
        words_of_pdf="the end of your server lines",
        question_of_data="Which sensor observes which property?",
        data=OF_CLOCKS,
        mistakes=_mistakes("Sensor"),
        refused_update=_update(SOSA, f"<{SOSA}Clock> a owl:Class ; rdfs:subClassOf <{SOSA}Clock>"),
        update=_update(
            SOSA,
            f"""<{SOSA}Clock> a owl:Class ; rdfs:subClassOf <{SOSA}Sensor> ; rdfs:isDefinedBy <{SOSA}> ;
  rdfs:label "clock"@en ; rdfs:comment "A sensor that observes the time."@en""",
        ),
        class_page=quote(f"{SOSA}Sensor", safe=""),
        refused_ontologies=(ontologies / "prov-o.ttl",),
    )


def _mistakes(label: str) -> str:
    """Return a query with three mistakes and a prefix that nobody knows."""
    return (
        "SELECT ?thing ?name WHERE {\n  ?thing a owl:Class\n  ?thing rdfs:label ?name ; zoo:near http://example.org/x .\n"
        f'  FILTER ?name = "{label}"@en\n}}'
    )


def _update(graph: str, triples: str) -> str:
    return f"INSERT DATA {{ GRAPH <{graph}> {{ {triples} }} }}"
