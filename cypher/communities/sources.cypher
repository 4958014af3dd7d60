// The next sources of an ontology in reading order, with the concepts of each.
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
RETURN s.document_id AS document_id, s.paragraph AS paragraph,
       COLLECT { MATCH (s)<-[:APPEARS_IN]-(c:Concept) RETURN c.concept_id } AS concept_ids
ORDER BY document_id, paragraph
