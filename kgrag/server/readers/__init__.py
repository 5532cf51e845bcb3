"""Readers: processes that answer queries from outside over snapshots of the store, and can be killed.

The engine cannot be told to stop, its parser can end the process, and a result belongs to one thread; so whatever comes
from outside runs in a process of its own.

=============  ========================================================================================
module         what it does
=============  ========================================================================================
``program``    what runs in a reader process
``link``       a reader process, the socket to it and the pipe from it
``pool``       ``ReaderPool``: starts, feeds and kills reader processes
``run``        ``Run``: one request under way
``snapshots``  ``Snapshots``: copies of the store by hard links, renewed after a write, counted by use
=============  ========================================================================================
"""
