// The relationships of a merge have their names, unless it was undone meanwhile: that renames again.
MATCH (m:TypeMerge {merge_id: $merge_id})
SET m.held_at = datetime.realtime()
WITH m
WHERE m.renaming = $renaming
REMOVE m.renaming
RETURN count(m) AS renamed
