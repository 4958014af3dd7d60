// How the vectors of one portion of an ontology's chunks are, in the order of their ids. Parents have none.
MATCH (c:Chunk)
WHERE c.chunk_id > $after AND c.space = $key AND c.ontology = $ontology
WITH c ORDER BY c.chunk_id LIMIT $limit
WITH c, c[$property] AS vector
RETURN count(c) AS chunks,
       count(CASE WHEN vector IS NULL AND NOT EXISTS { (c)<-[:CHILD_OF]-(:Chunk) } THEN 1 END) AS without,
       count(CASE WHEN size(vector) <> $dimensions OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38)
                    OR all(x IN vector WHERE x = 0) THEN 1 END) AS wrong,
       count(CASE WHEN NOT EXISTS { (c)-[:CHUNK_OF]->(:Source) } THEN 1 END) AS orphans,
       max(c.chunk_id) AS last
