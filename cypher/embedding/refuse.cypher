// A node whose text the model does not take: it is set aside with the reason, and found by full text only. It is locked
// before its text is compared.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN { MATCH (n:Source {source_id: $id}) RETURN n }
  WHEN $label = 'Concept' THEN { MATCH (n:Concept {concept_id: $id}) RETURN n }
}
SET n.held_at = datetime.realtime()
WITH n
WHERE coalesce(n.content_hash, n.text_hash) = $text_hash
SET n[$mark_property] = $refused + coalesce(':' + n.text_hash, ''), n[$time_property] = datetime.realtime(),
    n[$refusal_property] = $reason, n[$property] = null, n.held_at = null,
    n.unembedded = CASE $label WHEN 'Source' THEN true END
RETURN $id AS id
