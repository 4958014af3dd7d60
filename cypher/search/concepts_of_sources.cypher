// The concepts that some sources carry, those first that are surest and then those of fewest other sources.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
RETURN s.source_id AS source_id, COLLECT {
  MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
  WITH c, a ORDER BY a.verified DESC, a.confidence DESC, COUNT { (c)-[:APPEARS_IN]->() }, c.concept_id LIMIT $limit
  RETURN {concept_id: c.concept_id, label: c.label, verified: a.verified}
} AS concepts
