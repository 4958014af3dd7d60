// The parts of a job that are still to be done.
MATCH (c:Job)
WHERE c.parent_id = $job_id AND c.state IN ['queued', 'running']
RETURN c.part AS part
ORDER BY part
