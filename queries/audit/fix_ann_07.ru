# Takes white space from both ends of labels and synonyms, and makes each run of it inside one space
#
# Source  ANN-07. No-break spaces between two words stay as they are. What an owl:Axiom says of a label stays with it.
# param target: IRI    graph with the ontology
# param context: IRI   graph that knows the ontology's own terms
# writes  the target

PREFIX aud: <https://w3id.org/kgrag/audit#>
PREFIX obo: <http://purl.obolibrary.org/obo/>
PREFIX oboInOwl: <http://www.geneontology.org/formats/oboInOwl#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

DELETE { GRAPH {{ target }} { ?term ?property ?old . ?axiom owl:annotatedTarget ?old } }
INSERT { GRAPH {{ target }} { ?term ?property ?new . ?axiom owl:annotatedTarget ?new } }
WHERE {
  VALUES ?property {
    rdfs:label skos:prefLabel skos:altLabel skos:hiddenLabel oboInOwl:hasExactSynonym oboInOwl:hasRelatedSynonym
    oboInOwl:hasNarrowSynonym oboInOwl:hasBroadSynonym obo:IAO_0000118
  }
  GRAPH {{ target }} { ?term ?property ?old }
  FILTER(isLiteral(?old) && !REGEX(STR(?old), "^(\\S+([ \\u00a0\\u202f]\\S+)*)?$") && REGEX(STR(?old), "\\S"))
  GRAPH {{ context }} { ?term a aud:OwnTerm }
  BIND(REPLACE(REPLACE(STR(?old), "^\\s+|\\s+$", ""), "[\\t\\n\\r ]+|\\s{2,}", " ") AS ?text)
  BIND(IF(LANG(?old) = "", STRDT(?text, DATATYPE(?old)), STRLANG(?text, LANG(?old))) AS ?new)
  OPTIONAL {
    GRAPH {{ target }} {
      ?axiom owl:annotatedSource ?term ; owl:annotatedProperty ?property ; owl:annotatedTarget ?old
    }
  }
}
