"""Readers: processes that answer queries from outside over snapshots of the store, and can be killed.

The engine has no way to stop a query, its parser can end the process, and a result belongs to one thread; so whatever
comes from outside runs in a process of its own.

==================  =====================================================================
module              what it contains
==================  =====================================================================
``reader_program``  the program that runs in a reader process
``reader_link``     a reader process, the socket to it and the pipe from it
``reader_request``  limits, a request, the request under way, and its reader
``reader_pool``     starts, feeds and kills readers
``reader_places``   how many readers may work on requests of which kind
``waiting_runs``    requests that wait for a reader, and what requests of their shape took
``reader_renewal``  lets a reader open the copy that has a write, before that is acknowledged
``snapshot_pool``   copies of the store by hard links, renewed after a write
==================  =====================================================================
"""
