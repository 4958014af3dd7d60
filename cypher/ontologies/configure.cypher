// How an ontology is embedded from now on; it may be configured before its first document comes. What is flagged was
// so for another way to embed its texts, unless only its pictures' space is another.
MERGE (o:Ontology {name: $name})
ON CREATE SET o.created_at = datetime.realtime()
WITH o, CASE WHEN [coalesce(o.space, $usual.space), coalesce(o.slot, $usual.slot), coalesce(o.chunking, $usual.chunking), coalesce(o.serving, '')]
             = [$space, $slot, $chunking, coalesce($serving, '')]
        THEN o.flagged_for END AS flagged_for
SET o.space = $space, o.slot = $slot, o.chunking = $chunking, o.serving = $serving, o.previous = $previous,
    o.activates = $activates, o += $images, o.embed_on_ingest = $embed_on_ingest, o.changed_at = datetime.realtime(), o.flagged_for = flagged_for
