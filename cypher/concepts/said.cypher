// What the sources that carry some concepts say of them: the best description, and the terms of so many, the surest
// first. A concept of which nothing is said any more is among them; one that has gone is not.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
CALL (c) {
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WHERE a.description IS NOT NULL
  WITH a, s ORDER BY a.verified DESC, a.confidence DESC, s.source_id
  LIMIT 1
  RETURN collect(a.description) AS descriptions
}
CALL (c) {
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WHERE a.terms IS NOT NULL
  WITH a, s ORDER BY a.verified DESC, a.confidence DESC, s.source_id
  LIMIT $limit
  RETURN collect(a.terms) AS terms
}
RETURN c.concept_id AS concept_id, c.label AS label, descriptions, terms
