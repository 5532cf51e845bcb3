# Take some quads out of the store and put others in, in one atomic step
#
# Source  own. The engine has no transactions but this one: an update. Quads are handed over as row numbers, which
#         functions of the adapter turn into terms, so that no term is written as text and blank
#         nodes keep their names.
# param dropped: IRI list     graphs that go with everything in them
# param gone: integer list    rows to take out
# param come: integer list    rows to put in
# writes  the graphs of those rows, and the catalogue

PREFIX row: <https://w3id.org/kgrag/row#>

{% for graph in dropped %}
DROP SILENT GRAPH {{ graph }} ;
{% endfor %}
DELETE { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
  VALUES ?row { {{ gone }} }
  BIND(row:graph(?row) AS ?graph)
  BIND(row:subject(?row) AS ?subject)
  BIND(row:predicate(?row) AS ?predicate)
  BIND(row:object(?row) AS ?object)
} ;
INSERT { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
  VALUES ?row { {{ come }} }
  BIND(row:graph(?row) AS ?graph)
  BIND(row:subject(?row) AS ?subject)
  BIND(row:predicate(?row) AS ?predicate)
  BIND(row:object(?row) AS ?object)
}
