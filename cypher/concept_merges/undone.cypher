// A merge is taken back: these two are never merged again. What it moved is needed no more.
MATCH (m:ConceptMerge {merge_id: $merge_id})
SET m.undone_at = datetime.realtime(), m.undone_by = $by
REMOVE m.moved
WITH m
MATCH (m)-[r:MOVED]->(:Source)
DELETE r
