// A picture's files.
MATCH (s:Source {source_id: $source_id})
WHERE s:Image
RETURN s.storage_key AS storage_key, s.thumbnail_key AS thumbnail_key, s.content_type AS content_type,
       s.document AS document, s.ontology AS ontology
