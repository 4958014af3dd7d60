// The file that a document was made of, if it was kept.
MATCH (d:Document {document_id: $document_id})
RETURN d.document AS document, d.ontology AS ontology, d.format AS format,
       head([(d)-[:ORIGINAL]->(b:Blob) | b.key]) AS key
