// The language in which an ontology's sources are indexed, null where each tells its own, and where indexing them so
// begins; where it is that already, nothing changes. Gives how far indexing is: `after` is null when all is done.
MATCH (o:Ontology {name: $name})
SET o.held_at = datetime.realtime()
WITH o, coalesce(o.language, 'auto') = coalesce($language, 'auto') AS same
SET o.index_after = CASE WHEN same THEN o.index_after ELSE '' END,
    o.index_after_paragraph = CASE WHEN same THEN o.index_after_paragraph ELSE -1 END,
    o.language = $language
RETURN o.index_after AS after, o.index_after_paragraph AS after_paragraph
