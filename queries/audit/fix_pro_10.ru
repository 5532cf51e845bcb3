# Write a property chain of one as a superproperty
#
# Source  PRO-10. Both say the same: whatever the one property joins, the other joins too.
# param target: IRI    graph with the ontology
# writes  the target

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

DELETE { GRAPH {{ target }} { ?property owl:propertyChainAxiom ?list . ?list rdf:first ?only ; rdf:rest rdf:nil ; a rdf:List } }
INSERT { GRAPH {{ target }} { ?only rdfs:subPropertyOf ?property } }
WHERE {
  GRAPH {{ target }} { ?property owl:propertyChainAxiom ?list . ?list rdf:rest rdf:nil ; rdf:first ?only }
  FILTER(isIRI(?only) && ?only != ?property)
}
