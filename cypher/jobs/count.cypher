// How many jobs there are, parts of jobs not counted.
MATCH (j:Job)
WHERE ($state IS NULL OR j.state = $state) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontology IS NULL OR j.ontology = $ontology) AND NOT j.kind IN $hidden
  AND j.parent_id IS NULL
RETURN count(j) AS total
