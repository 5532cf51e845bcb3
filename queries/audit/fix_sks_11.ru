# Deletes relations of a concept to itself
#
# Source  SKS-11. Whether a one-way relation or one between siblings is meant is for a person to say.
# param target: IRI    graph with the concepts
# writes  the target

PREFIX skos: <http://www.w3.org/2004/02/skos/core#>

DELETE { GRAPH {{ target }} { ?concept ?relation ?concept } }
WHERE {
  VALUES ?relation {
    skos:related skos:narrower skos:broaderTransitive skos:narrowerTransitive skos:exactMatch skos:closeMatch
    skos:relatedMatch skos:broadMatch skos:narrowMatch
  }
  GRAPH {{ target }} { ?concept ?relation ?concept }
}
