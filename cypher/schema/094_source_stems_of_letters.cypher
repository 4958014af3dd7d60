// Sources get their stems again, of which some were parts of Chinese and Japanese words, in the language of their ontology
// if it has one: the next portion, in the order of their ids.
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
OPTIONAL MATCH (o:Ontology {name: s.ontology})
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text, s.content_hash AS content_hash,
       s.scope AS before, o.language AS language
ORDER BY source_id
