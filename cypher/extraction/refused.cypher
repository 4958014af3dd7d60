// The sources of an ontology from which nothing could be extracted, with the reasons.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.extracted_with = $mark AND s.not_extracted_because IS NOT NULL
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s.not_extracted_because AS reason, s.extracted_at AS at
ORDER BY document, paragraph
LIMIT $limit
