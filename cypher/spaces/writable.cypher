// A space that vectors may be written to: nobody is removing it.
MATCH (e:EmbeddingSpace {slug: $slug})
WHERE e.dropping IS NULL
RETURN e.fingerprint AS fingerprint
