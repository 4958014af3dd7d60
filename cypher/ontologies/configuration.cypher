// How each ontology is embedded; null: by default.
MATCH (o:Ontology)
WHERE $name IS NULL OR o.name = $name
RETURN o.name AS ontology, o.space AS space, o.chunking AS chunking, o.embed_on_ingest AS embed_on_ingest
ORDER BY ontology
