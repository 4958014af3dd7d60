// Makes the ontology if need be and holds it, so that of two registrations at once the later one sees the other.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(CASE WHEN coalesce(e.modality, 'text') = 'text' THEN e.slug END) AS space,
     min(CASE WHEN e.modality = 'image' THEN e.slug END) AS image_space
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = space, o.image_space = image_space
SET o.changed_at = datetime.realtime()
