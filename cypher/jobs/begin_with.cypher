// Jobs whose id begins so; more than one is no answer.
MATCH (j:Job)
WHERE j.job_id STARTS WITH $prefix AND ($ontologies IS NULL OR j.ontology IN $ontologies)
RETURN j.job_id AS job_id
ORDER BY job_id
LIMIT $limit
