// The parts of a job.
CREATE INDEX job_by_parent IF NOT EXISTS FOR (j:Job) ON (j.parent_id, j.state)
