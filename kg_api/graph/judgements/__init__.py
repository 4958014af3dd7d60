"""Which passages answer which question, as people say."""
