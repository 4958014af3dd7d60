// How the vectors of an ontology's pictures are in a space. A vector of the wrong size, zero or not finite is stored
// without an error and silently left out of the index.
MATCH (s:Image)
WHERE s.ontology = $ontology AND s.source_id > '' AND s[$mark_property] = $mark + ':' + s.storage_key
WITH s[$property] AS vector
RETURN count(*) AS built,
       count(CASE WHEN vector IS NULL OR size(vector) <> $dimensions
                    OR any(x IN vector WHERE isNaN(x) OR abs(x) > 3.4e38) OR all(x IN vector WHERE x = 0)
                  THEN 1 END) AS wrong
