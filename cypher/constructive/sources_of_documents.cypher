// The first sources of some documents, in reading order.
UNWIND $ids AS id
MATCH (d:Document {document_id: id})
RETURN id AS of, COLLECT {
  MATCH (s:Source)
  WHERE s.document_id = d.document_id AND s.paragraph >= 0
  WITH s ORDER BY s.document_id, s.paragraph LIMIT $fan_out
  RETURN {id: s.source_id, kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END, ontology: s.ontology,
          document_id: s.document_id, outgoing: false}
} AS found, d.sources AS number, false AS hub
