// What two concepts have in some sources of the one that goes: enough to part them again. Found from the sources: a concept
// may have more than the memory of a transaction holds.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
RETURN s.source_id AS source_id,
       COLLECT {
         MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
         WITH a, c.concept_id AS of
         WHERE of IN $ids
         RETURN {source_id: s.source_id, concept_id: of, confidence: a.confidence, verified: a.verified,
                 extracted_with: a.extracted_with, description: coalesce(a.description, ''),
                 terms: coalesce(a.terms, []), unverified: coalesce(a.unverified, [])}
       } AS appearances,
       COLLECT {
         MATCH (s)<-[:FROM_SOURCE]-(i:Instance)
         WITH i
         MATCH (i)<-[:EVIDENCED_BY]-(c:Concept)
         WITH i, c.concept_id AS of
         WHERE of IN $ids
         RETURN i {.instance_id, .start, .end, .quote, .score, .said, .extracted_with, source_id: s.source_id,
                   concept_id: of}
       } AS quotes
