// What full text finds concepts by beside their text; those that were changed meanwhile have it already. They are locked
// before they are compared, by an index that is not unique, as whoever changes them does (concepts/hold).
UNWIND $rows AS row
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = row.ontology AND c.concept_id = row.concept_id
SET c.held_at = datetime.realtime()
WITH c, row
WHERE c.text_hash = row.text_hash
SET c.scope = row.scope
