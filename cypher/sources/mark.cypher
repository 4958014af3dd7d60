// These sources are embedded as they should be, and flagged no more. The vector of one that has chunks goes: its chunks
// are searched.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s[$mark_property] = $mark, s[$time_property] = datetime.realtime(), s[$refusal_property] = null, s.held_at = null,
    s.unembedded = null
FOREACH (_ IN CASE WHEN row.has_chunks THEN [1] ELSE [] END | SET s[$property] = null)
