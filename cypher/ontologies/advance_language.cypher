// Indexing an ontology's sources in its language came so far, unless another was chosen meanwhile; null: to the end.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o WHERE coalesce(o.language, 'auto') = coalesce($language, 'auto')
SET o.index_after = $after, o.index_after_paragraph = $after_paragraph
RETURN o.name AS ontology
