# One triple in two graphs
#
# param first: IRI      a graph that nobody else uses
# param second: IRI     another one
# param subject: IRI    of the triple
# writes  both graphs

INSERT DATA {
  GRAPH {{ first }} { {{ subject }} <urn:kgrag:probe:merged> "stated twice" }
  GRAPH {{ second }} { {{ subject }} <urn:kgrag:probe:merged> "stated twice" }
}
