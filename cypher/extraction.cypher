// name: add_spent
// What a language model's answer cost, once for each receipt: a commit whose answer was lost is repeated, maybe behind
// those of other workers, so the last 64 are kept. The node is locked before what it says is read. The job that spends it
// says so, too.
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
// All of an ontology has been read by the extractor that somebody wanted, so that wish is fulfilled; unless another was
// asked for meanwhile.
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH o
WHERE o.extraction_asked = $mark
REMOVE o.extraction_asked

// name: ask
// Somebody wants all of an ontology to be read by an extractor of this mark, what another has read, too; where that is null, nobody does.
MATCH (o:Ontology {name: $ontology})
SET o.extraction_asked = $mark

// name: configuration
// How concepts are extracted from ontologies, as it was set, and what that has cost so far.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.extraction AS extraction, coalesce(o.extraction_spent, 0.0) AS spent, o.extraction_asked AS asked,
       coalesce(o.extraction_expected, 0.0) AS expected,
       coalesce(o.paused, false) OR coalesce(o.extraction_paused, false) AS paused
ORDER BY ontology

// name: configure
// How concepts are extracted from now on; it may be configured before the ontology's first document comes.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
SET o.extraction = $extraction, o.changed_at = datetime.realtime(), o.unread_for = null

// name: expect_cost
// What a job that extracts is to cost, as is estimated when it begins; once for each job, and for its ontology in all. The
// estimate is of all that is left, so what jobs that were broken off did not spend of theirs counts no more.
MATCH (j:Job {job_id: $job_id})
WHERE j.expected_cost IS NULL
SET j.expected_cost = $cost, j.spent = coalesce(j.spent, 0.0)
WITH j
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH j, o
CALL (j) {
  MATCH (broken:Job)
  WHERE broken.ontology = $ontology AND broken.kind = j.kind AND broken.state IN ['dead', 'cancelled']
    AND broken.expected_cost > coalesce(broken.spent, 0.0) AND broken.expected_again IS NULL
  SET broken.expected_again = true
  RETURN sum(broken.expected_cost - coalesce(broken.spent, 0.0)) AS unspent
}
SET o.extraction_expected = coalesce(o.extraction_expected, 0.0) + $cost - unspent

// name: pause
// Extraction that was cancelled for an ontology is not begun again until somebody asks for it.
MATCH (o:Ontology {name: $ontology})
WHERE $paused OR o.extraction_paused
SET o.extraction_paused = CASE WHEN $paused THEN true END

// name: refused
// The sources of an ontology from which nothing could be extracted, with the reasons: by a mark, or by any where it is null.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NOT NULL
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s.not_extracted_because AS reason, s.extracted_at AS at
ORDER BY document, paragraph
LIMIT $limit

// name: retry_refused
// Sources that were set aside are due again.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s.not_extracted_because IS NOT NULL
SET s.unread = true
REMOVE s.extracted_with, s.extracted_at, s.not_extracted_because, s.unverified_quotes
RETURN count(s) AS sources

// name: status
// How far extraction from an ontology is by an extractor's mark, or by any where it is null, and what there is of all its concepts.
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
