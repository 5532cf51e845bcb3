"""The ports made real; the only modules that import a client library."""
