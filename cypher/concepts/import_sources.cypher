// The sources of some documents, and some by their ids, in reading order, for importing concepts.
CALL () {
  UNWIND $document_ids AS id
  MATCH (s:Source)
  USING INDEX s:Source(document_id, paragraph)
  WHERE s.document_id = id AND s.paragraph >= 0
  RETURN s
  UNION
  UNWIND $source_ids AS id
  MATCH (s:Source {source_id: id})
  WHERE s.ontology = $ontology
  RETURN s
}
RETURN s.source_id AS source_id, s.document_id AS document_id, s.paragraph AS paragraph, s.heading AS heading,
       s.start AS start, s.full_text AS full_text, s.content_hash AS content_hash
ORDER BY document_id, paragraph
