// A space is registered once and keeps its identity.
MERGE (e:EmbeddingSpace {slug: $slug})
ON CREATE SET e += $identity, e.property = $property, e.index_name = $index_name,
              e.created_at = datetime.realtime()
