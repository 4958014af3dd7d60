// A concept whose text the model does not take: it is set aside with the reason, and found by full text only.
MATCH (c:Concept {concept_id: $concept_id})
SET c.held_at = datetime.realtime()
WITH c
WHERE c.text_hash = $text_hash
SET c[$mark_property] = $refused + ':' + $text_hash, c[$time_property] = datetime.realtime(),
    c[$refusal_property] = $reason, c[$property] = null
RETURN c.concept_id AS concept_id
