// Sources that were read while two concepts were one are read again: what they say may be of either. Gives how many.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})-[:APPEARS_IN]->(s:Source)
WHERE s.extracted_at > $at
WITH DISTINCT s
SET s.extracted_with = null, s.unread = true
RETURN count(s) AS sources
