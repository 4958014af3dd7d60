// How an ontology is embedded from now on; it may be configured before its first document comes. What is flagged was
// so for another way to embed it.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
SET o.space = $space, o.slot = $slot, o.chunking = $chunking, o.serving = $serving, o.previous = $previous,
    o.activates = $activates, o += $images, o.embed_on_ingest = $embed_on_ingest, o.changed_at = datetime.realtime(), o.flagged_for = null
