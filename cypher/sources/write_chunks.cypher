// Chunks of sources that are longer than the model takes at once.
CYPHER 25
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WHERE s.content_hash = row.content_hash
MERGE (c:Chunk {chunk_id: row.chunk_id})
SET c.ontology = s.ontology, c.document_id = s.document_id, c.offset = row.offset, c.length = row.length
MERGE (c)-[:CHUNK_OF]->(s)
WITH c, row
CALL db.create.setNodeVectorProperty(c, 'embedding', toFloatList(row.vector))
RETURN count(c) AS written
