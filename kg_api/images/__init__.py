"""Pictures as they are kept: their bytes in a store of blobs, their users in the graph."""
