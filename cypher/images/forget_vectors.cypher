// The vectors of pictures whose file is another one now, or that are no pictures any more: of all spaces of pictures, with
// the marks beside them.
UNWIND $source_ids AS source_id
MATCH (s:Source {source_id: source_id})
FOREACH (name IN $properties | SET s[name] = null)
