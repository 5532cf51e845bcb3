"""Text: readers of files, documents and their chunks, sentences, quotes, reference lists."""
