# A request whose last operation fails
#
# Source  SPARQL 1.1 Update, section 3.2.1: creating a graph that exists is an error
# param graph: IRI       a graph that exists
# param value: literal   what is written before the error
# writes  the graph, unless the request is undone whole

INSERT DATA { GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:undone> {{ value }} } } ;
CREATE GRAPH {{ graph }}
