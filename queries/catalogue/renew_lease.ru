# Let a lease end later, unless it was released or there is a later one
#
# param catalogue: IRI      the catalogue graph
# param resource: IRI       what is leased
# param number: integer     the number of the lease
# param until: literal      when it ends, by the clock of the server
# writes  the catalogue

DELETE { GRAPH {{ catalogue }} { ?lease <urn:kgrag:lease:until> ?before } }
INSERT { GRAPH {{ catalogue }} { ?lease <urn:kgrag:lease:until> {{ until }} } }
WHERE {
  GRAPH {{ catalogue }} {
    ?lease <urn:kgrag:lease:of> {{ resource }} ;
           <urn:kgrag:lease:number> {{ number }} ;
           <urn:kgrag:lease:until> ?before .
  }
  FILTER NOT EXISTS {
    GRAPH {{ catalogue }} {
      ?later <urn:kgrag:lease:of> {{ resource }} ;
             <urn:kgrag:lease:number> ?taken .
      FILTER (?taken > {{ number }})
    }
  }
}
