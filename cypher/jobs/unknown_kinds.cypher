// Jobs that wait for a worker of another version.
MATCH (j:Job)
WHERE j.state = 'queued' AND j.queued_at IS NOT NULL AND NOT j.kind IN $kinds
RETURN j.kind AS kind, count(j) AS waiting
ORDER BY kind
