// How many documents an ontology has, and some of them, to estimate what embedding it will take.
MATCH (d:Document {ontology: $ontology})
RETURN count(d) AS documents, COLLECT {
  MATCH (some:Document {ontology: $ontology}) RETURN some.document_id LIMIT $limit
} AS sample
