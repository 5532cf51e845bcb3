"""What follows from ontologies and data: stored RDFS and OWL RL rules, HermiT for OWL DL, and explanations."""
