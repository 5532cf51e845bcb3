# Take some quads out of a SPARQL server and put others in, in one operation
#
# Source  own. One DELETE/INSERT whose templates have no variable is one operation, whole or absent on every engine.
# param dropped: IRI list            graphs that go with everything in them
# param gone_graphs: IRI list        quads to take out: graphs,
# param gone_subjects: IRI list      subjects,
# param gone_predicates: IRI list    predicates
# param gone_objects: term list      and objects
# param come_graphs: IRI list        quads to put in: graphs,
# param come_subjects: IRI list      subjects,
# param come_predicates: IRI list    predicates
# param come_objects: term list      and objects
# writes  the graphs of those quads

DELETE {
{% for subject in gone_subjects %}
  GRAPH {{ gone_graphs[loop.index0] }} { {{ subject }} {{ gone_predicates[loop.index0] }} {{ gone_objects[loop.index0] }} }
{% endfor %}
}
INSERT {
{% for subject in come_subjects %}
  GRAPH {{ come_graphs[loop.index0] }} { {{ subject }} {{ come_predicates[loop.index0] }} {{ come_objects[loop.index0] }} }
{% endfor %}
}
WHERE {}
{% if dropped %}
;
DELETE { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
  VALUES ?graph { {{ dropped }} }
  GRAPH ?graph { ?subject ?predicate ?object }
}
{% endif %}
