// How many jobs there are.
MATCH (j:Job)
WHERE ($state IS NULL OR j.state = $state) AND ($kind IS NULL OR j.kind = $kind)
  AND ($ontology IS NULL OR j.ontology = $ontology) AND NOT j.kind IN $hidden
RETURN count(j) AS total
