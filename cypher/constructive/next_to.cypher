// The sources directly before and behind some, each in its own document.
UNWIND $ids AS id
MATCH (s:Source {source_id: id})
WITH id, COLLECT {
  MATCH (o:Source)
  WHERE o.document_id = s.document_id AND o.paragraph >= s.paragraph - 1 AND o.paragraph <= s.paragraph + 1
    AND o <> s AND (o.paragraph > s.paragraph) IN $outgoing
  WITH o, s ORDER BY o.paragraph
  RETURN {id: o.source_id, kind: CASE WHEN o:Image THEN 'image' ELSE 'passage' END, ontology: o.ontology,
          document_id: o.document_id, outgoing: o.paragraph > s.paragraph}
} AS found
RETURN id AS of, found[..$fan_out] AS found, size(found) AS number, false AS hub
