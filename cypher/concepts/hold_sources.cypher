// Locks sources that were read for concepts, so that whoever changes them comes before or after, not between; gives
// those that still say what was read. Blocks count where it was read by them, and they are stored. And the concepts
// that they carry: none more comes in until the end of the transaction.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.held_at = datetime.realtime()
WITH s, row
WHERE s.content_hash = row.content_hash AND s.ontology = $ontology
  AND coalesce(s.block_kinds = row.block_kinds, true)
WITH s, COLLECT { MATCH (s)<-[:APPEARS_IN]-(c:Concept) RETURN c.concept_id } AS concept_ids
RETURN s.source_id AS source_id, s.full_text AS full_text, concept_ids,
       size(concept_ids) > 0 OR EXISTS { (s)<-[:FROM_SOURCE]-() } AS is_evidence
