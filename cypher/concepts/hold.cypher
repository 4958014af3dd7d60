// Locks concepts, in the order of their ids, and gives what they are then; one that has gone is not among them, also
// when it went while its lock was waited for: then it has no properties. They are found by an index that is not
// unique: the server locks entries of unique ones, and so whoever waits for a concept here would lock out the one who
// deletes it.
UNWIND $ids AS id
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id = id
SET c.held_at = datetime.realtime()
WITH c, id
WHERE c.concept_id = id
RETURN c.concept_id AS concept_id, c.label AS label, c.description AS description, c.search_terms AS search_terms,
       c.text_hash AS text_hash
