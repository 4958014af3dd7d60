// The sources of an ontology from which nothing could be extracted, with the reasons: by a mark, or by any where it is null.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND s.extracted_with = coalesce($mark, s.extracted_with) AND s.not_extracted_because IS NOT NULL
RETURN s.source_id AS source_id, s.document AS document, s.paragraph AS paragraph,
       s.not_extracted_because AS reason, s.extracted_at AS at
ORDER BY document, paragraph
LIMIT $limit
