"""The passages of an ontology as points in two dimensions."""
