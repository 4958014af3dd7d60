// How pictures look, of some ontologies, or of some documents of them: of all, or of those without a vector in a property.
MATCH (s:Image)
WHERE s.ontology IN $ontologies AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($property IS NULL OR s[$property] IS NULL) AND fits(s)
RETURN s.source_id AS source_id, s.perceptual_hash AS perceptual_hash
ORDER BY s.source_id LIMIT $limit
