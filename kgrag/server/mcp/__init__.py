"""The Model Context Protocol: tools, resources and prompts for agents, at ``/mcp`` and by ``kgrag mcp``.

Most tools call an endpoint of this server, with the key that the agent's own request had: so keys, rights, prices and
limits are those of the API. Needs the extra ``mcp``: ``pip install '.[mcp]'``.

====================  ==================================================================
module                what it contains
====================  ==================================================================
``mcp_endpoint``      ``/mcp``, which loads the SDK when it is first asked
``mcp_protocol``      the server of the protocol; knows the SDK
``mcp_stdio``         the same over standard input and output
``tool_list``         the tools: names, descriptions, arguments, what each calls
``tool_arguments``    what tools are called with, as pydantic models
``reading_tools``     ``graphs``, ``schema``, ``document``, ``cite``
``query_tools``       ``sparql``, ``check_sparql``, ``validate``
``agent_resources``   the catalogue, ontologies, stored queries
``agent_prompts``     "answer with citations", "write SPARQL"
====================  ==================================================================
"""
