"""The triple store: named graphs in an embedded Oxigraph, with a catalogue, one writer, and atomic publications.

=====================  ================================================================================
module                 what it does
=====================  ================================================================================
``oxigraph``           ``OxigraphStore``: the port ``TripleStore``
``publication_plan``   what a list of drafts changes, as quads; pure but for look-ups
``publishing``         one ``publish``, and the exchange of quads in one atomic step
``update_record``      one ``update``, and which graphs it changed
``lexical_forms``      literals that the engine rewrites, kept as they were written
``graph_kinds``        the kinds of named graph, and how many graphs of each a store has
``provenance``         activities as statements of the provenance graph
``rdf_files``          RDF files to drafts of graphs
``rdf_guard``          refuses RDF files that would kill or stall a parser
``quad_files``         dump and load as N-Quads
``transfer``           export and import: a dump with a manifest and an archive of files
``kept_files``         copies of what cannot be made again from the quads, with checksums
``verification``       whether every block of a store can be read
``identity``           which knowledge base a folder contains
``migrations``         from the layout of an earlier version to the present one
``lineage``            which history a revision belongs to
``locking``            one writer per folder
``engine``             maps the engine's exceptions to ours, and makes closing release the folder
``scratch``            ``OxigraphScratch``: a store in memory for query checks and audits
``plain_dataset``      ``PlainStore``: a dataset without catalogue, for conformance suites
=====================  ================================================================================
"""
