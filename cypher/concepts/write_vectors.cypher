// Vectors of concepts whose text is still what was embedded; each is locked before it is looked at. Links of
// them are to be looked for.
CYPHER 25
UNWIND $rows AS row
MATCH (c:Concept)
USING INDEX c:Concept(ontology, concept_id)
WHERE c.ontology = $ontology AND c.concept_id = row.concept_id
SET c.held_at = datetime.realtime()
WITH c, row
WHERE c.text_hash = row.text_hash
CALL db.create.setNodeVectorProperty(c, $property, toFloatList(row.vector))
SET c:Unlinked, c[$mark_property] = $mark + ':' + row.text_hash, c[$time_property] = datetime.realtime(),
    c[$refusal_property] = null
RETURN c.concept_id AS concept_id
