"""Pages of how ontologies are embedded."""
