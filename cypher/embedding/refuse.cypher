// A node whose text, or a picture whose file, the model does not take: it is set aside with the reason, and found by full text only. It is locked
// before its text is compared.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN { MATCH (n:Source {source_id: $id}) RETURN n }
  WHEN $label = 'Concept' THEN { MATCH (n:Concept {concept_id: $id}) RETURN n }
  WHEN $label = 'RELATED_TO' THEN { MATCH ()-[n:RELATED_TO {relation_id: $id}]->() RETURN n }
  WHEN $label = 'RelationType' THEN { MATCH (n:RelationType {type_id: $id}) RETURN n }
  WHEN $label = 'Image' THEN { MATCH (n:Source {source_id: $id}) WHERE n:Image RETURN n }
}
SET n.held_at = datetime.realtime()
WITH n, CASE $label WHEN 'Image' THEN n.storage_key ELSE n.text_hash END AS made_for
WHERE CASE $label WHEN 'Source' THEN n.content_hash ELSE made_for END = $text_hash
SET n[$mark_property] = $refused + coalesce(':' + made_for, ''), n[$time_property] = datetime.realtime(),
    n[$refusal_property] = $reason, n[$property] = null, n.held_at = null,
    n.unembedded = CASE $label WHEN 'Source' THEN true ELSE n.unembedded END
RETURN $id AS id
