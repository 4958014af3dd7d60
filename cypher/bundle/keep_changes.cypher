// What somebody changed of documents before they were exported: it stays so when they come again.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
SET d.changes = row.changes
