# Take back the claims of publications
#
# Source  own; see catalogue/claim
# param catalogue: IRI          the catalogue graph
# param writers: literal list   whose claims; none = everybody's, which a writer takes back that opens a store: who made
#                               them has died, or is refused by its guard
# writes  the catalogue

DELETE { GRAPH {{ catalogue }} { ?publication <urn:kgrag:claim> ?writer } }
WHERE {
  {% if writers %}
  VALUES ?writer { {{ writers }} }
  {% endif %}
  GRAPH {{ catalogue }} { ?publication <urn:kgrag:claim> ?writer }
}
