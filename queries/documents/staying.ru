# Say that a document keeps some places after all
#
# Problem What was to come to them did not come in.
# param catalogue: IRI          the catalogue graph
# param graph: IRI              the graph of the document
# param places: literal list    the places
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { {{ graph }} ?said ?place } }
WHERE {
  VALUES ?said { kg:leaves kg:yields }
  VALUES ?place { {{ places }} }
  GRAPH {{ catalogue }} { {{ graph }} ?said ?place }
}
