"""Pages of documents: what there is, and reading it."""
