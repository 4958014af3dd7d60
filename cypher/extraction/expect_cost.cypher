// What a job that extracts is to cost, as is estimated when it begins; once for each job, and for its ontology in all. The
// estimate is of all that is left, so what jobs that were broken off did not spend of theirs counts no more.
MATCH (j:Job {job_id: $job_id})
WHERE j.expected_cost IS NULL
SET j.expected_cost = $cost, j.spent = coalesce(j.spent, 0.0)
WITH j
MATCH (o:Ontology {name: $ontology})
SET o.held_at = datetime.realtime()
WITH j, o
CALL (j) {
  MATCH (broken:Job)
  WHERE broken.ontology = $ontology AND broken.kind = j.kind AND broken.state IN ['dead', 'cancelled']
    AND broken.expected_cost > coalesce(broken.spent, 0.0) AND broken.expected_again IS NULL
  SET broken.expected_again = true
  RETURN sum(broken.expected_cost - coalesce(broken.spent, 0.0)) AS unspent
}
SET o.extraction_expected = coalesce(o.extraction_expected, 0.0) + $cost - unspent
