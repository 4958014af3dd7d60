// Some embedded concepts, taken at random as their ids are hashes; none where they were measured lately. Of very many
// only the first are looked through, as hardly any of them may be embedded.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.labels_measured_at IS NULL OR e.labels_measured_at < datetime.realtime() - duration({hours: $hours})
MATCH (c:Concept)
WHERE c.concept_id > ''
WITH c ORDER BY c.concept_id LIMIT $walked
WHERE c[$property] IS NOT NULL
RETURN c.label AS label, c[$property] AS vector
ORDER BY c.concept_id
LIMIT $limit
