// A source that the model does not take: it is set aside with the reason, and found by full text only.
MATCH (s:Source {source_id: $source_id})
WHERE s.content_hash = $content_hash
SET s[$mark_property] = $refused, s[$time_property] = datetime.realtime(), s[$refusal_property] = $reason,
    s[$property] = null
RETURN s.source_id AS source_id
