# Say that documents need not be forgotten after all
#
# Problem What was to take their places did not come in.
# param catalogue: IRI          the catalogue graph
# param documents: IRI list     the documents
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?knowledgebase kg:forgets ?document } }
WHERE {
  VALUES ?document { {{ documents }} }
  GRAPH {{ catalogue }} { ?knowledgebase kg:forgets ?document }
}
