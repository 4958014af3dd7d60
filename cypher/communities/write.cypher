// Communities of a generation that nobody sees yet. Whoever asks has locked the ontology.
UNWIND $rows AS row
MERGE (c:Community {generation: $generation, community_id: row.community_id})
SET c.ontology = $ontology, c.level = row.level, c.place = row.place, c.parent_id = row.parent_id, c.inside = row.inside
RETURN count(c) AS written
