// Whether a worker has a job at this moment, or has taken one or got on with one within some seconds.
RETURN EXISTS {
  MATCH (j:Job)
  WHERE (j.state = 'running' AND j.lease_until >= datetime.realtime())
    OR j.progressed_at > datetime.realtime() - duration({seconds: $seconds})
} AS touched
