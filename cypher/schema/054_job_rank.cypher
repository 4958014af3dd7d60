// Jobs that were made before they had a rank: new text first, then what is cleared away, then concepts.
MATCH (j:Job)
WHERE j.rank IS NULL AND j.state IN ['queued', 'running']
SET j.rank = CASE j.kind WHEN 'space_cleanup' THEN 1 WHEN 'concept_extraction' THEN 2
                         WHEN 'concept_embedding' THEN 3 ELSE 0 END
