"""The HTTP API as data: its operations, and the models of what they take and return. Server and client follow it.

======================  ==========================================================================
module                  what it contains
======================  ==========================================================================
``operations``          every operation of the JSON API
``content_operations``  those about the content: documents, sources, figures, trees, proofs
``api_operation``       what an operation is
``json_schemas``        what is taken and returned, as pydantic models
``answer_schemas``      what is returned to a question
``content_schemas``     the same about the content
``write_schemas``       the same where it writes: updates, jobs, proposals, saved queries
======================  ==========================================================================
"""
