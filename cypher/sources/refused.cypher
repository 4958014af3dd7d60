// The sources of an ontology that were set aside, with the reasons.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0 AND s[$mark_property] = $refused
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s[$refusal_property] AS reason, s[$time_property] AS at
ORDER BY document, paragraph
LIMIT $limit
