// Sources that are indexed again, now with the normal form of their words and the aliases of their documents, in the
// language of their ontology if it has one: the next portion, in the order of their ids. Concepts follow
// (concepts/to_index).
MATCH (s:Source) WHERE s.source_id > $after
WITH s ORDER BY s.source_id LIMIT 1000
OPTIONAL MATCH (o:Ontology {name: s.ontology})
OPTIONAL MATCH (d:Document {document_id: s.document_id}) WHERE s.paragraph = 0
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document_id AS document_id, s.document AS document,
       s.paragraph AS paragraph, coalesce(s.title, '') AS title, s.heading AS heading, s.full_text AS full_text,
       s.content_hash AS content_hash, s.scope AS before, o.language AS language, d.metadata AS metadata
ORDER BY source_id
