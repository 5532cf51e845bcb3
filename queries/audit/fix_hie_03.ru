# Delete superclass and superproperty statements that follow from the others
#
# Source  HIE-03; ROBOT reduce. A statement within a cycle stays, so that what follows is the same as before.
# param target: IRI    graph with the ontology
# writes  the target

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

DELETE { GRAPH {{ target }} { ?term rdfs:subClassOf ?above } }
WHERE {
  GRAPH {{ target }} { ?term rdfs:subClassOf ?above , ?between }
  FILTER(isIRI(?term) && isIRI(?above) && isIRI(?between) && ?above != ?between && ?above NOT IN (owl:Thing, rdfs:Resource))
  GRAPH {{ target }} { ?between rdfs:subClassOf+ ?above }
  FILTER NOT EXISTS { GRAPH {{ target }} { ?above rdfs:subClassOf+ ?between } }
  FILTER NOT EXISTS { GRAPH {{ target }} { ?above rdfs:subClassOf+ ?term } }
} ;
DELETE { GRAPH {{ target }} { ?term rdfs:subPropertyOf ?above } }
WHERE {
  GRAPH {{ target }} { ?term rdfs:subPropertyOf ?above , ?between }
  FILTER(isIRI(?term) && isIRI(?above) && isIRI(?between) && ?above != ?between)
  GRAPH {{ target }} { ?between rdfs:subPropertyOf+ ?above }
  FILTER NOT EXISTS { GRAPH {{ target }} { ?above rdfs:subPropertyOf+ ?between } }
  FILTER NOT EXISTS { GRAPH {{ target }} { ?above rdfs:subPropertyOf+ ?term } }
}
