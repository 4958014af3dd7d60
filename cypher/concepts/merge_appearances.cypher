// What carries a concept carries the one that it becomes part of; of two appearances in one source the stronger counts,
// and what was imported stays imported. What the source said of it is kept, with what it called it.
MATCH (gone:Concept {concept_id: $gone})-[a:APPEARS_IN]->(s:Source)
MATCH (kept:Concept {concept_id: $kept})
WITH gone, kept, a, s, [gone.label] + [term IN coalesce(a.terms, []) WHERE term <> gone.label] AS terms
MERGE (kept)-[b:APPEARS_IN]->(s)
ON CREATE SET b.confidence = a.confidence, b.verified = a.verified, b.extracted_with = a.extracted_with,
              b.description = a.description, b.terms = terms[..$most_terms], b.unverified = a.unverified
ON MATCH SET b.confidence = CASE WHEN a.confidence > b.confidence THEN a.confidence ELSE b.confidence END,
             b.verified = a.verified OR b.verified,
             b.extracted_with = CASE WHEN a.extracted_with STARTS WITH $imported THEN a.extracted_with
                                     ELSE b.extracted_with END,
             b.description = coalesce(b.description, a.description),
             b.terms = (coalesce(b.terms, []) + [term IN terms WHERE NOT term IN coalesce(b.terms, [])])[..$most_terms],
             b.unverified = CASE WHEN a.unverified IS NULL THEN b.unverified ELSE (coalesce(b.unverified, [])
               + [said IN a.unverified WHERE NOT said IN coalesce(b.unverified, [])])[..$most_unverified] END
DELETE a
