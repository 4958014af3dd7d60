// New sources, in reading order. MERGE: one of that id may be left of a document that was not deleted whole.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
MERGE (s:Source {source_id: row.source_id})
SET s += row
MERGE (s)-[:PART_OF]->(d)
