// The communities of an ontology as they are listed: those of a generation, level by level.
CREATE INDEX community_by_level IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.level, c.place)
