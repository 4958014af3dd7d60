// Locks the record of a merge, and gives what it moved; and the last merge that must be taken back before, if there is one:
// the concept that stayed, or one that it is linked to by this merge, may have become part of another since, or another
// that was in the same sources part of it.
MATCH (m:ConceptMerge {merge_id: $merge_id})
WHERE m.ontology = $ontology
SET m.held_at = datetime.realtime()
RETURN m.undone_at IS NOT NULL AS undone, m.kept_id AS kept, m.gone_id AS gone, m.moved AS moved, m.at AS at,
       COLLECT {
         MATCH (later:ConceptMerge)
         WHERE later.ontology = $ontology AND later.pair >= '' AND later.undone_at IS NULL AND later.at >= m.at AND later <> m
           AND (later.gone_id = m.kept_id OR later.gone_id IN m.linked
                OR later.kept_id = m.kept_id AND EXISTS { (later)-[:MOVED]->(:Source)<-[:MOVED]-(m) })
         RETURN later.merge_id ORDER BY later.at DESC LIMIT 1
       }[0] AS later
