# Deletes alternative labels that repeat the preferred one, and hidden labels that repeat either
#
# Source  SKS-02
# param target: IRI    graph with the concepts
# writes  the target

PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

DELETE { GRAPH {{ target }} { ?concept ?repeated ?text } }
WHERE {
  VALUES (?kept ?repeated) {
    (skos:prefLabel skos:altLabel) (skos:prefLabel skos:hiddenLabel) (skos:altLabel skos:hiddenLabel)
  }
  GRAPH {{ target }} { ?concept ?kept ?text ; ?repeated ?text }
}
