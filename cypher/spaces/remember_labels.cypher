// What the model's cosines mean between a question and the concepts that are stored; the latest measure counts.
MATCH (e:EmbeddingSpace {slug: $slug})
SET e.labels_related = $related, e.labels_unrelated = $unrelated, e.labels_measured_at = datetime.realtime()
RETURN e.slug AS slug
