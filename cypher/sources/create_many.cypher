// New sources of a document, flagged for what embeds and what reads them. MERGE: the transaction may run twice.
MATCH (d:Document {document_id: $document_id})
UNWIND $rows AS row
MERGE (s:Source {source_id: row.source_id})
SET s += row, s.document_id = $document_id, s.ontology = d.ontology, s.document = d.document, s.title = $title,
    s.unembedded = true, s.unread = true
MERGE (s)-[:PART_OF]->(d)
