// Evidence goes with its sources.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WITH collect(s) AS gone
CALL (gone) {
  UNWIND gone AS s
  MATCH ()-[r:RELATED_TO]->()
  USING INDEX r:RELATED_TO(source_id)
  WHERE r.source_id = s.source_id
  DELETE r
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[:FROM_SOURCE]-(i:Instance)
  DETACH DELETE i
}
CALL (gone) {
  UNWIND gone AS s
  MATCH (s)<-[a:APPEARS_IN]-(:Concept)
  DELETE a
}
