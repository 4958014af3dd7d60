// How many jobs wait, counted no further than the limit.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at IS NOT NULL
WITH j LIMIT $limit
RETURN count(j) AS queued
