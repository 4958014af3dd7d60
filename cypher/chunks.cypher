// name: delete_broken
// Delete chunks whose sources are no longer adjacent and in order, and flag these sources.
UNWIND $document_ids AS id
MATCH (part:Source {document_id: id})
WHERE part.paragraph >= 0
MATCH (c:Chunk)-[:CHUNK_OF]->(part)
WHERE c.sources > 1
WITH DISTINCT c
MATCH (c)-[:CHUNK_OF]->(s:Source)
WITH c, s ORDER BY s.paragraph
WITH c, collect(s) AS parts, count(s) AS there, min(s.paragraph) AS first, max(s.paragraph) AS last
WHERE there <> c.sources OR last - first + 1 <> there OR [s IN parts | s.source_id] <> c.source_ids
FOREACH (s IN parts |
  SET s[CASE c.space WHEN 'default' THEN 'embedded_with' ELSE 'embedded_with_' + c.space END] = null,
      s.unembedded = true)
WITH c, [s IN parts | s.source_id] AS shared
DETACH DELETE c
RETURN shared

// name: delete_others
// Delete chunks of an earlier text or configuration. Other sources that they cover are flagged.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space AND NOT c.chunk_id IN $keep
WITH DISTINCT c
CALL (c) {
  MATCH (c)-[:CHUNK_OF]->(other:Source)
  WHERE NOT other.source_id IN $source_ids
  SET other[$mark_property] = null, other.unembedded = true
}
DETACH DELETE c

// name: forget
// Delete a batch of chunks in a space, by id.
MATCH (c:Chunk)
WHERE c.chunk_id > $after AND c.space IN $keys AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.chunk_id LIMIT $limit
WITH collect(c) AS gone, max(c.chunk_id) AS last
FOREACH (c IN gone | DETACH DELETE c)
RETURN last

// name: of_sources
// Return the chunks of sources in a space.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space
RETURN DISTINCT c.chunk_id AS chunk_id

// name: texts
// Return the texts of chunks: the parts of the covered sources in reading order.
UNWIND $chunk_ids AS id
MATCH (c:Chunk {chunk_id: id})-[:CHUNK_OF]->(s:Source)
WITH c, s ORDER BY s.paragraph
WITH c, collect({source_id: s.source_id, start: s.start, full_text: s.full_text}) AS parts
RETURN c.chunk_id AS chunk_id, c.sources AS sources, c.offset AS offset, c.end_offset AS end_offset, parts

// name: write
// Write searched chunks with the sources that they cover.
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

// name: write_parents
// Write parent chunks. They have no vector, and replace their children in search results.
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
