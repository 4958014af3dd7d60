// The keys of the metadata of some ontologies' documents, or of all.
CYPHER 25
MATCH (d:Document)
WHERE d.ontology >= '' AND d.document >= '' AND ($ontologies IS NULL OR d.ontology IN $ontologies)
UNWIND keys(d) AS key
WITH DISTINCT key WHERE key STARTS WITH 'meta.'
RETURN substring(key, 5) AS field
ORDER BY field
LIMIT $limit
