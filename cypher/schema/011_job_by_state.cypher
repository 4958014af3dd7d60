// Workers look for queued and running jobs only.
CREATE INDEX job_by_state IF NOT EXISTS FOR (j:Job) ON (j.state, j.created_at)
