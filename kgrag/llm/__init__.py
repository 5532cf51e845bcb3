"""Language models and embedders: services behind an OpenAI-compatible base URL, and those that need no network.

``openai_connection`` sends requests and decides which to repeat; ``openai_chat`` and ``openai_embeddings`` are the
ports on top of it. The ``openai`` client is imported at the first request; it never retries by itself. ``extractive``
answers prompts by rules, ``embedders`` loads MiniLM and caches vectors, ``completion_cache`` keeps completions, and
``structured_output`` reads replies.
"""
