// One document with its text: its preface and its sources, joined in reading order, read at one moment.
MATCH (d:Document {document_id: $document_id})
WHERE $ontologies IS NULL OR d.ontology IN $ontologies
RETURN d.document_id AS document_id, d.ontology AS ontology, d.document AS document, d.title AS title, d.uri AS uri,
       d.format AS format, d.characters AS characters, d.sources AS sources, d.updated_at AS updated_at,
       d.metadata AS metadata, coalesce(d.preface, '') AS preface,
       COLLECT {
         MATCH (s:Source) WHERE s.document_id = d.document_id AND s.paragraph >= 0
         RETURN s.full_text ORDER BY s.paragraph
       } AS parts
