// Jobs that a process of an older version has made: they are taken like new text, so that none is forgotten.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at IS NOT NULL AND j.rank IS NULL
SET j.rank = 0
