// These sources are embedded as they should be, and flagged no more. The vector of one that has chunks goes: its chunks
// are searched; links of it are to be looked for. Where what is flagged is noted for another mark, the flag stays: this one came late.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
OPTIONAL MATCH (o:Ontology {name: s.ontology})
SET s:Unlinked, s[$mark_property] = $mark, s[$time_property] = datetime.realtime(), s[$refusal_property] = null, s.held_at = null,
    s.unembedded = CASE WHEN o.flagged_for <> $mark_property + ':' + $mark THEN true END
FOREACH (_ IN CASE WHEN row.has_chunks THEN [1] ELSE [] END | SET s[$property] = null)
