# End leases now; their number stays, so that it is never used again
#
# param catalogue: IRI      the catalogue graph
# param resource: IRI       what is leased
# param number: integer     the number of the lease
# param leases: IRI list    which of those with this number; none = all
# writes  the catalogue

DELETE { GRAPH {{ catalogue }} { ?lease ?property ?value } }
WHERE {
  {% if leases %}
  VALUES ?lease { {{ leases }} }
  {% endif %}
  VALUES ?property { <urn:kgrag:lease:holder> <urn:kgrag:lease:until> }
  GRAPH {{ catalogue }} {
    ?lease <urn:kgrag:lease:of> {{ resource }} ;
           <urn:kgrag:lease:number> {{ number }} ;
           ?property ?value .
  }
}
