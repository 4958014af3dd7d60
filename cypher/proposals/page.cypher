// Some proposals, the best first, with both ends: of a source the passage that is near to the other, of a concept the
// quote that proves it best, among so many.
MATCH (p:Proposal)
WHERE ($ids IS NULL OR p.proposal_id IN $ids) AND ($ontologies IS NULL OR p.ontology IN $ontologies)
  AND ($kind IS NULL OR p.kind = $kind) AND ($state IS NULL OR p.state = $state) AND EXISTS { (p)-[:PROPOSES]->() }
WITH p ORDER BY p.score DESC, p.proposal_id SKIP $offset LIMIT $limit
RETURN p {.proposal_id, .ontology, .kind, .state, .score, .similarity, .reason, .created_at, .decided_at, .decided_by} AS proposal,
       COLLECT {
         MATCH (p)-[end:PROPOSES]->(n)
         OPTIONAL CALL (n) {
           MATCH (n)-[:EVIDENCED_BY]->(i:Instance)
           WITH i LIMIT $quotes
           MATCH (i)-[:FROM_SOURCE]->(of:Source)
           RETURN i, of ORDER BY i.score DESC, of.document, of.paragraph, i.start, i.instance_id LIMIT 1
         }
         WITH end, n, i, CASE WHEN n:Source THEN n ELSE of END AS s
         ORDER BY end.place
         RETURN {concept_id: n.concept_id, label: n.label, quote_start: coalesce(end.start, i.start),
                 quote_end: coalesce(end.end, i.end), source_id: s.source_id, ontology: s.ontology, document: s.document,
                 document_id: s.document_id, paragraph: s.paragraph, heading: s.heading, start: s.start, end: s.end,
                 page: s.page, last_page: s.last_page, ocr: s.ocr_confidence IS NOT NULL,
                 ocr_confidence: s.ocr_confidence, full_text: s.full_text}
       } AS ends
ORDER BY proposal.score DESC, proposal.proposal_id
