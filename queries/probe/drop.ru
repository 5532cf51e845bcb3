# Drop the graph of a probe
#
# param graph: IRI    the graph
# writes  this graph

DROP SILENT GRAPH {{ graph }}
