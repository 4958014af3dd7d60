// name: begin_with
// Return the ids of a label with a prefix. More than one is ambiguous. Proposals without ends are excluded.
CYPHER 25
CALL () {
  WHEN $label = 'Source' THEN { MATCH (n:Source) WHERE n.source_id STARTS WITH $prefix RETURN n, n.source_id AS id }
  WHEN $label = 'Concept' THEN { MATCH (n:Concept) WHERE n.concept_id STARTS WITH $prefix RETURN n, n.concept_id AS id }
  WHEN $label = 'Job' THEN { MATCH (n:Job) WHERE n.job_id STARTS WITH $prefix RETURN n, n.job_id AS id }
  WHEN $label = 'Proposal' THEN {
    MATCH (n:Proposal)
    WHERE n.proposal_id STARTS WITH $prefix AND EXISTS { (n)-[:PROPOSES]->() }
    RETURN n, n.proposal_id AS id
  }
}
WITH n, id
WHERE $ontologies IS NULL OR n.ontology IN $ontologies
RETURN id
ORDER BY id
LIMIT $limit
