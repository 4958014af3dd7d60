// Workers look at the queue, the first rank first, in each the longest waiting.
CREATE INDEX job_by_rank IF NOT EXISTS FOR (j:Job) ON (j.state, j.rank, j.queued_at)
