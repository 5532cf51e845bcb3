# A change that is made where nobody made it before
#
# param graph: IRI        the graph
# param subject: IRI      of the statement
# param predicate: IRI    of the statement; of anything it is stated once
# param value: literal    of the statement
# writes  the graph

INSERT { GRAPH {{ graph }} { {{ subject }} {{ predicate }} {{ value }} } }
WHERE { FILTER NOT EXISTS { GRAPH {{ graph }} { ?other {{ predicate }} {{ value }} } } }
