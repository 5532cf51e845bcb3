# Say that a property that is its own inverse is symmetric
#
# Source  PRO-04. Both say the same in OWL 2 (Structural Specification, section 9.2.8).
# param target: IRI    graph with the ontology
# writes  the target

PREFIX owl: <http://www.w3.org/2002/07/owl#>

DELETE { GRAPH {{ target }} { ?property owl:inverseOf ?property } }
INSERT { GRAPH {{ target }} { ?property a owl:SymmetricProperty } }
WHERE { GRAPH {{ target }} { ?property owl:inverseOf ?property } }
