// name: add_spent
// Add the cost of a reply to the ontology and its job, once per receipt. A commit may be repeated, even after commits
// of other workers, so the last 64 receipts are kept. The node is locked before it is read.
MATCH (o:Ontology {name: $ontology})
SET o.changed_at = datetime.realtime()
WITH o, coalesce(o.extraction_receipts, []) AS receipts
WITH o, receipts, $receipt IN receipts AS counted
SET o.extraction_spent = coalesce(o.extraction_spent, 0.0) + CASE WHEN counted THEN 0.0 ELSE $cost END,
    o.extraction_receipts = CASE WHEN counted THEN receipts ELSE ([$receipt] + receipts)[..64] END
WITH counted
MATCH (j:Job {job_id: $job_id})
WHERE NOT counted
SET j.spent = coalesce(j.spent, 0.0) + $cost

// name: all_read
// Complete the request for a full extraction, unless another extractor was requested since.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.extraction_asked = $mark
REMOVE o.extraction_asked

// name: ask
// Request a full extraction with an extractor's mark, including sources with concepts of other extractors. Null ends
// the request.
MATCH (o:Ontology {name: $ontology})
SET o.extraction_asked = $mark

// name: configuration
// Return the configuration of extraction in ontologies, and its cost so far.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.extraction AS extraction, coalesce(o.extraction_spent, 0.0) AS spent, o.extraction_asked AS asked,
       coalesce(o.paused, false) OR coalesce(o.extraction_paused, false) AS paused
ORDER BY ontology

// name: configure
// Set the configuration of extraction. The ontology may have no document yet.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
SET o.extraction = $extraction, o.changed_at = datetime.realtime(), o.unread_for = null

// name: pause
// Pause extraction in an ontology after a cancellation, until a user requests it.
MATCH (o:Ontology {name: $ontology})
WHERE $paused OR o.extraction_paused
SET o.extraction_paused = CASE WHEN $paused THEN true END

// name: refused
// Return the sources of an ontology that could not be extracted, with reasons, for one mark or all (null).
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NOT NULL
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s.not_extracted_because AS reason, s.extracted_at AS at
ORDER BY document, paragraph
LIMIT $limit

// name: retry_refused
// Make skipped sources pending again.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s.not_extracted_because IS NOT NULL
SET s.unread = true
REMOVE s.extracted_with, s.extracted_at, s.not_extracted_because, s.unverified_quotes
RETURN count(s) AS sources

// name: status
// Return the progress of extraction in an ontology by an extractor's mark, or by any (null), and the counts of its
// concepts.
CALL () {
  MATCH (s:Source)
  WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  RETURN count(s) AS total,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NULL THEN 1 ELSE 0 END) AS extracted,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NOT NULL THEN 1 ELSE 0 END) AS refused,
         sum(CASE WHEN s.extracted_with = coalesce($mark, s.extracted_with) THEN coalesce(s.unverified_quotes, 0) ELSE 0 END) AS unverified_quotes
}
CALL () {
  MATCH (c:Concept)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(c) AS concepts, sum(CASE WHEN EXISTS { (c)-[:EVIDENCED_BY]->() } THEN 0 ELSE 1 END) AS unverified_concepts
}
CALL () {
  MATCH (c:Concept)-[:EVIDENCED_BY]->(i:Instance)
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(i) AS quotes
}
CALL () {
  MATCH (c:Concept)-[r:RELATED_TO]->()
  WHERE c.ontology = $ontology AND c.concept_id >= ''
  RETURN count(r) AS relations
}
RETURN total, extracted, refused, concepts, quotes, relations, unverified_quotes, unverified_concepts
