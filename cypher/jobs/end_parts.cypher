// A job has ended, so nobody needs its parts any more.
MATCH (c:Job)
WHERE c.parent_id = $job_id AND c.state IN ['queued', 'running']
SET c.locked_by = $job_id
WITH c
WHERE c.state IN ['queued', 'running']
SET c.state = 'cancelled', c.unique_key = null, c.finished_at = datetime.realtime(), c.lease_until = null,
    c.worker = null, c.error = 'the job that it is a part of has ended'
