"""Answers scored, not schemas: builds and questions with any language model, and the verdicts of a judge about them.

``README.md`` in this folder has the protocol. ``asking`` builds each method in a knowledge base of its own and keeps
what it answers as one line per question; ``judging`` writes what a judge is shown and counts the verdicts.
"""
