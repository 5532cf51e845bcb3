"""Vector spaces in a folder: exact while small, an HNSW graph beyond, and files that cannot be half written.

Each space is a folder ``<folder>/<name>/`` with a ``manifest.json`` that names its other files and their SHA-256:
float32 rows and their IRIs in segments, and the HNSW graph, which is a cache that can be made again from the rows.

==================  ===========================================================================================
module              what it contains
==================  ===========================================================================================
``vector_spaces``   which texts each space embeds, and bringing a space up to date with the store
``vector_folder``   ``FolderSpaces``: opens, creates and drops spaces (``ports.VectorSpaces``)
``hnsw``            ``HnswIndex``: one space (``ports.VectorIndex``), its graph over hnswlib, and its lock
``vector_table``    rows and IRIs by slot, exact cosines
``vector_files``    segments, manifest, checksums, atomic commit
``bm25``            the BM25 index of a space's texts: scores, files
``word_segments``   the parts of a BM25 index: which texts have which terms, how parts are merged
``word_queries``    phrases, beginnings and misspelt words in what is searched for; snippets
``index_terms``     which terms a text is indexed by
``change_feed``     what came into a space and went out of it after a revision
``array_files``     sidecars: arrays in files next to the store that record the revision they reflect
==================  ===========================================================================================
"""
