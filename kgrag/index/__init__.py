"""Vector spaces in a folder: exact while small, an HNSW graph beyond, and files that cannot be half written.

Each space is a folder ``<folder>/<name>/`` with a ``manifest.json`` that names its other files and their SHA-256:
float32 rows and their IRIs in segments, and the HNSW graph, which is a cache that can be made again from the rows.

=============  ===========================================================================
module         what it holds
=============  ===========================================================================
``spaces``     ``FolderSpaces``: opens, creates and drops spaces (``ports.VectorSpaces``)
``index``      ``HnswIndex``: one space (``ports.VectorIndex``)
``table``      rows and IRIs by slot, exact cosines
``graph``      the approximate neighbours, over hnswlib
``files``      manifest, checksums, atomic commit
``locking``    many readers or one writer
=============  ===========================================================================
"""
