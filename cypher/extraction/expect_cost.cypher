// What a job that extracts is to cost, as is estimated when it begins; once for each job, and for its ontology in all.
MATCH (j:Job {job_id: $job_id})
WHERE j.expected_cost IS NULL
SET j.expected_cost = $cost, j.spent = coalesce(j.spent, 0.0)
WITH j
MATCH (o:Ontology {name: $ontology})
SET o.extraction_expected = coalesce(o.extraction_expected, 0.0) + $cost
