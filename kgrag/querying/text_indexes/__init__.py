"""Indexes that users declare: which texts of the loaded RDF can be searched for, by a query of their own.

======================  ==========================================================================================
module                  what it contains
======================  ==========================================================================================
``declared_indexes``    ``TextIndex``: an index as RDF, saved, listed and removed
``index_queries``       what the query of an index has to be; running it in a process of its own
``index_changes``       whose texts may be others after a change of the store
``indexed_texts``       the texts, words and vectors of one index, which follow the store
``text_index_files``    the texts of an index in a file next to the store
``text_indexes``        ``TextIndexes``: all indexes of a knowledge base
======================  ==========================================================================================
"""
