# Deletes synonyms that repeat the label of the same term
#
# Source  ANN-13. Which scope or which of several terms a synonym belongs to is for a person to say; so is what becomes
#         of an owl:Axiom about a synonym, which therefore stays.
# param target: IRI    graph with the ontology
# param context: IRI   graph that knows the ontology's own terms
# writes  the target

PREFIX aud: <https://w3id.org/kgrag/audit#>
PREFIX obo: <http://purl.obolibrary.org/obo/>
PREFIX oboInOwl: <http://www.geneontology.org/formats/oboInOwl#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

DELETE { GRAPH {{ target }} { ?term ?property ?text } }
WHERE {
  VALUES ?property { oboInOwl:hasExactSynonym obo:IAO_0000118 skos:altLabel }
  GRAPH {{ target }} { ?term ?property ?text ; rdfs:label ?text }
  GRAPH {{ context }} { ?term a aud:LiveTerm }
  MINUS {
    GRAPH {{ target }} {
      ?axiom owl:annotatedSource ?term ; owl:annotatedProperty ?property ; owl:annotatedTarget ?text
    }
  }
}
