"""Language models and embedders behind any OpenAI-compatible base URL.

``connection`` sends requests and decides which to repeat, ``dialects`` finds out what a server understands, ``chat``
and ``embeddings`` are the ports, ``workers`` runs requests side by side. The ``openai`` client is imported at the first
request; it never retries by itself.
"""
