# Set the catalogue right after an update from outside, in the same atomic step
#
# Source  own. The adapter appends this text to the update. Hence no PREFIX lines: the engine allows them only at the
#         very beginning of an update.
# Problem An update may create graphs, empty graphs, change their size and write to the default graph, and the
#         catalogue sees none of it.
# Repair  Enter the revision; move the default graph's triples into a graph of their own; strike graphs that are empty
#         now, and say of what kind they were; list new graphs as data graphs; count the triples anew. Graphs with
#         another count name the revision, and so do those that may differ with the same count. Their checksums are not
#         known any more: an update may have changed every triple of them, and nobody reads them all here. Those of
#         all other graphs are in doubt where any graph may have changed, and kept with a tilde.
# param catalogue: IRI        the catalogue graph
# param default: IRI          the graph that takes the default graph's triples
# param publication: IRI      this revision
# param created: literal      now
# param touched: IRI list     the graphs that the update may have changed; none given = any
# param doubtful: IRI list    those of them whose count does not tell whether they changed
# param unknown: literal      the account of a graph whose checksum is not known
# param subjects: IRI list    statements to put in, the revision and the catalogue's own entry: their subjects,
# param predicates: IRI list  predicates
# param objects: term list    and objects
# writes  the catalogue, and the graph for default triples

INSERT DATA {
  GRAPH {{ catalogue }} {
{% for subject in subjects %}
    {{ subject }} {{ predicates[loop.index0] }} {{ objects[loop.index0] }} .
{% endfor %}
  }
} ;
ADD SILENT DEFAULT TO {{ default }} ;
DROP SILENT DEFAULT ;
DELETE { GRAPH {{ catalogue }} { ?graph ?predicate ?object } }
INSERT { GRAPH {{ catalogue }} { {{ publication }} <https://w3id.org/kgrag/ns#removedKind> ?kind } }
WHERE {
  {
    SELECT ?graph
    WHERE {
      {% if touched %}
      VALUES ?graph { {{ touched }} }
      {% endif %}
      GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#publication> ?any }
      FILTER NOT EXISTS { GRAPH ?graph { ?inner ?relation ?value } }
    }
  }
  GRAPH {{ catalogue }} { ?graph ?predicate ?object }
  OPTIONAL { GRAPH {{ catalogue }} { ?graph a ?kind } }
  FILTER NOT EXISTS { GRAPH {{ catalogue }} { ?graph <http://rdfs.org/ns/void#triples> 0 } }
} ;
INSERT {
  GRAPH {{ catalogue }} {
    ?graph a <https://w3id.org/kgrag/ns#DataGraph> ;
           <http://purl.org/dc/terms/created> {{ created }} ;
           <http://rdfs.org/ns/void#triples> 0 ;
           <https://w3id.org/kgrag/ns#checksum> {{ unknown }} ;
           <https://w3id.org/kgrag/ns#publication> {{ publication }} .
  }
}
WHERE {
  {% if touched %}
  VALUES ?graph { {{ touched }} }
  FILTER NOT EXISTS { GRAPH {{ catalogue }} { ?graph a ?kind } }
  {% else %}
  {
    SELECT ?graph
    WHERE {
      { SELECT ?graph WHERE { GRAPH ?graph { } } }
      MINUS { GRAPH {{ catalogue }} { ?graph a ?kind } }
    }
  }
  {% endif %}
  FILTER EXISTS { GRAPH ?graph { ?inner ?relation ?value } }
} ;
DELETE {
  GRAPH {{ catalogue }} {
    ?graph <http://rdfs.org/ns/void#triples> ?before ;
           <https://w3id.org/kgrag/ns#checksum> ?checksum .
  }
}
INSERT {
  GRAPH {{ catalogue }} {
    ?graph <http://rdfs.org/ns/void#triples> ?now ;
           <https://w3id.org/kgrag/ns#checksum> {{ unknown }} ;
           <https://w3id.org/kgrag/ns#publication> {{ publication }} .
  }
}
WHERE {
  {
    SELECT ?graph ?before (COUNT(*) AS ?now)
    WHERE {
      {% if touched %}
      VALUES ?graph { {{ touched }} }
      {% endif %}
      GRAPH {{ catalogue }} { ?graph <http://rdfs.org/ns/void#triples> ?before }
      GRAPH ?graph { ?subject ?predicate ?object }
    }
    GROUP BY ?graph ?before
  }
  FILTER(?before != ?now)
  OPTIONAL { GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?checksum } }
} ;
DELETE { GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?checksum } }
INSERT {
  GRAPH {{ catalogue }} {
    ?graph <https://w3id.org/kgrag/ns#publication> {{ publication }} ;
           <https://w3id.org/kgrag/ns#checksum> {{ unknown }} .
  }
}
WHERE {
  VALUES ?graph { {{ doubtful }} }
  GRAPH {{ catalogue }} { ?graph a ?kind }
  OPTIONAL { GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?checksum } }
}
{% if not touched %}
;
DELETE { GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?checksum } }
INSERT { GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?doubted } }
WHERE {
  GRAPH {{ catalogue }} { ?graph <https://w3id.org/kgrag/ns#checksum> ?checksum }
  FILTER(?checksum != {{ unknown }})
  BIND(IF(CONTAINS(?checksum, ":"), STRAFTER(?checksum, ":"), ?checksum) AS ?account)
  BIND(IF(CONTAINS(?account, "~"), STRAFTER(?account, "~"), ?account) AS ?value)
  BIND(CONCAT({{ unknown }}, IF(?value = "", "", "~"), ?value) AS ?doubted)
}
{% endif %}
