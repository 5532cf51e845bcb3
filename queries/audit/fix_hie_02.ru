# Delete statements that a term is its own superclass, or equivalent to itself
#
# Source  HIE-02. Such a statement is true of every term, so that nothing is lost.
# param target: IRI    graph with the ontology
# writes  the target

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

DELETE { GRAPH {{ target }} { ?term ?property ?term } }
WHERE {
  VALUES ?property { rdfs:subClassOf rdfs:subPropertyOf owl:equivalentClass owl:equivalentProperty }
  GRAPH {{ target }} { ?term ?property ?term }
}
