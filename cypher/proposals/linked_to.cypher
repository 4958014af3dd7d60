// The sources that somebody linked to one, the nearest first.
MATCH (:Source {source_id: $source_id})-[l:LINKED_TO]-(s:Source)
WHERE ($ontologies IS NULL OR s.ontology IN $ontologies) AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
WITH s, max(l.confidence) AS similarity
RETURN s.source_id AS source_id, similarity
ORDER BY similarity DESC, source_id LIMIT $limit
