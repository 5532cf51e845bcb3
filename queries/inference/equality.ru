# OWL 2 RL: what follows from equality
#
# Source  OWL 2 Profiles, section 4.3, table 4: eq-rep-s, eq-rep-p, eq-rep-o. eq-ref is left out, since it holds of
#         everything. Run until nothing is added; eq-sym and eq-trans are worked out by the caller.
# Note    A position of a list keeps the one name that was written there: a second one would be read as one more member,
#         different from the first by owl:AllDifferent, and one more step of a property chain. Nothing is lost by it,
#         since what follows from the one name follows for the other.
#
# param closure: IRI    the graph that is read, and that takes what follows
# writes  the closure

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

# eq-rep-s
INSERT { GRAPH {{ closure }} { ?other ?property ?value } }
WHERE { GRAPH {{ closure }} { ?one owl:sameAs ?other . ?one ?property ?value } } ;

# eq-rep-p
INSERT { GRAPH {{ closure }} { ?subject ?other ?value } }
WHERE { GRAPH {{ closure }} { ?one owl:sameAs ?other . ?subject ?one ?value } } ;

# eq-rep-o
INSERT { GRAPH {{ closure }} { ?subject ?property ?other } }
WHERE { GRAPH {{ closure }} { ?one owl:sameAs ?other . ?subject ?property ?one FILTER(?property != rdf:first) } }
