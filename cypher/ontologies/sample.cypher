// How many documents an ontology has, and some of them, to estimate what embedding it will take.
RETURN COUNT { MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' } AS documents,
       COLLECT {
         MATCH (d:Document) WHERE d.ontology = $ontology AND d.document >= '' RETURN d.document_id LIMIT $limit
       } AS sample
