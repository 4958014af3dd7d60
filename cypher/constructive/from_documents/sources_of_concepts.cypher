// As `constructive/sources_of_concepts`, of concepts in very many sources, from the other side: of some documents so
// many sources are looked at, and it is told whether these are all.
CALL () {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned + 1
  RETURN count(s) AS sources
}
RETURN sources <= $scanned AS whole, COLLECT {
  UNWIND $document_ids AS document_id
  MATCH (s:Source)
  WHERE s.document_id = document_id AND s.paragraph >= 0
  WITH s LIMIT $scanned
  MATCH (s)<-[a:APPEARS_IN]-(c:Concept)
  WHERE c.concept_id IN $ids
  WITH c, a, s ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, s.document, s.document_id, s.paragraph
  WITH c.concept_id AS id,
       collect({id: s.source_id, kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END, ontology: s.ontology,
                document_id: s.document_id, outgoing: true, verified: coalesce(a.verified, false)}) AS found
  RETURN {of: id, found: found[..$fan_out], number: size(found)}
} AS found
