// What a merge moved of the sources that are still there.
MATCH (m:ConceptMerge {merge_id: $merge_id})-[r:MOVED]->(:Source)
RETURN r.row AS row
