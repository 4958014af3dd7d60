// What the blocks of sources are whose text stays. Where a kind was known and is another, the source is to be read
// for concepts again; what was found there stays until then. Gives those.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
WITH s, row, coalesce(s.block_kinds <> row.block_kinds, false) AS changed
SET s.block_kinds = row.block_kinds, s.block_starts = row.block_starts,
    s.extracted_with = CASE WHEN changed THEN null ELSE s.extracted_with END,
    s.unread = CASE WHEN changed THEN true ELSE s.unread END
WITH s, changed
WHERE changed
RETURN s.source_id AS source_id
