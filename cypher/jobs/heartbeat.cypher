// The owner is alive; nobody else may take the job. One that gets nothing done for too long dies all the same.
MATCH (j:Job {job_id: $job_id})
SET j.locked_by = $worker
WITH j
WHERE j.state = 'running' AND j.fence = $fence
WITH j, coalesce(j.progressed_at < datetime.realtime() - duration({seconds: $stuck_seconds}), false) AS stuck
SET j.lease_until = CASE WHEN stuck THEN null
                    ELSE datetime.realtime() + duration({seconds: $lease_seconds}) END,
    j.state = CASE WHEN stuck THEN 'dead' ELSE 'running' END,
    j.error = CASE WHEN stuck THEN $error ELSE j.error END,
    j.permanent = CASE WHEN stuck THEN false ELSE j.permanent END,
    j.unique_key = CASE WHEN stuck THEN null ELSE j.unique_key END,
    j.finished_at = CASE WHEN stuck THEN datetime.realtime() ELSE null END
RETURN stuck
