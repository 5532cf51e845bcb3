"""From a question to the store: searches, the ontology check, text to SPARQL, the query process."""
