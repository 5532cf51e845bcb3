"""What lies between a question and the store: searches, the ontology check, text to SPARQL, the query process."""
