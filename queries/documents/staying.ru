# Say that documents keep some places after all
#
# Problem What was to come to them did not come in.
# param catalogue: IRI          the catalogue graph
# param graphs: IRI list        graphs of documents
# param places: literal list    for each of these graphs, a place
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?graph ?said ?place } }
WHERE {
  VALUES (?graph ?place) {
    {% for graph in graphs %}({{ graph }} {{ places[loop.index0] }}) {% endfor %}

  }
  GRAPH {{ catalogue }} { ?graph ?said ?place }
  FILTER (?said IN (kg:leaves, kg:yields))
}
