// The passages nearest to a vector, of all ontologies.
CYPHER 25
MATCH (n:Source|Chunk)
SEARCH n IN (VECTOR INDEX passage_embedding FOR $vector LIMIT $limit) SCORE AS score
OPTIONAL MATCH (n)-[:CHUNK_OF]->(parent:Source)
WITH coalesce(parent, n) AS s, n, score
RETURN s.source_id AS source_id, s.ontology AS ontology, s.document AS document, s.document_id AS document_id,
       s.paragraph AS paragraph, s.heading AS heading, s.start AS start, s.end AS end, s.full_text AS full_text,
       n.offset AS offset, n.length AS length, 2 * score - 1 AS similarity
ORDER BY score DESC, source_id
