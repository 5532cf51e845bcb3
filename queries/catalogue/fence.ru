# State the number that changes of a store have to bring, unless it has seen a higher one
#
# Source  own; the number is that of the writer's lease, wherever leases are kept
# param catalogue: IRI      the catalogue graph
# param resource: IRI       what is leased
# param number: integer     the number of the lease
# writes  the catalogue

DELETE { GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> ?before } }
INSERT { GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> {{ number }} } }
WHERE {
  OPTIONAL { GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> ?before } }
  FILTER NOT EXISTS {
    GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> ?seen }
    FILTER (?seen > {{ number }})
  }
}
