# Deletes annotations of an ontology and its own terms that hold no text
#
# Source  ANN-08
# param target: IRI    graph with the ontology
# param context: IRI   graph that knows the ontology's own terms
# writes  the target

PREFIX aud: <https://w3id.org/kgrag/audit#>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX obo: <http://purl.obolibrary.org/obo/>
PREFIX oboInOwl: <http://www.geneontology.org/formats/oboInOwl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

DELETE { GRAPH {{ target }} { ?term ?property ?text } }
WHERE {
  VALUES ?property {
    rdfs:label rdfs:comment skos:prefLabel skos:altLabel skos:definition skos:scopeNote skos:example obo:IAO_0000115
    oboInOwl:hasExactSynonym dcterms:title dcterms:description dc:title dc:description
  }
  GRAPH {{ target }} { ?term ?property ?text }
  FILTER(isLiteral(?text) && !REGEX(STR(?text), "\\S"))
  VALUES ?own { aud:OwnTerm aud:AuditedOntology }
  GRAPH {{ context }} { ?term a ?own }
}
