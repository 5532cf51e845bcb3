# RDFS: what follows from subclasses, subproperties, domains and ranges
#
# Source  RDF 1.1 Semantics, section 9.2.1: rdfs2, rdfs3, rdfs7, rdfs9. Left out are rules whose conclusions hold of
#         everything (rdfs1, rdfs4, rdfs6, rdfs8, rdfs10, rdfs12, rdfs13). Run until nothing is added; rdfs5 and rdfs11 are
#         worked out by the caller.
#
# param closure: IRI    the graph that is read, and that takes what follows
# writes  the closure

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# rdfs7
INSERT { GRAPH {{ closure }} { ?subject ?upper ?object } }
WHERE { GRAPH {{ closure }} { ?lower rdfs:subPropertyOf ?upper . ?subject ?lower ?object . FILTER(?lower != ?upper) } } ;

# rdfs2
INSERT { GRAPH {{ closure }} { ?subject rdf:type ?class } }
WHERE { GRAPH {{ closure }} { ?property rdfs:domain ?class . ?subject ?property ?object } } ;

# rdfs3
INSERT { GRAPH {{ closure }} { ?object rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} { ?property rdfs:range ?class . ?subject ?property ?object . FILTER(!isLiteral(?object)) }
} ;

# rdfs9
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?upper } }
WHERE { GRAPH {{ closure }} { ?lower rdfs:subClassOf ?upper . ?instance rdf:type ?lower . FILTER(?lower != ?upper) } }
