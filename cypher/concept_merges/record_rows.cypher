// What a merge moved of some sources is recorded at these: it goes with them.
UNWIND $rows AS row
MATCH (m:ConceptMerge {merge_id: $merge_id})
MATCH (s:Source {source_id: row.source_id})
CREATE (m)-[:MOVED {row: row.row}]->(s)
