// How many sources there are of some ontologies, or of some documents only.
MATCH (s:Source)
WHERE s.ontology IN $ontologies AND ($document_ids IS NULL OR s.document_id IN $document_ids)
RETURN count(s) AS sources
