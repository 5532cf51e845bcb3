# Drop graphs that have no triple, whose names an engine may still list
#
# param graphs: IRI list    the graphs
# writes  these graphs

{% for graph in graphs %}
DROP SILENT GRAPH {{ graph }} ;
{% endfor %}
