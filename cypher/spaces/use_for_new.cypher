// New ontologies use this space from now on, for what it is of: texts or pictures; which one was theirs is kept, to go back.
MATCH (chosen:EmbeddingSpace {slug: $slug})
MATCH (e:EmbeddingSpace)
WHERE coalesce(e.modality, 'text') = coalesce(chosen.modality, 'text')
WITH chosen, collect(e) AS all, min(CASE WHEN e.for_new THEN e.slug END) AS before,
     CASE chosen.modality WHEN 'image' THEN $first_of_images ELSE $first END AS first
WITH chosen, all, coalesce(before, first) AS before
SET chosen.for_new_after = CASE WHEN before = $slug THEN chosen.for_new_after ELSE before END
WITH all
UNWIND all AS e
SET e.for_new = CASE WHEN e.slug = $slug THEN true ELSE null END
