// Some properties of documents; null takes one away.
UNWIND $rows AS row
MATCH (d:Document {document_id: row.document_id})
SET d += row.properties
