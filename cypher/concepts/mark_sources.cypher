// These sources were read by an extractor; why nothing came of it, and how many quotes prove nothing, where that is so.
// What links them is to be looked at again. Where what is flagged is noted for another extractor, the flag stays: this one came late.
OPTIONAL MATCH (o:Ontology {name: $ontology})
WITH CASE WHEN o.unread_for <> 'extracted_with:' + $mark THEN true END AS unread
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s:Unlinked, s.extracted_with = $mark, s.extracted_at = datetime.realtime(), s.not_extracted_because = row.refused,
    s.unverified_quotes = row.unverified, s.unread = unread
