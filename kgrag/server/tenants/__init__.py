"""Many knowledge bases behind one address, each of a tenant whose keys open it and no other.

A tenant's content is a folder of its own: what is not there cannot be found by any query, search, answer or error.

====================  ==========================================================================
module                what it contains
====================  ==========================================================================
``tenant_file``       the file that declares tenants, their keys and what they may spend
``open_tenants``      opens knowledge bases when they are asked, and closes those longest unused
``tenant_opening``    one knowledge base with its application, metrics and log
``tenant_gateway``    the ASGI application in front: the key of a request chooses the tenant
``operator_paths``    ``/health``, ``/metrics`` and ``/tenants``, for whoever runs the server
``tenant_serving``    opens all of it, and listens
====================  ==========================================================================
"""
