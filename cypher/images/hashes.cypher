// How pictures look, of some ontologies, or of some documents of them.
MATCH (s:Image)
WHERE s.ontology IN $ontologies AND ($document_ids IS NULL OR s.document_id IN $document_ids)
RETURN s.source_id AS source_id, s.perceptual_hash AS perceptual_hash
ORDER BY s.source_id LIMIT $limit
