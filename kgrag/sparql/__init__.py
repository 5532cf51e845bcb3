"""Reads a SPARQL query for checking: every triple pattern with its place in the text and the context it holds in.

OBQC, section 3.1. The store's engine has no parser to ask, and rdflib's flattens contexts, loses places and is slow.
This reader accepts what the store's engine accepts, and reads past what a check should name: prefixes that aren't
declared, prefixed names in angle brackets, variables left out of GROUP BY.
"""
