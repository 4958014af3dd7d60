// The sources that full text finds, with their similarity where question and source have vectors of one space.
// A source that has chunks is as similar as the nearest of them.
CALL db.index.fulltext.queryNodes('source_text', $query, {limit: $limit}) YIELD node AS s, score
WITH s, score, coalesce($spaces[s.ontology], 'default') AS space
WITH s, score, space, $vectors[space] AS asked, $properties[space] AS property
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.full_text AS full_text,
       CASE WHEN asked IS NULL THEN null
            WHEN s[property] IS NOT NULL THEN 2 * vector.similarity.cosine(s[property], asked) - 1
            ELSE COLLECT {
              MATCH (c:Chunk)-[:CHUNK_OF]->(s) WHERE c.space = space AND c[property] IS NOT NULL
              RETURN 2 * vector.similarity.cosine(c[property], asked) - 1 AS near ORDER BY near DESC LIMIT 1
            }[0] END AS similarity,
       asked IS NOT NULL AS asked, score
ORDER BY score DESC, source_id
