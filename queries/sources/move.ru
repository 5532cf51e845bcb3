# Say that a folder is another one now: roots of sources, and places of documents, in it
#
# param catalogue: IRI     the catalogue graph
# param old: literal       the folder as it is recorded
# param inside: literal    the same with a separator behind it
# param new: literal       what it is now
# param within: literal    the same with a separator behind it
# writes  the catalogue

PREFIX kg: <https://w3id.org/kgrag/ns#>

DELETE { GRAPH {{ catalogue }} { ?source kg:root ?root } }
INSERT { GRAPH {{ catalogue }} { ?source kg:root ?moved } }
WHERE {
  GRAPH {{ catalogue }} {
    ?source a kg:Source ;
            kg:root ?root .
  }
  FILTER (?root = {{ old }} || STRSTARTS(?root, {{ inside }}))
  BIND (IF(?root = {{ old }}, {{ new }}, CONCAT({{ within }}, SUBSTR(?root, STRLEN({{ inside }}) + 1))) AS ?moved)
} ;

DELETE { GRAPH {{ catalogue }} { ?graph ?said ?place } }
INSERT { GRAPH {{ catalogue }} { ?graph ?said ?moved } }
WHERE {
  VALUES ?said { kg:location kg:readFrom kg:leaves kg:yields }
  GRAPH {{ catalogue }} {
    ?graph a kg:DocumentGraph ;
           ?said ?place .
  }
  FILTER STRSTARTS(?place, {{ inside }})
  BIND (CONCAT({{ within }}, SUBSTR(?place, STRLEN({{ inside }}) + 1)) AS ?moved)
}
