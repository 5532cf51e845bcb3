# Take everything out of graphs that speaks of things which are no more, and mark those graphs as stale
#
# Source  ARCHITECTURE section 4: deleting a document drops what was derived from it alone; what another graph still
#         states stays; a tree that loses a source is marked stale
# Problem A summary or an aggregate quotes what it stands on, so its words go too; its place in the tree is kept for
#         the next build.
# param catalogue: IRI       the catalogue graph
# param graphs: IRI list     the graphs to be trimmed
# param gone: IRI list       things that are no more
# param silent: IRI list     nodes that lose their texts
# param dropped: IRI list    graphs that will be dropped after this; their entries stay, so that a killed call finds them
# param stale: IRI list      those of the graphs that a build has to mend
# writes  the graphs and their catalogue entries

PREFIX kg: <https://w3id.org/kgrag/ns#>

{% for graph in graphs %}
DELETE { GRAPH {{ graph }} { ?gone ?property ?value } }
WHERE {
  VALUES ?gone { {{ gone }} }
  GRAPH {{ graph }} { ?gone ?property ?value }
} ;
DELETE { GRAPH {{ graph }} { ?subject ?property ?gone } }
WHERE {
  VALUES ?gone { {{ gone }} }
  GRAPH {{ graph }} { ?subject ?property ?gone }
} ;
DELETE { GRAPH {{ graph }} { ?node kg:text ?text } }
WHERE {
  VALUES ?node { {{ silent }} }
  GRAPH {{ graph }} { ?node kg:text ?text }
} ;
{% endfor %}
DELETE { GRAPH {{ catalogue }} { ?graph ?property ?gone } }
WHERE {
  VALUES ?gone { {{ gone }} }
  GRAPH {{ catalogue }} { ?graph ?property ?gone }
  FILTER (?graph NOT IN ({% for graph in dropped %}{{ graph }}{% if not loop.last %}, {% endif %}{% endfor %}))
} ;
INSERT { GRAPH {{ catalogue }} { ?graph kg:stale true } }
WHERE { VALUES ?graph { {{ stale }} } }
