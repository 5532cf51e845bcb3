"""The triple store: named graphs in an embedded Oxigraph, with a catalogue, one writer, and atomic publications.

===============  ======================================================================================
module           what it does
===============  ======================================================================================
``store``        ``OxigraphStore``: the port ``TripleStore``
``plan``         what a list of drafts changes, as quads; pure but for look-ups
``surface``      finds literals that the engine rewrites, and keeps them as they were written
``exchange``     takes quads out and puts others in, in one atomic step
``files``        dump and load as N-Quads
``identity``     which knowledge base a folder holds
``lock``         one writer a folder
``held``         makes closing let go of the folder
``scratch``      ``OxigraphScratch``: the port ``Scratch``, for query checks
``boundary``     maps the engine's exceptions to ours
===============  ======================================================================================
"""
