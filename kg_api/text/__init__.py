"""Text of documents: `sources.py` divides it into sources, `chunking.py` into chunks for embedding."""
