// The passages nearest to a vector, of some documents; the filter runs inside the index.
// The index answers with quantised vectors; the exact cosine puts its answers in their right order.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector WHERE n.document_id IN $document_ids LIMIT $limit) SCORE AS approximate
OPTIONAL MATCH (n)-[:CHUNK_OF]->(parent:Source)
WITH coalesce(parent, n) AS s, n, 2 * vector.similarity.cosine(n.embedding, $vector) - 1 AS similarity
WHERE s:Source
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.full_text AS full_text,
       n.offset AS offset, n.length AS length, similarity
ORDER BY similarity DESC, source_id
