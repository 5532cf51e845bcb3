# Drop graphs, and take everything that speaks of things which are no more out of the graphs that stay, in one atomic step
#
# Source  ARCHITECTURE section 4: deleting a document drops what was derived from it alone; what another graph still
#         states stays; a tree that loses a source is marked stale
# Problem A summary or an aggregate quotes what it stands on, so its words go too; its place in the tree is kept for
#         the next build. Things are looked up before graphs: many of each would be all pairs. The catalogue forgets a graph that this leaves empty; one that was published empty is struck here.
# param catalogue: IRI       the catalogue graph
# param graphs: IRI list     the graphs to be trimmed
# param gone: IRI list       things that are no more
# param silent: IRI list     nodes that lose their texts
# param dropped: IRI list    graphs that are dropped
# param entries: IRI list    other things that the catalogue has entries of, e.g. sources, which go as well
# writes  the graphs and their catalogue entries

PREFIX kg: <https://w3id.org/kgrag/ns#>
PREFIX void: <http://rdfs.org/ns/void#>

{% for graph in dropped %}
DROP SILENT GRAPH {{ graph }} ;
{% endfor %}
DELETE { GRAPH {{ catalogue }} { ?graph ?property ?value } }
WHERE {
  VALUES ?graph { {{ dropped }} }
  GRAPH {{ catalogue }} {
    ?graph void:triples 0 ;
           ?property ?value .
  }
} ;
DELETE { GRAPH ?graph { ?gone ?property ?value } }
WHERE {
  {
    SELECT ?graph ?gone ?property ?value
    WHERE {
      VALUES ?gone { {{ gone }} }
      GRAPH ?graph { ?gone ?property ?value }
    }
  }
  VALUES ?graph { {{ graphs }} }
} ;
DELETE { GRAPH ?graph { ?subject ?property ?gone } }
WHERE {
  {
    SELECT ?graph ?subject ?property ?gone
    WHERE {
      VALUES ?gone { {{ gone }} }
      GRAPH ?graph { ?subject ?property ?gone }
    }
  }
  VALUES ?graph { {{ graphs }} }
} ;
DELETE { GRAPH ?graph { ?node kg:text ?text } }
WHERE {
  {
    SELECT ?graph ?node ?text
    WHERE {
      VALUES ?node { {{ silent }} }
      GRAPH ?graph { ?node kg:text ?text }
    }
  }
  VALUES ?graph { {{ graphs }} }
} ;
DELETE { GRAPH {{ catalogue }} { ?entry ?property ?value } }
WHERE {
  VALUES ?entry { {{ entries }} }
  GRAPH {{ catalogue }} { ?entry ?property ?value }
} ;
DELETE { GRAPH {{ catalogue }} { ?graph ?property ?gone } }
WHERE {
  VALUES ?gone { {{ gone }} }
  GRAPH {{ catalogue }} { ?graph ?property ?gone }
}
