// Makes the ontology if need be and holds it, so that of two registrations at once the later one sees the other.
OPTIONAL MATCH (e:EmbeddingSpace {for_new: true})
WITH min(e.slug) AS slug
MERGE (o:Ontology {name: $ontology})
ON CREATE SET o.created_at = datetime.realtime(), o.space = slug
SET o.changed_at = datetime.realtime()
