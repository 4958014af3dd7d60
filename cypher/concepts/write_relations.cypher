// What sources state of two concepts. Its type is what the vocabulary makes of the one that is stated, which is kept.
UNWIND $rows AS row
MATCH (a:Concept {concept_id: row.subject})
MATCH (b:Concept {concept_id: row.object})
MATCH (t:RelationType {type_id: row.type_id})
CALL (t) {
  MATCH (t)-[:MERGED_INTO*0..20]->(k:RelationType)
  WHERE NOT (k)-[:MERGED_INTO]->()
  RETURN k LIMIT 1
}
MERGE (a)-[r:RELATED_TO {relation_id: row.relation_id}]->(b)
SET r.ontology = row.ontology, r.stated_type = row.type, r.type_id = row.type_id,
    r.type = CASE WHEN k = t THEN row.type ELSE k.name END, r.type_key = k.key,
    r.confidence = row.confidence, r.source_id = row.source_id, r.extracted_with = row.extracted_with,
    r.statement = row.statement, r.quote = row.quote, r.start = row.start, r.end = row.end, r.text_hash = row.text_hash
