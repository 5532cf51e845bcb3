# Take out the quads with blank nodes, whose place quads with IRIs take
#
# writes  every graph with a blank node

DELETE { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
  GRAPH ?graph { ?subject ?predicate ?object }
  FILTER(isBlank(?subject) || isBlank(?object))
}
