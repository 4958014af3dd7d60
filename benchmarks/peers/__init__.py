"""kg beside what people would pick instead, on the same Neo4j, texts and model."""
