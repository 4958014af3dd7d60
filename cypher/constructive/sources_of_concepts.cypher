// The sources that carry some concepts, of some documents only, those with a true quote first, at most so many of
// each. Of a concept in very many of them so many are looked at; beside documents none, for these lead to it.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
WITH id, c, COUNT { (c)-[:APPEARS_IN]->() } > $scanned AS hub
CALL (c, hub) {
  WITH c WHERE $document_ids IS NULL OR NOT hub
  MATCH (c)-[a:APPEARS_IN]->(s:Source)
  WITH a, s LIMIT $scanned
  WHERE $document_ids IS NULL OR s.document_id IN $document_ids
  WITH a, s ORDER BY coalesce(a.verified, false) DESC, a.confidence DESC, s.document, s.document_id, s.paragraph
  WITH collect({id: s.source_id, kind: CASE WHEN s:Image THEN 'image' ELSE 'passage' END, ontology: s.ontology,
                document_id: s.document_id, outgoing: true, verified: coalesce(a.verified, false)}) AS found
  RETURN found[..$fan_out] AS found, size(found) AS number
}
RETURN id AS of, found, number, hub
