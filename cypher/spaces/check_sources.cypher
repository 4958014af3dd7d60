// How the vectors of one portion of an ontology's sources are, in reading order. A vector of the wrong size, zero or
// not finite is stored without an error and silently left out of the index.
MATCH (s:Source)
USING INDEX s:Source(ontology, document_id, paragraph)
WHERE s.ontology = $ontology AND s.document_id >= $after_document AND s.paragraph >= 0
WITH s ORDER BY s.ontology, s.document_id, s.paragraph
WHERE s.document_id > $after_document OR s.paragraph > $after_paragraph
WITH s LIMIT $limit
WITH s, s[$property] AS vector, s[$mark_property] = $mark AS built
RETURN count(CASE WHEN built THEN 1 END) AS built,
       count(CASE WHEN built AND vector IS NULL AND trim(s.full_text) <> ''
                   AND NOT EXISTS { MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = $key } THEN 1 END) AS without,
       count(CASE WHEN size(vector) <> $dimensions OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38)
                    OR all(x IN vector WHERE x = 0) THEN 1 END) AS wrong,
       collect([s.document_id, s.paragraph])[-1] AS last
