# Write owl:deprecated as xsd:boolean
#
# Source  STR-09. Only values that say true or false in words or digits; anything else is left to a person.
# param target: IRI    graph with the ontology
# writes  the target

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>

DELETE { GRAPH {{ target }} { ?term owl:deprecated ?flag } }
INSERT { GRAPH {{ target }} { ?term owl:deprecated ?boolean } }
WHERE {
  GRAPH {{ target }} { ?term owl:deprecated ?flag }
  FILTER(isLiteral(?flag) && DATATYPE(?flag) != xsd:boolean && LCASE(STR(?flag)) IN ("true", "false", "1", "0"))
  BIND(LCASE(STR(?flag)) IN ("true", "1") AS ?boolean)
}
