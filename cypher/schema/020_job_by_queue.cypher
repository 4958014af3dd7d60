// Workers look at the queue, the longest waiting first.
CREATE INDEX job_by_queue IF NOT EXISTS FOR (j:Job) ON (j.state, j.queued_at)
