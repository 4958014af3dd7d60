// The next sources of an ontology in reading order, with all that full text finds them by.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE s.paragraph = 0
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       s.paragraph AS paragraph, coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text,
       s.content_hash AS content_hash, s.scope AS before, d.metadata AS metadata
ORDER BY s.document_id, s.paragraph
