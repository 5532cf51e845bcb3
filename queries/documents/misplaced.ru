# Say that a document stands no longer in some places
#
# Source  ARCHITECTURE section 4, "Change": the same text under a second location is one document with two places
# param catalogue: IRI          the catalogue graph
# param graph: IRI              the graph of the document
# param places: literal list    locations that it had
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { {{ graph }} ?said ?place } }
WHERE {
  VALUES ?said { kg:location kg:leaves kg:yields }
  VALUES ?place { {{ places }} }
  GRAPH {{ catalogue }} { {{ graph }} ?said ?place }
} ;

DELETE { GRAPH {{ catalogue }} { {{ graph }} kg:readFrom ?file } }
WHERE {
  GRAPH {{ catalogue }} { {{ graph }} kg:readFrom ?file }
  FILTER NOT EXISTS {
    GRAPH {{ catalogue }} { {{ graph }} kg:location ?place }
    FILTER(STRSTARTS(?place, CONCAT(?file, "#")))
  }
}
