# OWL 2 RL: what follows for classes and properties themselves
#
# Source  OWL 2 Profiles, section 4.3, table 9. Left out are scm-op, scm-dp and the reflexive conclusions of scm-cls, which
#         hold of every class and property; where a rule needs them, a step of length zero stands for them.
#         Run until nothing is added; scm-sco, scm-spo, scm-eqc and scm-eqp are worked out by the caller.
#
# param closure: IRI    the graph that is read, and that takes what follows
# param members: IRI    the members of lists, see lists.ru
# writes  the closure

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>

# scm-cls
INSERT { GRAPH {{ closure }} { ?class rdfs:subClassOf owl:Thing . owl:Nothing rdfs:subClassOf ?class } }
WHERE { GRAPH {{ closure }} { ?class rdf:type owl:Class } FILTER(?class NOT IN (owl:Thing, owl:Nothing)) } ;

# scm-int
INSERT { GRAPH {{ closure }} { ?class rdfs:subClassOf ?member } }
WHERE { GRAPH {{ closure }} { ?class owl:intersectionOf ?list } GRAPH {{ members }} { ?list rdfs:member ?member } } ;

# scm-uni
INSERT { GRAPH {{ closure }} { ?member rdfs:subClassOf ?class } }
WHERE { GRAPH {{ closure }} { ?class owl:unionOf ?list } GRAPH {{ members }} { ?list rdfs:member ?member } } ;

# scm-hv
INSERT { GRAPH {{ closure }} { ?one rdfs:subClassOf ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?one owl:hasValue ?value ; owl:onProperty ?lower .
    ?other owl:hasValue ?value ; owl:onProperty ?upper .
    FILTER(?one != ?other)
    ?lower rdfs:subPropertyOf? ?upper .
  }
} ;

# scm-svf1, scm-svf2
INSERT { GRAPH {{ closure }} { ?one rdfs:subClassOf ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?one owl:someValuesFrom ?narrow ; owl:onProperty ?lower .
    { ?narrow rdfs:subClassOf? ?wide . ?other owl:someValuesFrom ?wide ; owl:onProperty ?lower }
    UNION
    { ?lower rdfs:subPropertyOf ?upper . ?other owl:someValuesFrom ?narrow ; owl:onProperty ?upper }
    FILTER(?one != ?other)
  }
} ;

# scm-avf1
INSERT { GRAPH {{ closure }} { ?one rdfs:subClassOf ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?one owl:allValuesFrom ?narrow ; owl:onProperty ?property .
    ?narrow rdfs:subClassOf? ?wide .
    ?other owl:allValuesFrom ?wide ; owl:onProperty ?property .
    FILTER(?one != ?other)
  }
} ;

# scm-avf2
INSERT { GRAPH {{ closure }} { ?other rdfs:subClassOf ?one } }
WHERE {
  GRAPH {{ closure }} {
    ?one owl:allValuesFrom ?filler ; owl:onProperty ?lower .
    ?lower rdfs:subPropertyOf ?upper .
    ?other owl:allValuesFrom ?filler ; owl:onProperty ?upper .
    FILTER(?one != ?other)
  }
} ;

# scm-dom1, scm-dom2
INSERT { GRAPH {{ closure }} { ?property rdfs:domain ?class } }
WHERE {
  GRAPH {{ closure }} {
    { ?property rdfs:domain ?narrow . ?narrow rdfs:subClassOf ?class }
    UNION
    { ?upper rdfs:domain ?class . ?property rdfs:subPropertyOf ?upper }
  }
} ;

# scm-rng1, scm-rng2
INSERT { GRAPH {{ closure }} { ?property rdfs:range ?class } }
WHERE {
  GRAPH {{ closure }} {
    { ?property rdfs:range ?narrow . ?narrow rdfs:subClassOf ?class }
    UNION
    { ?upper rdfs:range ?class . ?property rdfs:subPropertyOf ?upper }
  }
}
