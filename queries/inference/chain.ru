# OWL 2 RL: what follows from one property chain
#
# Source  OWL 2 Profiles, section 4.3, table 5: prp-spo2. Run until nothing is added.
#
# param closure: IRI      the graph that is read, and that takes what follows
# param property: IRI     the property that the chain leads to
# param chain: IRI list   the properties of the chain, in order
# writes  the closure

INSERT { GRAPH {{ closure }} { ?subject {{ property }} ?object } }
WHERE {
{% if chain %}
  GRAPH {{ closure }} { ?subject {% for each in chain %}{{ each }}{% if not loop.last %}/{% endif %}{% endfor %} ?object }
{% else %}
  FILTER(false)
{% endif %}
}
