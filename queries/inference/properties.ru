# OWL 2 RL: what follows from axioms about properties
#
# Source  OWL 2 Profiles, section 4.3, table 5: prp-dom to prp-inv2 without those whose conclusion is false (contradictions.rq),
#         prp-spo2 (chain.ru) and prp-key (key.ru). Values that are literals are not made equal: contradictions.rq tells.
#         Run until nothing is added.
#
# param closure: IRI    the graph that is read, and that takes what follows
# writes  the closure

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# prp-spo1
INSERT { GRAPH {{ closure }} { ?subject ?upper ?object } }
WHERE { GRAPH {{ closure }} { ?lower rdfs:subPropertyOf ?upper . ?subject ?lower ?object . FILTER(?lower != ?upper) } } ;

# prp-eqp1, prp-eqp2
INSERT { GRAPH {{ closure }} { ?subject ?other ?object } }
WHERE {
  GRAPH {{ closure }} { ?one owl:equivalentProperty|^owl:equivalentProperty ?other . ?subject ?one ?object . FILTER(?one != ?other) }
} ;

# prp-inv1, prp-inv2
INSERT { GRAPH {{ closure }} { ?object ?inverse ?subject } }
WHERE {
  GRAPH {{ closure }} { ?property owl:inverseOf|^owl:inverseOf ?inverse . ?subject ?property ?object . FILTER(!isLiteral(?object)) }
} ;

# prp-symp
INSERT { GRAPH {{ closure }} { ?object ?property ?subject } }
WHERE {
  GRAPH {{ closure }} { ?property rdf:type owl:SymmetricProperty . ?subject ?property ?object . FILTER(!isLiteral(?object)) }
} ;

# prp-trp
INSERT { GRAPH {{ closure }} { ?subject ?property ?object } }
WHERE {
  GRAPH {{ closure }} { ?property rdf:type owl:TransitiveProperty . ?subject ?property ?middle . ?middle ?property ?object }
} ;

# prp-dom
INSERT { GRAPH {{ closure }} { ?subject rdf:type ?class } }
WHERE { GRAPH {{ closure }} { ?property rdfs:domain ?class . ?subject ?property ?object } } ;

# prp-rng
INSERT { GRAPH {{ closure }} { ?object rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} { ?property rdfs:range ?class . ?subject ?property ?object . FILTER(!isLiteral(?object)) }
} ;

# prp-fp
INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} { ?property rdf:type owl:FunctionalProperty . ?subject ?property ?one , ?other }
  FILTER(!sameTerm(?one, ?other) && !isLiteral(?one) && !isLiteral(?other))
} ;

# prp-ifp
INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?property rdf:type owl:InverseFunctionalProperty .
    ?one ?property ?object .
    ?other ?property ?object .
    FILTER(!sameTerm(?one, ?other))
  }
}
