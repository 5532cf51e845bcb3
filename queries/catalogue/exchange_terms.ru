# Take some quads out of a SPARQL server and put others in, in one operation, unless another writer was first
#
# Source  own. One DELETE/INSERT whose templates have no variable is one operation, whole or absent on every engine, and
#         its WHERE is the one place where SPARQL 1.1 can make it depend on what is stored.
# Problem Two writers read the same revision, and each writes the next one.
# Repair  Nothing is exchanged where the publication is stated already; afterwards it has the lineage of who wrote it.
# param publication: IRI list    the publication that these quads belong to; none = they belong to none
# param writer: literal          the lineage of the writer
# param catalogue: IRI           the catalogue graph
# param dropped: IRI list        graphs that go with everything in them
# param gone_graphs: IRI list        quads to take out: graphs,
# param gone_subjects: IRI list      subjects,
# param gone_predicates: IRI list    predicates
# param gone_objects: term list      and objects
# param come_graphs: IRI list        quads to put in: graphs,
# param come_subjects: IRI list      subjects,
# param come_predicates: IRI list    predicates
# param come_objects: term list      and objects
# writes  the graphs of those quads, and the catalogue

DELETE {
{% for subject in gone_subjects %}
  GRAPH {{ gone_graphs[loop.index0] }} { {{ subject }} {{ gone_predicates[loop.index0] }} {{ gone_objects[loop.index0] }} }
{% endfor %}
}
INSERT {
{% for subject in come_subjects %}
  GRAPH {{ come_graphs[loop.index0] }} { {{ subject }} {{ come_predicates[loop.index0] }} {{ come_objects[loop.index0] }} }
{% endfor %}
{% for node in publication %}
  GRAPH {{ catalogue }} { {{ node }} <https://w3id.org/kgrag/ns#lineage> {{ writer }} }
{% endfor %}
}
WHERE {
{% for node in publication %}
  FILTER NOT EXISTS { GRAPH {{ catalogue }} { {{ node }} <https://w3id.org/kgrag/ns#revision> ?revision } }
{% endfor %}
}
{% if dropped %}
;
DELETE { GRAPH ?graph { ?subject ?predicate ?object } }
WHERE {
{% for node in publication %}
  GRAPH {{ catalogue }} { {{ node }} <https://w3id.org/kgrag/ns#lineage> {{ writer }} }
{% endfor %}
  VALUES ?graph { {{ dropped }} }
  GRAPH ?graph { ?subject ?predicate ?object }
}
{% endif %}
