// How many sources there are of some ontologies, or of some documents only.
MATCH (s:Source)
WHERE s.ontology IN $ontologies AND s.document_id >= '' AND s.paragraph >= 0
  AND ($document_ids IS NULL OR s.document_id IN $document_ids)
  AND ($image IS NULL OR s:Image = $image) AND fits(s)
RETURN count(s) AS sources
