"""From evidence to an answer: fused rankings, sentences with verified citations, their JSON and RDF forms."""
