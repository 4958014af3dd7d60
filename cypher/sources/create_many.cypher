// New sources, in reading order, flagged for what embeds and what reads them. MERGE: one of that id may be left of
// a document that was not deleted whole.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MERGE (s:Source {source_id: row.source_id})
SET s += row, s.unembedded = true, s.unread = true
MERGE (s)-[:PART_OF]->(d)
