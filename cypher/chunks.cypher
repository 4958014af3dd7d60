// name: delete_broken
// Chunks over several sources that do not stand side by side, in their order, any more; their sources are looked at
// again.
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
// Chunks of some sources that an earlier text or configuration made. Other sources that they cover lose them too, and
// are looked at again.
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
// One portion of the chunks of a space goes, in the order of their ids.
MATCH (c:Chunk)
WHERE c.chunk_id > $after AND c.space IN $keys AND ($ontology IS NULL OR c.ontology = $ontology)
WITH c ORDER BY c.chunk_id LIMIT $limit
WITH collect(c) AS gone, max(c.chunk_id) AS last
FOREACH (c IN gone | DETACH DELETE c)
RETURN last

// name: of_sources
// The chunks that some sources have in a space.
UNWIND $source_ids AS id
MATCH (c:Chunk)-[:CHUNK_OF]->(:Source {source_id: id})
WHERE c.space = $space
RETURN DISTINCT c.chunk_id AS chunk_id

// name: texts
// What some chunks say: the parts of the sources they cover, in reading order.
UNWIND $chunk_ids AS id
MATCH (c:Chunk {chunk_id: id})-[:CHUNK_OF]->(s:Source)
WITH c, s ORDER BY s.paragraph
WITH c, collect({source_id: s.source_id, start: s.start, full_text: s.full_text}) AS parts
RETURN c.chunk_id AS chunk_id, c.offset AS offset, c.end_offset AS end_offset, parts

// name: write
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

// name: write_parents
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
