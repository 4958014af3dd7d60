// These sources were read by an extractor; why nothing came of it, and how many quotes prove nothing, where that is so.
UNWIND $rows AS row
MATCH (s:Source {source_id: row.source_id})
SET s.extracted_with = $mark, s.extracted_at = datetime.realtime(), s.not_extracted_because = row.refused,
    s.unverified_quotes = row.unverified, s.unread = null
