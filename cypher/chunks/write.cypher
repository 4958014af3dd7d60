// Chunks that are searched, each with the sources it covers.
CYPHER 25
UNWIND $rows AS row
MERGE (c:Chunk {chunk_id: row.chunk_id})
SET c.space = $space, c.ontology = $ontology, c.document_id = row.document_id, c.sources = size(row.source_ids), c.source_ids = row.source_ids,
    c.offset = row.offset, c.end_offset = row.end_offset
WITH c, row
CALL (c, row) {
  UNWIND row.source_ids AS id
  MATCH (s:Source {source_id: id})
  MERGE (c)-[:CHUNK_OF]->(s)
}
CALL db.create.setNodeVectorProperty(c, $property, toFloatList(row.vector))
RETURN count(c) AS written
