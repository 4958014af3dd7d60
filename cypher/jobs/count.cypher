// How many jobs there are, parts of jobs not counted.
MATCH (j:Job)
WHERE ($state IS NULL OR $state = CASE WHEN j.state = 'queued' AND EXISTS {
    MATCH (c:Job) WHERE c.parent_id = j.job_id AND c.state = 'running' } THEN 'running' ELSE j.state END) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontologies IS NULL OR j.ontology IN $ontologies) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
RETURN count(j) AS total
