"""The source graph, as its page draws it."""
