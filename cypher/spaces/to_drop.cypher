// Spaces that are being removed, since when, and for how long already.
MATCH (e:EmbeddingSpace)
WHERE e.dropping IS NOT NULL
RETURN e.slug AS slug, toString(e.dropping) AS since, duration.inSeconds(e.dropping, datetime.realtime()).seconds AS seconds
ORDER BY slug
