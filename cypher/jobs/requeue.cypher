// A job that had ended begins anew: what is right already is passed over, what was set aside is tried again.
MATCH (j:Job {job_id: $job_id})
WITH j, CASE WHEN j.done > coalesce(j.set_aside, 0) THEN j.done - coalesce(j.set_aside, 0) ELSE 0 END AS done
SET j.done = done, j.set_aside = 0, j.state = 'queued', j.unique_key = $unique_key, j.stumbles = 0, j.waits = 0,
    j.cursor = '', j.error = null, j.permanent = null, j.worker = null, j.lease_until = null,
    j.finished_at = null, j.rank = $rank, j.put_first = null, j.run_after = datetime.realtime(), j.queued_at = datetime.realtime()
