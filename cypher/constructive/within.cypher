// Which of some concepts appear in a source of some documents.
UNWIND $ids AS id
MATCH (c:Concept {concept_id: id})
USING INDEX SEEK c:Concept(concept_id)
WHERE EXISTS { MATCH (c)-[:APPEARS_IN]->(s:Source) WHERE s.document_id IN $document_ids }
RETURN id AS concept_id
