# A request that fails, as it depends on what its own operations did
#
# Source  SPARQL 1.1 Update, section 3.2.1: creating a graph that exists is an error, and a request that fails is undone
#         whole. On a server that does both, nothing of this enters.
# param graph: IRI       a graph that nobody else uses
# param guard: IRI       another one
# writes  both graphs, unless the request is undone whole

INSERT DATA { GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:first> "there" } } ;
INSERT { GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:second> "wrong" } }
WHERE { FILTER NOT EXISTS { GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:first> "there" } } } ;
INSERT { GRAPH {{ guard }} { <urn:kgrag:probe:1> <urn:kgrag:probe:guard> ?seen } }
WHERE {
  GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:first> ?seen }
  FILTER NOT EXISTS { GRAPH {{ graph }} { <urn:kgrag:probe:1> <urn:kgrag:probe:second> "wrong" } }
} ;
CREATE GRAPH {{ guard }}
