"""The triple store: named graphs in an embedded Oxigraph or on a SPARQL server, with a catalogue and one writer.

=====================  ================================================================================
module                 what it does
=====================  ================================================================================
``catalogued_store``   the port ``TripleStore``: catalogue, publications, updates, once for every engine
``quad_store``         the port below it: quads read by pattern or query, changed in atomic steps
``oxigraph``           ``OxigraphStore``: a catalogued store in this process
``embedded_quads``     its quads, in Oxigraph's own engine
``sparql_server``      ``ServerStore``: a catalogued store on a SPARQL server
``server_quads``       its quads, over SPARQL 1.1 Protocol
``sparql_connection``  requests to a SPARQL server: addresses, keys, whole replies
``sparql_leases``      leases of a store, in the catalogue of its server
``held_lease``         a lease for as long as a store is open
``holders``            names of those who have a lease, and whether they have died
``server_replies``     its replies as the engine's own results, or refused
``server_traits``      in what a SPARQL server differs from others, found by asking it
``server_dialect``     what Virtuoso is asked otherwise, and how it is read
``server_profile``     what a SPARQL server does, found by asking it, as doctor prints and stores it
``skolem_names``       blank nodes as IRIs, which servers neither rename nor refuse
``publication_plan``   what a list of drafts changes, as quads; pure but for look-ups
``publishing``         one ``publish``, and the exchange of quads in one atomic step
``update_record``      one ``update``, and which graphs it changed
``lexical_forms``      literals that the engine rewrites, kept as they were written
``own_graphs``         which graphs of kgrag's own making an update would change
``graph_kinds``        the kinds of named graph, and how many graphs of each a store has
``provenance``         activities as statements of the provenance graph
``rdf_files``          RDF files to drafts of graphs
``xml_literals``       XML literals of RDF/XML, made well-formed
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
