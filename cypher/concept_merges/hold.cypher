// Locks the record of a merge, and gives what it moved; and a later merge that must be taken back before, if there is one:
// the concept that stayed may have become part of another since.
MATCH (m:ConceptMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
RETURN m.undone_at IS NOT NULL AS undone, m.kept_id AS kept, m.gone_id AS gone, m.moved AS moved, m.at AS at,
       COLLECT {
         MATCH (later:ConceptMerge)
         WHERE later.ontology = $ontology AND later.pair >= '' AND later.gone_id = m.kept_id AND later.undone_at IS NULL
           AND later.at >= m.at
         RETURN later.merge_id ORDER BY later.at DESC LIMIT 1
       }[0] AS later
