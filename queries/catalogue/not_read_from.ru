# Say that some files have graphs of loaded RDF no more, which others have
#
# param catalogue: IRI         the catalogue graph
# param graphs: IRI list       graphs
# param files: literal list    real paths of files
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?graph kg:readFrom ?file } }
WHERE {
  VALUES ?graph { {{ graphs }} }
  VALUES ?file { {{ files }} }
  GRAPH {{ catalogue }} { ?graph kg:readFrom ?file }
}
