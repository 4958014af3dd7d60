// The concepts that some sources carry, those first that are surest and then those of fewest other sources.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
WITH id, COLLECT {
  MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
  WITH c, coalesce(a.verified, false) AS verified, a.confidence AS confidence
  ORDER BY verified DESC, confidence DESC, COUNT { (c)-[:APPEARS_IN]->() }, c.concept_id
  RETURN {id: c.concept_id, kind: 'concept', ontology: c.ontology, outgoing: false, verified: verified}
} AS found
RETURN id AS of, found[..$fan_out] AS found, size(found) AS number, false AS hub
