// The next sources of an ontology that are embedded and not flagged are to be looked at again. In the order in which all lock them.
CYPHER 25
MATCH (s:Source)
USING INDEX SEEK s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE (s.document_id > $after OR s.paragraph > $after_paragraph) AND s[$time_property] IS NOT NULL AND NOT s:Unlinked
WITH s LIMIT $limit
WITH collect(s) AS portion
UNWIND portion AS s
WITH portion[-1] AS last, s ORDER BY s.source_id
SET s:Unlinked
RETURN DISTINCT last.document_id AS after, last.paragraph AS after_paragraph
