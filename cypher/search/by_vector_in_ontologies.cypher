// The passages of a space nearest to a vector, of some ontologies; the filter runs inside the index.
// The index answers with quantised vectors; the exact cosine puts its answers in their right order. A chunk stands
// for the sources it covers, the first one first.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector WHERE n.ontology IN $ontologies LIMIT $limit) SCORE AS approximate
WITH n, 2 * vector.similarity.cosine(n[$property], $vector) - 1 AS similarity
OPTIONAL MATCH (n)-[:CHUNK_OF]->(part:Source)
WITH n, similarity, part ORDER BY part.paragraph
WITH n, similarity, collect(part) AS parts
WITH n, similarity, parts, CASE WHEN n:Source THEN n ELSE parts[0] END AS s
WHERE s IS NOT NULL
OPTIONAL MATCH (n)-[:CHILD_OF]->(parent:Chunk)
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.full_text AS full_text,
       n.chunk_id AS chunk_id, n.offset AS offset, n.end_offset AS end_offset,
       [part IN parts | part.source_id] AS covers, parent.chunk_id AS parent_id, similarity
ORDER BY similarity DESC, source_id, offset
