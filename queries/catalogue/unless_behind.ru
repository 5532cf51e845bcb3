# Let a request fail whole where another writer was first; else put down who writes
#
# Source  SPARQL 1.1 Update, section 3.2.1: creating a graph that exists is an error, and a request that fails is undone
#         whole. The graph exists where the condition holds, and at the end of no request.
# Problem SPARQL has no other way to make an update of any form depend on what is stored. No prefix is declared, as this
#         comes behind the prefixes of an update from outside.
# param guard: IRI          a name for a graph that nobody else uses
# param catalogue: IRI      the catalogue graph
# param publication: IRI    what is about to be written: by somebody else, where it is stated already
# param resource: IRI       what the writer has a lease of
# param number: integer     the number of that lease: the store must have seen it, and none that is higher
# param before: IRI list    what this writer wrote last; another one wrote it, too, where it names another
# param writer: literal     the lineage of the writer
# writes  the catalogue: who writes the publication

INSERT { GRAPH {{ guard }} { {{ guard }} <urn:kgrag:behind> {{ writer }} } }
WHERE {
  { GRAPH {{ catalogue }} { {{ publication }} <https://w3id.org/kgrag/ns#revision> ?revision } }
  UNION
  { GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> ?seen FILTER(?seen > {{ number }}) } }
  UNION
  { FILTER NOT EXISTS { GRAPH {{ catalogue }} { {{ resource }} <urn:kgrag:lease:fence> {{ number }} } } }
{% for node in before %}
  UNION
  { GRAPH {{ catalogue }} { {{ node }} <https://w3id.org/kgrag/ns#lineage> ?other FILTER(?other != {{ writer }}) } }
{% endfor %}
} ;
CREATE GRAPH {{ guard }} ;
DROP GRAPH {{ guard }} ;
INSERT DATA { GRAPH {{ catalogue }} { {{ publication }} <https://w3id.org/kgrag/ns#lineage> {{ writer }} } }
