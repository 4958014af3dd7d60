// Locks the record of a merge, and gives what it moved; and the last merge that must be taken back before, if there is one:
// the concept that stayed may have become part of another since, or another part of it.
MATCH (m:ConceptMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
RETURN m.undone_at IS NOT NULL AS undone, m.kept_id AS kept, m.gone_id AS gone, m.moved AS moved, m.at AS at,
       COLLECT {
         MATCH (later:ConceptMerge)
         WHERE later.ontology = $ontology AND later.pair >= '' AND m.kept_id IN [later.gone_id, later.kept_id]
           AND later.undone_at IS NULL AND later.at >= m.at AND later <> m
         RETURN later.merge_id ORDER BY later.at DESC LIMIT 1
       }[0] AS later
