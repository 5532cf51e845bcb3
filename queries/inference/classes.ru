# OWL 2 RL: what follows from class expressions, and from classes below and equal to others
#
# Source  OWL 2 Profiles, section 4.3, tables 6 and 7, without the rules whose conclusion is false (contradictions.rq).
#         Run until nothing is added.
#
# param closure: IRI    the graph that is read, and that takes what follows
# param members: IRI    the members of lists, see lists.ru
# writes  the closure

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# cax-sco
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?upper } }
WHERE { GRAPH {{ closure }} { ?lower rdfs:subClassOf ?upper . ?instance rdf:type ?lower . FILTER(?lower != ?upper) } } ;

# cax-eqc1, cax-eqc2
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?other } }
WHERE {
  GRAPH {{ closure }} { ?one owl:equivalentClass|^owl:equivalentClass ?other . ?instance rdf:type ?one . FILTER(?one != ?other) }
} ;

# cls-int1
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?class } }
WHERE {
  {
    SELECT ?list (COUNT(DISTINCT ?member) AS ?needed)
    WHERE { GRAPH {{ members }} { ?list rdfs:member ?member } }
    GROUP BY ?list
  }
  {
    SELECT ?class ?list ?instance (COUNT(DISTINCT ?member) AS ?found)
    WHERE {
      GRAPH {{ closure }} { ?class owl:intersectionOf ?list }
      GRAPH {{ members }} { ?list rdfs:member ?member }
      GRAPH {{ closure }} { ?instance rdf:type ?member }
    }
    GROUP BY ?class ?list ?instance
  }
  FILTER(?found = ?needed)
} ;

# cls-int2
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?member } }
WHERE {
  GRAPH {{ closure }} { ?class owl:intersectionOf ?list . ?instance rdf:type ?class }
  GRAPH {{ members }} { ?list rdfs:member ?member }
} ;

# cls-uni
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} { ?class owl:unionOf ?list }
  GRAPH {{ members }} { ?list rdfs:member ?member }
  GRAPH {{ closure }} { ?instance rdf:type ?member }
} ;

# cls-oo
INSERT { GRAPH {{ closure }} { ?instance rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} { ?class owl:oneOf ?list }
  GRAPH {{ members }} { ?list rdfs:member ?instance }
  FILTER(!isLiteral(?instance))
} ;

# cls-svf1
INSERT { GRAPH {{ closure }} { ?subject rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:someValuesFrom ?filler ;
           owl:onProperty ?property .
    ?subject ?property ?object .
    ?object rdf:type ?filler .
  }
} ;

# cls-svf2
INSERT { GRAPH {{ closure }} { ?subject rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:someValuesFrom owl:Thing ;
           owl:onProperty ?property .
    ?subject ?property ?object .
  }
} ;

# cls-avf
INSERT { GRAPH {{ closure }} { ?object rdf:type ?filler } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:allValuesFrom ?filler ;
           owl:onProperty ?property .
    ?subject rdf:type ?class ;
             ?property ?object .
    FILTER(!isLiteral(?object))
  }
} ;

# cls-hv1
INSERT { GRAPH {{ closure }} { ?subject ?property ?value } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:hasValue ?value ;
           owl:onProperty ?property .
    ?subject rdf:type ?class .
  }
} ;

# cls-hv2
INSERT { GRAPH {{ closure }} { ?subject rdf:type ?class } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:hasValue ?value ;
           owl:onProperty ?property .
    ?subject ?property ?value .
  }
} ;

# cls-maxc2
INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:maxCardinality ?most ;
           owl:onProperty ?property .
    ?subject rdf:type ?class ;
             ?property ?one , ?other .
    FILTER(?most = 1 && !sameTerm(?one, ?other) && !isLiteral(?one) && !isLiteral(?other))
  }
} ;

# cls-maxqc3
INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:maxQualifiedCardinality ?most ;
           owl:onProperty ?property ;
           owl:onClass ?filler .
    ?subject rdf:type ?class ;
             ?property ?one , ?other .
    ?one rdf:type ?filler .
    ?other rdf:type ?filler .
    FILTER(?most = 1 && !sameTerm(?one, ?other))
  }
} ;

# cls-maxqc4
INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?class owl:maxQualifiedCardinality ?most ;
           owl:onProperty ?property ;
           owl:onClass owl:Thing .
    ?subject rdf:type ?class ;
             ?property ?one , ?other .
    FILTER(?most = 1 && !sameTerm(?one, ?other) && !isLiteral(?one) && !isLiteral(?other))
  }
}
