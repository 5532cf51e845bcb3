# Take some quads out of a SPARQL server and put others in, in one operation
#
# Source  own. One DELETE/INSERT whose templates have no variable is one operation, whole or absent on every engine.
# param dropped: IRI list           graphs that go with everything in them
# param gone: quad list              quads to take out
# param come: quad list              quads to put in
# writes  the graphs of those quads

DELETE { {{ gone }} }
INSERT { {{ come }} }
WHERE {}
{% if dropped %}
;
DELETE { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
  VALUES ?graph { {{ dropped }} }
  GRAPH ?graph { ?subject ?predicate ?object }
}
{% endif %}
