// A job that waits, for its next try or for what is worth more, is tried at once, and shares turns with the first.
MATCH (j:Job {job_id: $job_id})
SET j.run_after = CASE WHEN j.run_after > datetime.realtime() THEN datetime.realtime() ELSE j.run_after END,
    j.queued_at = CASE WHEN j.queued_at > datetime.realtime() THEN datetime.realtime() ELSE j.queued_at END, j.rank = 0,
    j.put_first = true
FOREACH (part IN COLLECT {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state IN ['queued', 'running'] RETURN c
  } | SET part.rank = 0, part.put_first = true)
