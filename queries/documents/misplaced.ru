# Say that documents stand no longer in some places
#
# Source  ARCHITECTURE section 4, "Change": the same text under a second location is one document with two places
# param catalogue: IRI          the catalogue graph
# param graphs: IRI list        graphs of documents
# param places: literal list    for each of these graphs, a location that its document had
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?graph ?said ?place } }
WHERE {
  VALUES (?graph ?place) {
    {% for graph in graphs %}({{ graph }} {{ places[loop.index0] }}) {% endfor %}

  }
  GRAPH {{ catalogue }} { ?graph ?said ?place }
  FILTER (?said IN (kg:location, kg:leaves, kg:yields))
} ;

DELETE { GRAPH {{ catalogue }} { ?graph kg:readFrom ?file } }
WHERE {
  VALUES ?graph { {{ graphs }} }
  GRAPH {{ catalogue }} { ?graph kg:readFrom ?file }
  FILTER NOT EXISTS {
    GRAPH {{ catalogue }} { ?graph kg:location ?place }
    FILTER(STRSTARTS(?place, CONCAT(?file, "#")))
  }
}
