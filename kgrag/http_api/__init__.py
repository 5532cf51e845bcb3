"""The HTTP API as data: its operations, and the models of what they take and return. Server and client follow it.

=================  =====================================================================
module             what it contains
=================  =====================================================================
``operations``     every operation of the JSON API
``json_schemas``   what is taken and returned, as pydantic models
``write_schemas``  the same where it writes: updates, jobs, proposals, saved queries
=================  =====================================================================
"""
