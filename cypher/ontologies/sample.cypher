// How many documents an ontology has, and some of them, to estimate what embedding it will take.
RETURN COUNT { MATCH (d:Document {ontology: $ontology}) } AS documents,
       COLLECT {
         MATCH (d:Document {ontology: $ontology}) RETURN d.document_id LIMIT $limit
       } AS sample
