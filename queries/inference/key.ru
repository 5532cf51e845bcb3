# OWL 2 RL: what follows from one key of a class
#
# Source  OWL 2 Profiles, section 4.3, table 5: prp-key. Run until nothing is added.
#
# param closure: IRI     the graph that is read, and that takes what follows
# param class: IRI       the class whose instances are told apart by the key
# param key: IRI list    the properties of the key
# writes  the closure

PREFIX owl: <http://www.w3.org/2002/07/owl#>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

INSERT { GRAPH {{ closure }} { ?one owl:sameAs ?other } }
WHERE {
  GRAPH {{ closure }} {
    ?one rdf:type {{ class }} .
{% for each in key %}
    ?one {{ each }} ?value{{ loop.index }} .
    ?other {{ each }} ?value{{ loop.index }} .
{% endfor %}
    ?other rdf:type {{ class }} .
    FILTER(!sameTerm(?one, ?other))
  }
}
