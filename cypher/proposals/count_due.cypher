// How much of an ontology is to be looked at.
MATCH (n:Unlinked)
WHERE n.ontology = $ontology
RETURN count(n) AS due
