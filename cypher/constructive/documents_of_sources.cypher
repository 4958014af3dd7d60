// The document of each of some sources.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
MATCH (d:Document {document_id: s.document_id})
RETURN id AS of, [{id: d.document_id, kind: 'document', ontology: d.ontology, document_id: d.document_id,
                   outgoing: true}] AS found, 1 AS number, false AS hub
