// How many documents there are.
CYPHER 25
CALL () {
  WHEN $ontologies IS NULL THEN { MATCH (d:Document) RETURN count(d) AS total }
  ELSE { MATCH (d:Document) WHERE d.ontology IN $ontologies AND d.document >= '' RETURN count(d) AS total }
}
RETURN total
