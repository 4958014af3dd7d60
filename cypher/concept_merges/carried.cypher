// Which of some sources carry a concept, what they say of it, and whether they were read since a moment.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})<-[a:APPEARS_IN]-(c:Concept {concept_id: $concept_id})
RETURN s.source_id AS source_id, c.concept_id AS concept_id, a.confidence AS confidence, a.verified AS verified,
       a.extracted_with AS extracted_with, coalesce(a.description, '') AS description, coalesce(a.terms, []) AS terms,
       coalesce(a.unverified, []) AS unverified, coalesce(s.extracted_at > $at, false) AS read_since
