"""What an ontology says of its words: their language, and which are taken for each other."""
