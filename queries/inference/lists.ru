# The members of the lists that OWL axioms name, each with its list
#
# Source  OWL 2 Profiles, section 4.3: LIST[?x, ?y1, ..., ?yn] in the rules of OWL 2 RL.
#
# param closure: IRI    the graph with the lists
# param members: IRI    takes ?list rdfs:member ?member
# writes  the members

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

INSERT { GRAPH {{ members }} { ?list rdfs:member ?member } }
WHERE {
  VALUES ?names { owl:intersectionOf owl:unionOf owl:oneOf owl:members owl:distinctMembers }
  GRAPH {{ closure }} { ?owner ?names ?list . ?list rdf:rest*/rdf:first ?member }
}
