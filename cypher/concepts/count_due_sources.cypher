// How many sources of an ontology no extractor of this mark has read.
MATCH (s:Source)
WHERE s.ontology = $ontology AND s.document_id >= '' AND s.paragraph >= 0
  AND (s.extracted_with IS NULL OR s.extracted_with <> $mark)
RETURN count(s) AS due
