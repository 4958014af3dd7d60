// Chunks that are read in place of the small ones that are found in them; they have no vector of their own.
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
WITH c, row
UNWIND row.child_ids AS id
MATCH (child:Chunk {chunk_id: id})
WHERE child.document_id = row.document_id AND child.space = $space
MERGE (child)-[:CHILD_OF]->(c)
