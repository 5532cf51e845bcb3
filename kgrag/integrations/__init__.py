"""Parts for frameworks; each module needs the framework of its name, and imports nothing else of the kind.

====================  ================================================  ==========================
module                what it has                                       extra
====================  ================================================  ==========================
``langchain``         ``KgragRetriever``, ``KgragTool``,                ``kgrag[langchain]``
                      ``KgragLoader``
``llama_index``       ``KgragRetriever``, ``KgragQueryEngine``,         ``kgrag[llama-index]``
                      ``KgragReader``
``haystack``          ``KgragRetriever``, ``KgragWriter``               ``kgrag[haystack]``
``pydantic_ai``       ``knowledge_tools``                               ``kgrag[pydantic-ai]``
``dspy``              ``KgragRetriever``, ``KgragRM``                   ``kgrag[dspy]``
``hugging_face``      ``dataset_documents``                             ``kgrag[datasets]``
``evidence_fields``   what a hit, citation or document says of itself,
                      as flat fields: the same in all of them
====================  ================================================  ==========================
"""
