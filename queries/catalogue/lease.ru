# Put a lease in the place of those that have ended, unless somebody came first
#
# Source  own: of two at one moment on one state both may enter, as an engine may run two updates at once; so whoever
#         writes a lease reads afterwards, and steps back where there is another one. The later one to write sees both.
# param catalogue: IRI      the catalogue graph
# param resource: IRI       what is leased
# param ended: IRI list     leases that have ended, or whose holders have died
# param lease: IRI          a name for the new one that nobody else uses
# param number: integer     its number, higher than those of all before it
# param holder: literal     who has it
# param until: literal      when it ends, by the clock of the server
# writes  the catalogue

DELETE { GRAPH {{ catalogue }} { ?gone ?property ?value } }
INSERT {
  GRAPH {{ catalogue }} {
    {{ lease }} <urn:kgrag:lease:of> {{ resource }} ;
                <urn:kgrag:lease:number> {{ number }} ;
                <urn:kgrag:lease:holder> {{ holder }} ;
                <urn:kgrag:lease:until> {{ until }} .
  }
}
WHERE {
  OPTIONAL {
    VALUES ?gone { {{ ended }} }
    GRAPH {{ catalogue }} { ?gone ?property ?value }
  }
  FILTER NOT EXISTS {
    GRAPH {{ catalogue }} {
      ?later <urn:kgrag:lease:of> {{ resource }} ;
             <urn:kgrag:lease:number> ?taken .
      FILTER (?taken >= {{ number }})
    }
  }
}
