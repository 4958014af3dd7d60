"""Text of documents: `sources.py` splits it into sources, and `chunking.py` into chunks for embedding."""
