// What carries a concept carries the one that it becomes part of; of two appearances in one source the stronger counts,
// and what was imported stays imported.
MATCH (gone:Concept {concept_id: $gone})-[a:APPEARS_IN]->(s:Source)
MATCH (kept:Concept {concept_id: $kept})
MERGE (kept)-[b:APPEARS_IN]->(s)
ON CREATE SET b.confidence = a.confidence, b.verified = a.verified, b.extracted_with = a.extracted_with
ON MATCH SET b.confidence = CASE WHEN a.confidence > b.confidence THEN a.confidence ELSE b.confidence END,
             b.verified = a.verified OR b.verified,
             b.extracted_with = CASE WHEN a.extracted_with STARTS WITH $imported THEN a.extracted_with
                                     ELSE b.extracted_with END
DELETE a
