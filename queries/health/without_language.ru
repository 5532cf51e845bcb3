# Text in a language without the language becomes plain text
#
# Problem No reader takes back what an engine writes of such a literal, so that a dump with one cannot be restored.
# Repair  The text stays. Where the language is known, add it by an update of your own.
# writes  every graph that has one

PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>

DELETE { GRAPH ?graph { ?subject ?predicate ?typed } }
INSERT { GRAPH ?graph { ?subject ?predicate ?text } }
WHERE {
  GRAPH ?graph { ?subject ?predicate ?typed }
  FILTER(isLiteral(?typed) && DATATYPE(?typed) IN (rdf:langString, rdf:dirLangString) && LANG(?typed) = "")
  BIND(STR(?typed) AS ?text)
}
