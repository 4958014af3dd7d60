// How each ontology is embedded; null: by default.
MATCH (o:Ontology)
WHERE $names IS NULL OR o.name IN $names
RETURN o.name AS ontology, o.space AS space, o.slot AS slot, o.chunking AS chunking, o.serving AS serving,
       o.previous AS previous, o.activates AS activates, o.embed_on_ingest AS embed_on_ingest, o.paused AS paused,
       o.image_space AS image_space, o.image_serving AS image_serving, o.image_previous AS image_previous,
       o.image_activates AS image_activates, o.leftovers AS leftovers, o.concepts_wanted_at IS NOT NULL AS wants_concepts
ORDER BY ontology
