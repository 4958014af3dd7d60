// Those of some sources that fit conditions.
UNWIND $source_ids AS id
MATCH (s:Source {source_id: id})
WHERE ($image IS NULL OR s:Image = $image) AND fits(s)
RETURN s.source_id AS source_id
