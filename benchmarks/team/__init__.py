"""Two services, three workers and one Neo4j, for people with keys, killed at random while they search."""
