// New concepts, and what is said of known ones; MERGE: the transaction may run twice.
UNWIND $rows AS row
MERGE (c:Concept {concept_id: row.concept_id})
ON CREATE SET c.ontology = $ontology, c.created_at = datetime.realtime()
SET c.label = row.label, c.description = row.description, c.search_terms = row.search_terms, c.scope = row.scope,
    c.text_hash = row.text_hash, c.changed_at = datetime.realtime()
