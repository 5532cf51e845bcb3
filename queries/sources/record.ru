# Say what a source is, in place of what was said of it and of others
#
# param catalogue: IRI          the catalogue graph
# param replaced: IRI list      the sources that it replaces: itself, and those whose places it takes over
# param source: IRI             the source
# param name: literal           what it is called
# param kind: literal           "folder", "files" or "feed"
# param root: literal           the folder that its places are in, or the name of the feed
# param created: literal        when it was first known
# param synced: literal list    when it was last synced; none for never
# writes  the catalogue

PREFIX dcterms: <http://purl.org/dc/terms/>
PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?old ?property ?value } }
WHERE {
  VALUES ?old { {{ replaced }} }
  GRAPH {{ catalogue }} { ?old ?property ?value }
} ;

INSERT DATA {
  GRAPH {{ catalogue }} {
    {{ source }} a kg:Source ;
      dcterms:identifier {{ name }} ;
      kg:sourceKind {{ kind }} ;
      kg:root {{ root }} ;
      dcterms:created {{ created }} .
{% for time in synced %}
    {{ source }} kg:synced {{ time }} .
{% endfor %}
  }
}
