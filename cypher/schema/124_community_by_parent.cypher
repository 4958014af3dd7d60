// The parts of a community, counted for each that is listed and listed below it.
CREATE INDEX community_by_parent IF NOT EXISTS FOR (c:Community) ON (c.ontology, c.generation, c.parent_id)
