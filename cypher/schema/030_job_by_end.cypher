// Those who watch are told which jobs have just ended.
CREATE INDEX job_by_end IF NOT EXISTS FOR (j:Job) ON (j.finished_at)
